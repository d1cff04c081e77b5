"""Writes declarations of ROCm's math libraries, for machines without ROCm: types, enumerators, functions, no comments.

    pip install libclang
    python scripts/build_library_headers.py ROCM_ROOT

torch's own headers include hipBLAS, hipSPARSE and others, so an extension does not compile without theirs. The vendor's
headers are read with clang and what they declare is printed anew, one declaration a line. Nothing is implemented here:
the emulator's stand-ins, or ROCm's libraries, have the functions. A real header wins wherever there is one.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

OUT = Path(__file__).resolve().parent.parent / "src/kernel_pytorch/toolchain/include/libraries"

# Library: its main header, and the folders whose declarations belong to it.
LIBRARIES = {
    "hipblas": ("hipblas/hipblas.h", ("hipblas/", "hipblas-common/")),
    "hipblaslt": ("hipblaslt/hipblaslt.h", ("hipblaslt/", "hipblaslt-")),
    "hipsparse": ("hipsparse/hipsparse.h", ("hipsparse/",)),
    "hipsolver": ("hipsolver/hipsolver.h", ("hipsolver/",)),
    "hipfft": ("hipfft/hipfftXt.h", ("hipfft/",)),
    "hiprand": ("hiprand/hiprand.h", ("hiprand/", "rocrand/")),
    "rocblas": ("rocblas/rocblas.h", ("rocblas/",)),
    "rccl": ("rccl/rccl.h", ("rccl/",)),
    "miopen": ("miopen/miopen.h", ("miopen/",)),
    "hiprtc": ("hip/hiprtc.h", ("hip/hiprtc.h",)),
    "hip_gl_interop": ("hip/hip_gl_interop.h", ("hip/hip_gl_interop.h", "hip/amd_detail/amd_hip_gl_interop.h")),
}
# Types that a macro of the user's decides about, which one reading of the headers does not show.
BY_MACRO = {
    "hipblasHalf": "#ifdef HIPBLAS_USE_HIP_HALF\ntypedef __half hipblasHalf;\n"
    "#else\ntypedef uint16_t hipblasHalf;\n#endif",
}
# Other names under which a library's headers are included: each becomes a line that includes the main one.
ALIASES = {
    "hipblas-common/hipblas-common.h": "hipblas/hipblas.h",
    "hipsparse/hipsparse-version.h": "hipsparse/hipsparse.h",
    "hipfft/hipfft.h": "hipfft/hipfftXt.h",
    "miopen/version.h": "miopen/miopen.h",
    "hipblas.h": "hipblas/hipblas.h",
    "hipsparse.h": "hipsparse/hipsparse.h",
    "hipfft.h": "hipfft/hipfftXt.h",
}
NEEDS = {
    "hip_gl_interop": ["hip/hip_runtime_api.h"],
    "hipblaslt": ["hipblas/hipblas.h"],
    "hipsolver": ["hipblas/hipblas.h", "hipsparse/hipsparse.h"],
}
_NOT_MACROS = re.compile(r"(?:.*_EXPORT|.*_DEPRECATED\w*|.*_NO_EXPORT|.*_H_?|.*_HPP_?|.*_H__|.*_API|DEPRECATED.*)$")
HEAD = """\
// Declarations of {library} {version}, made by scripts/build_library_headers.py from what its public headers declare.
// For machines without ROCm. Types and functions only: nothing is implemented here.
#pragma once
#include <hip/hip_runtime_api.h>
#include <hip/library_types.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#else
#include <kpt/types_in_c.h>
#endif
{needs}"""
# C knows the names of structures and enumerations only behind their keyword.
OPENED, CLOSED = '#ifdef __cplusplus\nextern "C" {\n#endif', "#ifdef __cplusplus\n}\n#endif"


def main(argv: list[str] | None = None) -> int:
    """Write one header a library."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rocm", type=Path, help="a ROCm root, such as `make rocm-debian` unpacks")
    args = parser.parse_args(argv)
    include = next(
        (one for one in (args.rocm / "include", args.rocm / "usr/include") if (one / "hipblas").is_dir()), None
    )
    if include is None:
        parser.error(f"{args.rocm} has no include/hipblas: run `make rocm-debian`")
    for library, (header, folders) in LIBRARIES.items():
        text = declarations(library, include, header, folders)
        path = OUT / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(f"{path.relative_to(OUT)}: {text.count(chr(10))} lines, {len(text)} bytes")
    for alias, header in ALIASES.items():
        path = OUT / alias
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#pragma once\n#include <{header}>\n")
    return 0


