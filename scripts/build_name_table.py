"""Builds port/tables/cuda_names.csv from the vendors' own headers.

    python scripts/build_name_table.py --cuda DIR [--cuda DIR ...] --hip DIR [--older-hip VERSION=DIR ...] [--check]

--cuda are include folders unpacked from PyPI's nvidia-* packages (`pip download --no-deps nvidia-cuda-runtime ...`),
newest first; --hip is the include folder of a ROCm tree (scripts/fetch_rocm_debian.py) or several; --older-hip gives
the HIP version a name is known since. Names are paired by rule (cudaX is hipX, CUBLAS_X is HIPBLAS_X ...), a pair
stands only where both sides are declared, and functions are compared parameter by parameter. What no rule can know is
in port/tables/name_exceptions.csv, a row and a reason each; the HIP side of those is looked up as well.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from header_declarations import Declaration, Declarations, read_headers
from name_pairing import LIBRARIES, Library, candidates, squashed, tables_agree

TABLES = Path(__file__).resolve().parent.parent / "src/kernel_pytorch/port/tables"
COLUMNS = ("cuda", "hip", "kind", "library", "status", "since", "note")
HIP_HEADERS = [
    "hip/*.h",
    "hip/amd_detail/*.h",
    "hip/amd_detail/*.hpp",
    "hipblas*/**/*.h",
    "hipfft/*.h",
    "hiprand/*.h",
    "hiprand/*.hpp",
    "rocrand/*.h",
    "hipsparse/**/*.h",
    "hipsolver/**/*.h",
    "miopen/*.h",
    "rccl/*.h",
    "roctracer/*.h",
    "__clang_hip_*.h",
    "__clang_cuda_math_forward_declares.h",
    "__clang_cuda_complex_builtins.h",
    "hipcub/**/*.hpp",
    "rocprim/**/*.hpp",
]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    cuda: str
    hip: str
    kind: str
    library: str
    status: str
    since: str = ""
    note: str = ""


def main() -> int:
    """Writes the table; with --check only says whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", action="append", required=True, type=Path)
    parser.add_argument("--hip", action="append", required=True, type=Path)
    parser.add_argument("--older-hip", action="append", default=[], metavar="VERSION=DIR")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    hip = merged([read_headers(folder, HIP_HEADERS) for folder in args.hip])
    older = []
    for item in args.older_hip:
        version, _, folder = item.partition("=")
        older.append((version, set(read_headers(Path(folder), ["hip/*.h", "hip/amd_detail/*.h"]).by_name)))
    older.sort(key=lambda entry: [int(part) for part in entry[0].split(".")])
    rows = build(args.cuda, args.hip, hip, older)
    text = as_csv(rows)
    path = TABLES / "cuda_names.csv"
    if args.check:
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        print("up to date" if same else f"{path} differs from what the headers give")
        return 0 if same else 1
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {len(rows)} rows")
    for status in ("ok", "deprecated", "signature", "none"):
        print(f"  {status}: {sum(row.status == status for row in rows)}")
    return 0


def merged(parts: list[Declarations]) -> Declarations:
    result = Declarations()
    for part in parts:
        for declarations in part.by_name.values():
            for declaration in declarations:
                result.add(declaration)
    return result


def build(
    cuda_folders: list[Path], hip_folders: list[Path], hip: Declarations, older: list[tuple[str, set[str]]]
) -> list[Row]:
    """Every row, exceptions first, sorted by CUDA name."""
    exceptions = read_exceptions(hip, hip_folders)
    index: dict[str, str] = {}
    for name in hip.by_name:
        index.setdefault(squashed(name), name)
    rows: dict[str, Row] = {row.cuda: row for row in exceptions}
    pending: list[tuple[Library, str, list[Declaration]]] = []
    for library in LIBRARIES:
        seen: dict[str, list[Declaration]] = {}
        for folder in cuda_folders:
            for name, found in read_headers(folder, list(library.headers)).by_name.items():
                seen.setdefault(name, []).extend(found)
        add_version_suffixed(seen)
        for name, found in sorted(seen.items()):
            if library.owns(name) and name not in rows:
                pending.append((library, name, found))
                rows[name] = paired(library, name, found, hip, index, older)
    # Types first, then functions again: parameters are compared through the type rows.
    types = {row.cuda: row.hip for row in rows.values() if row.hip}
    for library, name, found in pending:
        if rows[name].kind == "function" and rows[name].hip:
            rows[name] = checked(rows[name], found, hip, types, library)
    return sorted((row for row in rows.values() if row.cuda != row.hip), key=lambda row: row.cuda)


