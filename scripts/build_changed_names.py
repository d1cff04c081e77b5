"""Writes tests/port/names/changed_names.csv: every translated name whose type, arguments or value HIP changes.

    python scripts/build_changed_names.py --cuda DIR [--cuda DIR ...] --hip DIR --clang CLANG

--cuda are include folders unpacked from PyPI's nvidia-* packages, newest first; --hip is the include folder of ROCm.
Each vendor's headers are parsed by clang, so that const, pointers and values are exact. A name is changed where CUDA's
declaration, its words renamed by our table, is not HIP's declaration. Each row holds a line of CUDA that uses the name
as CUDA's header declares it: tests/port/names/test_changed_names.py ports and compiles these lines.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from kernel_pytorch.port.names.table import find_name
from kernel_pytorch.port.tables import read_table

TARGET = Path(__file__).resolve().parent.parent / "tests/port/names/changed_names.csv"
CUDA_HEADERS = (
    "cuda.h", "cuda_runtime_api.h", "cuda_runtime.h", "cuComplex.h", "cublas_v2.h", "cublasLt.h", "cufft.h",
    "cufftXt.h", "curand.h", "cusparse.h", "cusolverDn.h", "cusolverSp.h", "cusolverRf.h", "nvrtc.h",
)  # fmt: skip
HIP_HEADERS = (
    "hip/hip_runtime.h", "hip/hiprtc.h", "hipblas/hipblas.h", "hipblaslt/hipblaslt.h", "hipfft/hipfft.h",
    "hipfft/hipfftXt.h", "hiprand/hiprand.h", "hipsparse/hipsparse.h", "hipsolver/hipsolver.h",
)  # fmt: skip
# Structures inside unions, which code cannot name by themselves.
NESTED = re.compile(r"CUstreamMemOp\w+Params_st")


@dataclass
class Headers:
    """What a vendor's headers declare: functions with parameter types, enumerators, members, aliases by macro."""

    functions: dict[str, list[tuple[str, tuple[str, ...]]]] = field(default_factory=dict)
    enumerators: dict[str, tuple[str, int]] = field(default_factory=dict)
    members: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    typedefs: dict[str, str] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)


