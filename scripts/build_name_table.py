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
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from header_declarations import Declaration, Declarations, include_guard, read_headers
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
    asked = guards(args.cuda, args.hip)
    # Whether a header was included is a question of its own, for KP277.
    rows = [row for row in build(args.cuda, args.hip, hip, older) if row.cuda not in {macro for macro, _, _ in asked}]
    if not older:
        rows = with_known_since(rows)
    rows = with_advice(rows)
    text = as_csv(rows)
    path = TABLES / "cuda_names.csv"
    if args.check:
        same = path.is_file() and path.read_text(encoding="utf-8") == text
        print("up to date" if same else f"{path} differs from what the headers give")
        return 0 if same else 1
    path.write_text(text, encoding="utf-8")
    lines = [",".join(row) for row in [("cuda", "hip", "header"), *asked]]
    (TABLES / "header_guards.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
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
    index: dict[str, list[str]] = {}
    for name in hip.by_name:
        index.setdefault(squashed(name), []).append(name)
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
    rows.update((row.cuda, row) for row in handles(pending, rows, hip) if not rows[row.cuda].hip)
    rows.update((row.cuda, row) for row in older_names(rows, hip))
    # Types first, then functions again: parameters are compared through the type rows.
    types = {row.cuda: row.hip for row in rows.values() if row.hip}
    for library, name, found in pending:
        if rows[name].kind == "function" and rows[name].hip:
            matches = partners(library, name, rows[name].kind, hip, index)
            rows[name] = checked(rows[name], library, found, matches, hip, types)
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
    index: dict[str, list[str]],
    older: list[tuple[str, set[str]]],
) -> Row:
    kind = row_kind(library, found)
    matches = partners(library, name, kind, hip, index)
    if kind == "enum":
        # Of two names that fit, the one with CUDA's value: HIP_ERROR_NOT_INITIALIZED is 2, hipErrorNotInitialized 3.
        matches.sort(key=lambda match: bool(value_note(found, hip.by_name[match])))
    elif kind == "type" and is_pointer(found):
        # CUuserObject is a handle: its partner is hipUserObject_t, not the structure hipUserObject behind it.
        matches.sort(key=lambda match: not is_pointer(hip.by_name[match]))
    for match in matches[:1]:
        note = value_note(found, hip.by_name[match]) if kind == "enum" else ""
        return Row(name, match, kind, library.name, status_of(match, hip), since(match, older), note)
    return Row(name, "", kind, library.name, "none")


def is_pointer(found: list[Declaration]) -> bool:
    return any(item.kind == "type" and item.value.endswith("*") for item in found)


def partners(library: Library, name: str, kind: str, hip: Declarations, index: dict[str, list[str]]) -> list[str]:
    """The HIP names that a CUDA name could become, best first."""
    wanted = list(candidates(library, name))
    # The exact spelling of any candidate comes before a match that only case and underscores make.
    spelt = [item for item in wanted if item in hip.by_name]
    known = dict.fromkeys([*spelt, *(match for item in wanted for match in index.get(squashed(item), ()))])
    found = [match for match in known if compatible_kinds(kind, hip.kinds(match))]
    # A structure behind a handle is no handle: CUstream_st must not become hipStream_t.
    is_structure = kind == "type" and name.endswith("_st")
    return [match for match in found if not (is_structure and is_pointer(hip.by_name[match]))]


def status_of(match: str, hip: Declarations) -> str:
    declared = [item for item in hip.by_name[match] if item.kind != "macro"]
    return "deprecated" if declared and all(item.deprecated for item in declared) else "ok"


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
    # CURAND_POISSON is an enumerator: the function hiprand_poisson is no partner of it. A macro may stand for anything.
    return bool(hip_kinds & ({"enum", "macro"} if kind == "enum" else {"enum", "macro", "function", "type"}))


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


def handles(
    pending: list[tuple[Library, str, list[Declaration]]], rows: dict[str, Row], hip: Declarations
) -> Iterator[Row]:
    """The structures behind handles: CUstream is a pointer to CUstream_st, hipStream_t one to ihipStream_t."""
    of_pointer: dict[str, str] = {}
    for declarations in hip.by_name.values():
        for item in declarations:
            target = item.value.removesuffix("*").strip()
            if item.kind == "type" and item.value.endswith("*") and " " not in target:
                of_pointer[item.name] = target
    for library, name, found in pending:
        for item in found:
            target = item.value.removesuffix("*").strip()
            behind = of_pointer.get(rows[name].hip, "")
            if item.kind == "type" and item.value.endswith("*") and target in rows and behind not in ("", "void"):
                yield Row(target, behind, "type", library.name, "ok", "", f"what {name} points at")


