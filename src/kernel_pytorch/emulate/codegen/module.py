"""A code object's kernels as C files and the tables the runtime reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.emulate.codegen.kernel import KernelCode
from kernel_pytorch.toolchain.code_object import KernelResources

NATIVE = Path(__file__).resolve().parent.parent / "native"
#: These come first, in this order; every other header of native/ follows.
_FIRST_HEADERS = ("engine.h", "bits.h", "floats.h", "lanes.h", "memory.h", "kernel.h")
#: Instructions of one C file before another is begun, and of a function before the compiler is asked for less.
FILE_INSTRUCTIONS = 1500
LARGE_FUNCTION = 2000


@dataclass(frozen=True)
class TranslatedKernel:
    """One kernel with its C and the words of its descriptor."""

    resources: KernelResources
    code: KernelCode
    wave: int
    descriptor: tuple[int, int, int, int, int]  # rsrc1, rsrc2, rsrc3, properties, kernarg_preload


@dataclass(frozen=True)
class CFile:
    """One C file and the optimisation it is compiled with."""

    name: str
    text: str
    optimization: str


def headers() -> tuple[str, ...]:
    """The native headers that translated code includes."""
    others = sorted(path.name for path in NATIVE.glob("*.h") if path.name not in _FIRST_HEADERS)
    return (*_FIRST_HEADERS, *others)


def module_files(
    target: str,
    generation: int,
    kernels: Sequence[TranslatedKernel],
    build: int,
    data: Sequence[str],
    attach: str,
    extern: str = "",
    exported: bool = False,
) -> tuple[CFile, ...]:
    """The C files of a module: kernels in files of moderate size, and one with the tables."""
    files: list[CFile] = []
    for wave in sorted({kernel.wave for kernel in kernels}):
        group: list[TranslatedKernel] = []
        for kernel in [one for one in kernels if one.wave == wave]:
            if group and sum(one.code.instructions for one in group) + kernel.code.instructions > FILE_INSTRUCTIONS:
                files.append(_kernel_file(len(files), generation, wave, group, extern, exported))
                group = []
            group.append(kernel)
        if group:
            files.append(_kernel_file(len(files), generation, wave, group, extern, exported))
    return (*files, CFile("module.c", _tables(target, kernels, build, data, attach), "-O1"))


def _kernel_file(
    number: int, generation: int, wave: int, kernels: Sequence[TranslatedKernel], extern: str, exported: bool
) -> CFile:
    lines = [f"#define WAVE {wave}", f"#define GFX {generation}"]
    lines += [f'#include "{name}"' for name in headers()]
    if exported:
        lines.append("#pragma GCC visibility push(default)")
    helpers = {name: text for kernel in kernels for name, text in kernel.code.helpers.items()}
    lines += helpers.values()
    lines += [extern, *(kernel.code.text for kernel in kernels)]
    large = any(kernel.code.instructions > LARGE_FUNCTION for kernel in kernels)
    return CFile(f"kernels{number}.c", "\n".join(lines) + "\n", "-O1" if large else "-O2")


def quoted(text: str) -> str:
    """A C string."""
    escaped = "".join(
        c if 32 <= ord(c) < 127 and c not in '"\\?' else "".join(f"\\{byte:03o}" for byte in c.encode()) for c in text
    )
    return f'"{escaped}"'


def _tables(target: str, kernels: Sequence[TranslatedKernel], build: int, data: Sequence[str], attach: str) -> str:
    lines = ['#include "engine.h"', "uint64_t kpt_image;", *data]
    rows = []
    for number, kernel in enumerate(kernels):
        resources, code = kernel.resources, kernel.code
        args = ", ".join(
            f"{{{quoted(arg.kind)}, {quoted(arg.name)}, {arg.offset}u, {arg.size}u}}" for arg in resources.args
        )
        lines.append(f"int {code.name}(KptWave *wave);")
        lines.append(f"static const KptArg args_{number}[] = {{{args or '{0}'}}};")
        places = ",\n".join(
            f"{{{quoted(text)}, {quoted(place.file if place else '')}, {place.line if place else 0}u}}"
            for text, place in code.places
        )
        lines.append(f"static const KptPlace places_{number}[] = {{{places or '{0}'}}};")
        descriptor = ", ".join(f"0x{word:x}u" for word in kernel.descriptor)
        rows.append(
            f"{{{quoted(resources.symbol)}, {code.name}, {kernel.wave}u, {max(code.vgprs, 3)}u, {code.agprs}u, "
            f"{resources.sgprs}u, {resources.lds_bytes}u, {resources.scratch_bytes}u, {resources.kernarg_bytes}u, "
            f"{resources.max_workgroup_size}u, {int(resources.uses_dynamic_stack)}u, {descriptor}, "
            f"args_{number}, {len(resources.args)}u, places_{number}, {len(code.places)}u}}"
        )
    table = ",\n".join(rows) or "{0}"
    lines.append(f"static const KptKernel kernels[] = {{{table}}};")
    lines.append(f"static void attach(uint64_t image_base) {{ kpt_image = image_base; {attach} }}")
    lines.append(
        f"static const KptModule module = {{KPT_ABI_VERSION, {build}u, {quoted(target)}, kernels, {len(kernels)}u, "
        "attach};"
    )
    lines.append('__attribute__((visibility("default"))) const KptModule *kpt_module(void) { return &module; }')
    return "\n".join(lines) + "\n"