def declarations(library: str, include: Path, header: str, folders: tuple[str, ...]) -> str:
    """The header of one library."""
    from clang import cindex

    arguments = [
        "-x",
        "c++",
        "-std=c++17",
        "-D__HIP_PLATFORM_AMD__=1",
        f"-I{include}",
        "-D__HIP_DISABLE_CPP_FUNCTIONS__",
    ]
    # libclang's wheel has no headers of its own.
    arguments += [
        f"-isystem{folder}" for folder in sorted(include.resolve().parent.glob("lib/llvm-*/lib/clang/*/include"))[-1:]
    ]
    unit = cindex.Index.create().parse(
        "main.cpp",
        args=arguments,
        unsaved_files=[("main.cpp", "".join(f"#include <{one}>\n" for one in (*NEEDS.get(library, ()), header)))],
        options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        | cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES,
    )
    fatal = [one for one in unit.diagnostics if one.severity >= cindex.Diagnostic.Fatal]
    if fatal:
        sys.exit(f"{header}: {fatal[0]}")
    needs = "".join(f"#include <{one}>\n" for one in NEEDS.get(library, ()))
    printer = _Printer(include, folders)
    macros, body = printer.printed(unit.cursor)
    version = next((line.split()[-1] for line in macros if re.search(r"version_?major", line, re.I)), "")
    parts = [HEAD.format(library=library, version=version, needs=needs), *macros, OPENED, *body, CLOSED]
    return "\n".join(parts).replace(" , made by", ", made by", 1) + "\n"