def add_version_suffixed(seen: dict[str, list[Declaration]]) -> None:
    """`#define cuMemAlloc cuMemAlloc_v2` makes cuMemAlloc_v2 a name people write too."""
    for name, found in list(seen.items()):
        for declaration in list(found):
            if declaration.kind != "macro" or not declaration.value.startswith(f"{name}_v"):
                continue
            functions = [other for other in found if other.kind == "function"]
            newer = seen.setdefault(declaration.value, functions or [declaration])
            if newer is not functions:
                found.extend(other for other in newer if other not in found)


def paired(
    library: Library,
    name: str,
    found: list[Declaration],
    hip: Declarations,
    index: dict[str, str],
    older: list[tuple[str, set[str]]],
) -> Row:
    kind = row_kind(library, found)
    wanted = list(candidates(library, name))
    # The exact spelling of any candidate comes before a match that only case and underscores make.
    for match in [*(item for item in wanted if item in hip.by_name), *(index.get(squashed(item)) for item in wanted)]:
        if match is None or not compatible_kinds(kind, hip.kinds(match)):
            continue
        deprecated = all(item.deprecated for item in hip.by_name[match] if item.kind != "macro") and any(
            item.deprecated for item in hip.by_name[match]
        )
        note = value_note(found, hip.by_name[match]) if kind == "enum" else ""
        return Row(name, match, kind, library.name, "deprecated" if deprecated else "ok", since(match, older), note)
    return Row(name, "", kind, library.name, "none")


def row_kind(library: Library, found: list[Declaration]) -> str:
    kinds = {item.kind for item in found}
    for kind in ("type", "function", "enum", "macro"):
        if kind in kinds:
            return "device-function" if kind == "function" and library.device else kind
    raise AssertionError(kinds)


def compatible_kinds(kind: str, hip_kinds: set[str]) -> bool:
    if kind in ("function", "device-function"):
        return bool(hip_kinds & {"function", "macro"})
    if kind == "type":
        return bool(hip_kinds & {"type", "macro"})
    return bool(hip_kinds & {"enum", "macro", "function", "type"})


def value_note(found: list[Declaration], hip: list[Declaration]) -> str:
    ours = {item.value for item in found if item.kind == "enum"}
    theirs = {item.value for item in hip if item.kind == "enum"}
    numeric = {value for value in ours | theirs if value.lstrip("-").isdigit()}
    if ours and theirs and numeric == ours | theirs and not ours & theirs:
        return f"value {'/'.join(sorted(ours))} is {'/'.join(sorted(theirs))} in HIP"
    return ""


def since(name: str, older: list[tuple[str, set[str]]]) -> str:
    """The oldest HIP whose headers have the name; empty where no runtime header has it (library names)."""
    return next((version for version, names in older if name in names), "")


def checked(row: Row, found: list[Declaration], hip: Declarations, types: dict[str, str], library: Library) -> Row:
    ours = [item for item in found if item.kind == "function" and item.parameters is not None]
    theirs = [item for item in hip.by_name[row.hip] if item.kind == "function" and item.parameters is not None]
    if not ours or not theirs or any(tables_agree(a, b, types) for a in ours for b in theirs):
        return row
    first, second = ours[0], theirs[0]
    note = f"({'; '.join(first.parameters or ())}) is ({'; '.join(second.parameters or ())}) in HIP"
    if library.strict:
        return Row(row.cuda, "", row.kind, row.library, "none", "", note.replace(",", ";"))
    return Row(row.cuda, row.hip, row.kind, row.library, "signature", row.since, note.replace(",", ";"))


def read_exceptions(hip: Declarations, folders: list[Path]) -> list[Row]:
    """The hand-written rows. A HIP name that no header declares is an error, unless the row says it is ours."""
    rows = []
    with (TABLES / "name_exceptions.csv").open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            name = line["hip"]
            known = not name or line["status"] == "language" or name in hip.by_name
            if line["kind"] == "header":
                known = not name or any((folder / name).is_file() for folder in folders)
            if not known or bool(name) == (line["status"] == "none"):
                raise SystemExit(
                    f"name_exceptions.csv: {line['cuda']} -> {name}: not among the HIP headers, or status none"
                )
            status = "ok" if line["status"] == "language" else line["status"]
            rows.append(Row(line["cuda"], line["hip"], line["kind"], line["library"], status, "", line["reason"]))
    names = [row.cuda for row in rows]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise SystemExit(f"name_exceptions.csv: twice: {', '.join(doubled)}")
    return rows


def as_csv(rows: list[Row]) -> str:
    out = io.StringIO()
    out.write(",".join(COLUMNS) + "\n")
    for row in rows:
        values = [getattr(row, column) for column in COLUMNS]
        # The loader splits on commas without a CSV parser: 60 ms less for every `kpt hipify`.
        out.write(",".join(value.replace(",", ";").replace("\n", " ").replace('"', "'") for value in values) + "\n")
    return out.getvalue()


if __name__ == "__main__":
    raise SystemExit(main())
