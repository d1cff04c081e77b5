"""The exported names of the CPU stand-ins, written out as C++ from tables.

hipBLAS and rocBLAS have some 1,200 names each, but only 60 routines: the rest are element types, batched and strided
forms and 64-bit sizes. `blas_source` expands the table of routines; `missing_source` makes a function that says so
for each name of a library's header that nothing else defines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

ELEMENT_TYPES = {
    "h": ("kpt::Half", "kpt::Half"),
    "bf": ("kpt::Bfloat16", "kpt::Bfloat16"),
    "s": ("float", "float"),
    "d": ("double", "double"),
    "c": ("kpt::Complex", "float"),
    "z": ("kpt::DoubleComplex", "double"),
}
ENUMS = ("op", "opB", "fill", "diag", "side")
FORMS = ("", "batched", "strided_batched")


@dataclass(frozen=True)
class Routine:
    """One row of the table of routines: a name, its (name prefix, element type) pairs and its parameters."""

    name: str
    prefixes: tuple[tuple[str, str], ...]
    parameters: tuple[str, ...]


def read_routines(text: str) -> tuple[Routine, ...]:
    """Read the table of BLAS routines (`native/libraries/blas/calls.txt`, which explains its columns)."""
    routines = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, prefixes, parameters = (column.strip() for column in line.split("|"))
        pairs = tuple((prefix.split(":")[0], prefix.split(":")[-1]) for prefix in prefixes.split())
        routines.append(Routine(name, pairs, tuple(parameters.split())))
    return tuple(routines)


def exported_name(library: str, prefix: str, routine: str, form: str, wide: bool) -> str:
    """`hipblasSaxpyStridedBatched_64`, or `rocblas_saxpy_strided_batched_64`."""
    end = "_64" if wide else ""
    if library == "rocblas":
        return f"rocblas_{prefix}{routine}{'_' + form if form else ''}{end}"
    ending = {"": "", "batched": "Batched", "strided_batched": "StridedBatched"}[form]
    return f"hipblas{prefix.capitalize()}{routine}{ending}{end}"


def _function(
    library: str, prefix: str, element: str, routine: Routine, form: str, wide: bool, forward: bool = False
) -> str:
    element_type, real_type = ELEMENT_TYPES[element]
    size = "int64_t" if wide else "int"
    parameters = ["void *handle"]
    arguments: list[str] = []
    result = ""

    def array(name: str, kind: str, written: bool, step: str) -> None:
        qualifier = "" if written else "const "
        if form == "batched":
            parameters.append(f"{qualifier}{kind} *const *{name}")
            arguments.append(f"kpt::item({name}, batch)")
        elif form == "strided_batched":
            parameters.append(f"{qualifier}{kind} *{name}")
            arguments.append(f"kpt::item({name}, batch, stride_{name})")
        else:
            parameters.append(f"{qualifier}{kind} *{name}")
            arguments.append(name)
        if step:
            parameters.append(f"{size} {step}")
            arguments.append(step)
        if form == "strided_batched":
            parameters.append(f"int64_t stride_{name}")

    for token in routine.parameters:
        name, _, type_code = token.partition(":")
        kind = real_type if type_code == "R" else element_type
        written = name.endswith("!")
        name = name.rstrip("!")
        if name in ENUMS:
            parameters.append(f"int {name}")
            arguments.append(name)
        elif name.startswith("*"):
            parameters.append(f"const {kind} *{name[1:]}")
            arguments.append(name[1:])
        elif name.startswith("="):
            result = {"=T": element_type, "=R": real_type, "=I": size}[name]
        elif name.startswith("["):
            array(name[1:-1], kind, written, "")
        elif name[0].isupper():
            array(name, kind, written, f"ld_{name}")
        elif name in ("x", "y"):
            array(name, kind, written, f"inc_{name}")
        else:
            parameters.append(f"{size} {name}")
            arguments.append(name)
    count = "1"
    if form:
        parameters.append(f"{size} count")
        count = "count"
    if result:
        parameters.append(f"{result} *result")
        arguments.append("kpt::item(result, batch, 1)" if form else "result")
    name = exported_name(library, prefix, routine.name, form, wide)
    if forward:
        given = ", ".join(parameter.split()[-1].lstrip("*") for parameter in parameters)
        return f"int {name}({', '.join(parameters)}) {{\n    return {name}_64({given});\n}}\n"
    return (
        f"int {name}({', '.join(parameters)}) {{\n"
        f"    return kpt::run(handle, {count}, [&](int64_t{' batch' if form else ''}) {{"
        f" return kpt::{routine.name}({', '.join(arguments)}); }});\n}}\n"
    )


def blas_functions(library: str, routines: Iterable[Routine], names: Collection[str]) -> Iterator[str]:
    """C++ of every function of `library` (hipblas or rocblas) that the table gives and its header declares."""
    for routine in routines:
        for prefix, element in routine.prefixes:
            for form in FORMS:
                wide = exported_name(library, prefix, routine.name, form, True) in names
                if wide:
                    yield _function(library, prefix, element, routine, form, True)
                # An index is the only result whose size follows the sizes'; all else may go through the wide form.
                forward = wide and "=I" not in routine.parameters
                if exported_name(library, prefix, routine.name, form, False) in names:
                    yield _function(library, prefix, element, routine, form, False, forward)


def blas_source(library: str, routines: Iterable[Routine], names: Collection[str]) -> str:
    """One C++ file with those functions."""
    return "\n".join(('#include "run.h"', 'extern "C" {', *blas_functions(library, routines, names), "}", ""))


def missing_source(names: Iterable[str], status: int) -> str:
    """C++ of a weak function per name that says it is not implemented: any real definition takes its place."""
    lines = ['#include "common/missing.h"', 'extern "C" {']
    lines += [
        f'__attribute__((weak)) int {name}() {{ static bool said; return kpt::missing("{name}", &said, {status}); }}'
        for name in names
    ]
    return "\n".join((*lines, "}", ""))