class _Printer:
    """Prints the declarations of some folders."""

    def __init__(self, include: Path, folders: tuple[str, ...]) -> None:
        self.places = tuple(f"{include}/{folder}" for folder in folders)
        self.seen: set[str] = set()

    def printed(self, root: object) -> tuple[list[str], list[str]]:
        from clang.cindex import CursorKind

        macros, body = [], []
        for cursor in self._own(root):
            if cursor.kind == CursorKind.MACRO_DEFINITION:
                macros += self._macro(cursor)
            else:
                body += self._declaration(cursor)
        return macros, body

    def _own(self, cursor: object) -> Iterator[object]:
        from clang.cindex import CursorKind

        for child in cursor.get_children():
            file = child.location.file
            if child.kind in (CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL) and (
                file is None or str(file).startswith(self.places)
            ):
                yield from self._own(child)
            elif file is not None and str(file).startswith(self.places):
                yield child

    def _macro(self, cursor: object) -> list[str]:
        tokens = [token.spelling for token in cursor.get_tokens()]
        if len(tokens) < 2 or _NOT_MACROS.match(tokens[0]) or any(word.startswith("__attribute") for word in tokens):
            return []
        file = Path(str(cursor.location.file)).read_text(errors="replace").splitlines()
        # Spacing decides between NAME(x) and NAME (x): the text itself is asked.
        start = cursor.extent.start
        line = file[start.line - 1][start.column - 1 :]
        function_like = line.startswith(tokens[0] + "(")
        name = tokens[0] + (" ".join(tokens[1:]) if function_like else " " + " ".join(tokens[1:]))
        return self._once(f"#define {name}")

    def _declaration(self, cursor: object) -> list[str]:
        from clang.cindex import CursorKind

        if cursor.kind == CursorKind.FUNCTION_DECL:
            return self._function(cursor)
        if cursor.kind == CursorKind.ENUM_DECL:
            return self._named("enum", cursor, self._enum(cursor)) if cursor.is_definition() else []
        if cursor.kind in (CursorKind.STRUCT_DECL, CursorKind.UNION_DECL):
            return self._record(cursor)
        if cursor.kind in (CursorKind.TYPEDEF_DECL, CursorKind.TYPE_ALIAS_DECL):
            return self._typedef(cursor)
        return []

    def _function(self, cursor: object) -> list[str]:
        from clang.cindex import StorageClass

        # What has a body, or is C++ only, is a convenience of the real header.
        if (
            cursor.storage_class == StorageClass.STATIC
            or cursor.is_definition()
            or cursor.spelling.startswith("operator")
        ):
            return []
        parameters = ", ".join(_declared(one.type, "") for one in cursor.get_arguments())
        return self._once(f"{cursor.result_type.spelling} {cursor.spelling}({parameters});")

    def _enum(self, cursor: object) -> str:
        name = "" if cursor.is_anonymous() or "unnamed" in cursor.spelling else f" {cursor.spelling}"
        base = cursor.enum_type.spelling
        typed = f" : {base}" if base not in ("unsigned int", "int") else ""
        return f"enum{name}{typed} {{ {_enumerators(cursor)} }};"

    def _record(self, cursor: object) -> list[str]:
        from clang.cindex import CursorKind

        word = "union" if cursor.kind == CursorKind.UNION_DECL else "struct"
        if not cursor.is_definition():
            return self._named(word, cursor, f"{word} {cursor.spelling};")
        if "unnamed" in cursor.spelling or cursor.is_anonymous():
            return []  # printed with its typedef
        return self._named(word, cursor, f"{word} {cursor.spelling} {{ {self._fields(cursor)} }};")

    def _named(self, word: str, cursor: object, text: str) -> list[str]:
        """The declaration, and its name as C has to be told it. The name comes first: a structure may hold itself."""
        if "unnamed" in cursor.spelling or cursor.is_anonymous():
            return self._once(text)
        alias = self._once(f"typedef {word} {cursor.spelling} {cursor.spelling};")
        return [*self._once(text), *alias] if word == "enum" else [*alias, *self._once(text)]

    def _fields(self, cursor: object) -> str:
        from clang.cindex import CursorKind

        fields = [one for one in cursor.get_children() if one.kind == CursorKind.FIELD_DECL]
        return " ".join(_declared(one.type, one.spelling) + ";" for one in fields)

    def _typedef(self, cursor: object) -> list[str]:
        under = cursor.underlying_typedef_type
        made = under.get_declaration()
        if "unnamed" in made.spelling or made.is_anonymous():
            word = "enum" if made.kind.name == "ENUM_DECL" else "union" if made.kind.name == "UNION_DECL" else "struct"
            body = (
                ", ".join(
                    f"{one.spelling} = {one.enum_value}" for one in made.get_children() if one.enum_value is not None
                )
                if word == "enum"
                else self._fields(made)
            )
            return self._once(f"typedef {word} {cursor.spelling} {{ {body} }} {cursor.spelling};")
        if made.spelling == cursor.spelling:
            return []
        if cursor.spelling in BY_MACRO:
            return self._once(BY_MACRO[cursor.spelling])
        return self._once(f"typedef {_declared(under, cursor.spelling)};")

    def _once(self, text: str) -> list[str]:
        if text in self.seen:
            return []
        self.seen.add(text)
        return [text]


def _enumerators(cursor: object) -> str:
    named = (one for one in cursor.get_children() if one.enum_value is not None)
    return ", ".join(f"{one.spelling} = {one.enum_value}" for one in named)


def _declared(kind: object, name: str) -> str:
    """A declarator: arrays and function pointers carry the name inside."""
    spelling = kind.spelling
    if "(*)" in spelling:
        return spelling.replace("(*)", f"(*{name})", 1)
    spelling = re.sub(r" ([*&]+)", r"\1", spelling)
    match = re.match(r"(.+?)\s*((?:\[\d*\])+)$", spelling)
    if match:
        return f"{match[1]} {name}{match[2]}"
    return f"{spelling} {name}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