def main() -> int:
    """Writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", action="append", required=True, type=Path)
    parser.add_argument("--hip", required=True, type=Path)
    parser.add_argument("--clang", required=True)
    args = parser.parse_args()
    hip = parsed(args.clang, HIP_HEADERS, args.hip, ["-D__HIP_PLATFORM_AMD__", "-DHIPBLAS_USE_HIP_HALF"])
    rows: dict[tuple[str, str], tuple[str, ...]] = {}
    for folder in args.cuda:
        for row in changed(parsed(args.clang, CUDA_HEADERS, folder, []), hip):
            rows.setdefault((row[1], row[3]), row)
    with TARGET.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("library", "name", "change", "use", "value"))
        writer.writerows(sorted(rows.values()))
    print(f"{TARGET}: {len(rows)} rows")
    return 0


def parsed(clang: str, headers: tuple[str, ...], folder: Path, flags: list[str]) -> Headers:
    """The declarations of the headers that `folder` has."""
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "all.cpp"
        source.write_text("".join(f"#include <{name}>\n" for name in headers if (folder / name).is_file()))
        # NVIDIA keeps this one in another package; only its macros are asked for.
        (Path(scratch) / "nv").mkdir()
        (Path(scratch) / "nv/target").write_text("#define NV_IF_ELSE_TARGET(...)\n#define NV_IF_TARGET(...)\n")
        command = [clang, "-x", "c++", "-std=c++17", f"-I{folder}", f"-I{scratch}", "-w", *flags]
        tree = subprocess.run(
            [*command, "-fsyntax-only", "-Xclang", "-ast-dump=json", str(source)], stdout=subprocess.PIPE, check=True
        )
        macros = subprocess.run([*command, "-dM", "-E", str(source)], stdout=subprocess.PIPE, text=True, check=True)
    found = Headers(macros=dict(re.findall(r"^#define (\w+) (\w+)$", macros.stdout, re.MULTILINE)))
    _walk(json.loads(tree.stdout), found)
    return found


def _walk(node: dict[str, Any], found: Headers) -> None:
    kind, inner = node.get("kind"), node.get("inner", [])
    if kind in ("TranslationUnitDecl", "LinkageSpecDecl"):
        for child in inner:
            _walk(child, found)
    elif kind == "FunctionDecl":
        types = tuple(child["type"]["qualType"] for child in inner if child["kind"] == "ParmVarDecl")
        whole = node["type"]["qualType"]
        if "..." not in whole:
            found.functions.setdefault(node["name"], []).append((whole.split("(")[0].strip(), types))
    elif kind == "EnumDecl":
        last = -1
        for child in inner:
            if child["kind"] == "EnumConstantDecl":
                value = _value(child)
                last = last + 1 if value is None else value
                found.enumerators[child["name"]] = (child["type"]["qualType"], last)
    elif kind == "CXXRecordDecl" and node.get("completeDefinition") and "name" in node:
        found.members[node["name"]] = [
            (child["name"], child["type"]["qualType"])
            for child in inner
            if child["kind"] == "FieldDecl" and "name" in child and "reserved" not in child["name"].lower()
        ]
    elif kind == "TypedefDecl":
        found.typedefs[node["name"]] = node["type"]["qualType"]


def _value(node: dict[str, Any]) -> int | None:
    if node["kind"] == "ConstantExpr" and "value" in node:
        return int(node["value"])
    return next((value for child in node.get("inner", []) if (value := _value(child)) is not None), None)


def changed(cuda: Headers, hip: Headers) -> Iterator[tuple[str, ...]]:
    """(library, name, what changes, a use of the name in CUDA, HIP's value) for each such name."""
    for row in read_table("cuda_names.csv"):
        name = row["cuda"]
        if not row["hip"] and not _is_ours(name):
            continue
        for function in cuda.functions.get(cuda.macros.get(name, name), ())[:1]:
            theirs = [one for _, one in hip.functions.get(row["hip"], ())]
            if theirs and tuple(map(renamed, function[1])) not in [tuple(map(plain, one)) for one in theirs]:
                yield row["library"], name, "arguments", call_of(name, *function), ""
        if name in cuda.enumerators and row["hip"] in hip.enumerators:
            (group, value), (other, theirs_value) = cuda.enumerators[name], hip.enumerators[row["hip"]]
            if value != theirs_value or renamed(group) != plain(other):
                holder = "long long" if "unnamed" in group or "anonymous" in group else group
                change = "value" if value != theirs_value else "type"
                yield row["library"], name, change, f"{holder} value_{name} = {name};", str(theirs_value)
        yield from _members(row, cuda, hip)


def _is_ours(name: str) -> bool:
    from kernel_pytorch.port.names.shims import shims

    return name.encode() in shims()


def _members(row: dict[str, str], cuda: Headers, hip: Headers) -> Iterator[tuple[str, ...]]:
    name = row["cuda"]
    known = dict(hip.members.get(row["hip"]) or hip.members.get(_tag(row["hip"], hip)) or ())
    for member, kind in cuda.members.get(name) or cuda.members.get(_tag(name, cuda)) or ():
        if known and renamed(kind) == plain(known.get(member, "")):
            continue
        if NESTED.search(kind) or (not known and row["hip"]):
            continue
        is_plain = not re.search(r"[(\[]|unnamed|anonymous|^const\b", kind)
        body = f"{kind} v = p->{member}; p->{member} = v;" if is_plain else f"(void)p->{member};"
        yield row["library"], name, "member", f"void member_{name}_{member}({name}* p) {{ {body} }}", ""


def _tag(name: str, headers: Headers) -> str:
    return re.sub(r"^(?:struct|union) ", "", headers.typedefs.get(name, ""))


def call_of(name: str, returns: str, types: tuple[str, ...]) -> str:
    """A function that calls `name` with parameters of CUDA's types."""
    given = ", ".join(f"Type<{one}> a{at}" if "(" in one else f"{one} a{at}" for at, one in enumerate(types))
    call = f"{name}({', '.join(f'a{at}' for at in range(len(types)))})"
    body = f"{call};" if returns == "void" else f"{returns} r = {call}; (void)r;"
    return f"void call_{name}_{len(types)}({given}) {{ {body} }}"


def plain(text: str) -> str:
    """A type without the words that C++ does not need."""
    return re.sub(r"\b(?:struct|enum|union)\b|\s", "", text)


def renamed(text: str) -> str:
    """The same after our renaming of words."""

    def word(found: re.Match[str]) -> str:
        row = find_name(found[0].encode())
        return row.hip if row is not None and row.hip else found[0]

    return plain(re.sub(r"\w+", word, text))


if __name__ == "__main__":
    raise SystemExit(main())