# Libraries whose old functions HIP keeps and CUDA 11 has dropped (cusparseDcsrmv).
_WITH_OLDER_NAMES = frozenset({"sparse", "solver", "blas", "fft", "rand"})


def older_names(rows: dict[str, Row], hip: Declarations) -> Iterator[Row]:
    """Rows for CUDA names that no header here declares any more and HIP's headers still answer."""
    taken = {row.hip for row in rows.values()}
    for library in LIBRARIES:
        if library.name not in _WITH_OLDER_NAMES:
            continue
        for name, found in hip.by_name.items():
            for cuda_prefix, hip_prefix in library.prefixes:
                cuda = cuda_prefix + name.removeprefix(hip_prefix)
                is_new = name.startswith(hip_prefix) and name not in taken and cuda not in rows
                if not is_new or name.lower().startswith("hipblaslt"):  # that library never was another
                    continue
                kind = row_kind(library, found)
                if kind != "macro":
                    note = "older CUDA: no header from CUDA 11 on declares it"
                    yield Row(cuda, name, kind, library.name, status_of(name, hip), "", note)


def guards(cuda_folders: list[Path], hip_folders: list[Path]) -> list[tuple[str, str, str]]:
    """(CUDA macro, HIP guard, CUDA header): how code asks whether a header was included before it."""
    found: dict[str, tuple[str, str, str]] = {}
    with (TABLES / "name_exceptions.csv").open(encoding="utf-8", newline="") as file:
        headers = [line for line in csv.DictReader(file) if line["kind"] == "header"]
    for line in headers:
        theirs = next((folder / line["hip"] for folder in hip_folders if (folder / line["hip"]).is_file()), None)
        answer = include_guard(theirs.read_bytes()) if theirs is not None else ""
        for folder in cuda_folders:
            path = folder / line["cuda"]
            if not path.is_file():
                continue
            data = path.read_bytes()
            # NVIDIA's samples ask for `CUSPARSEAPI` where they mean cusparse.h.
            macros = {include_guard(data), *re.findall(r"#\s*define\s+([A-Z]+API)\b", data.decode("latin-1"))}
            for macro in sorted(macros - {"", answer}):
                found.setdefault(macro, (macro, answer, line["cuda"]))
    return sorted(found.values())


def with_known_since(rows: list[Row]) -> list[Row]:
    """Without older headers the table as it is says since when HIP has a name."""
    lines = (TABLES / "cuda_names.csv").read_text(encoding="utf-8").splitlines()[1:]
    known = {parts[1]: parts[5] for parts in (line.split(",", 6) for line in lines) if parts[5]}
    return [replace(row, since=known.get(row.hip, "")) for row in rows]


def checked(
    row: Row, library: Library, found: list[Declaration], matches: list[str], hip: Declarations, types: dict[str, str]
) -> Row:
    """The row with the first partner whose parameters fit; else the first, with what differs."""
    ours = [item for item in found if item.kind == "function" and item.parameters is not None]
    differs = ""
    for match in matches:
        theirs = [item for item in hip.by_name[match] if item.kind == "function" and item.parameters is not None]
        if not ours or not theirs or any(tables_agree(a, b, types) for a in ours for b in theirs):
            return row if match == row.hip else replace(row, hip=match, status=status_of(match, hip))
        differs = (
            differs or f"({'; '.join(ours[0].parameters or ())}) is ({'; '.join(theirs[0].parameters or ())}) in HIP"
        )
    if library.strict:
        return Row(row.cuda, "", row.kind, row.library, "none", "", differs.replace(",", ";"))
    return replace(row, status="signature", note=differs.replace(",", ";"))


def with_advice(rows: list[Row]) -> list[Row]:
    """Names without counterpart that nothing is said about get the advice of their family, if they have one."""
    with (TABLES / "absent_families.csv").open(encoding="utf-8", newline="") as file:
        families = [(re.compile(line["pattern"]), line["advice"]) for line in csv.DictReader(file)]

    def advised(row: Row) -> Row:
        if row.status != "none" or row.note:
            return row
        advice = next((text for pattern, text in families if pattern.fullmatch(row.cuda)), "")
        return replace(row, note=advice)

    return [advised(row) for row in rows]


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
