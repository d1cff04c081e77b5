"""A code object's kernels as C files and the tables the runtime reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core import hardware
from kernel_pytorch.emulate.assembly.instruction import OperandPlace
from kernel_pytorch.emulate.codegen.kernel import KernelCode
from kernel_pytorch.toolchain.code_object import KernelResources

NATIVE = Path(__file__).resolve().parent.parent / "native"
#: These come first, in this order; every other header of native/ follows.
_FIRST_HEADERS = ("engine.h", "bits.h", "floats.h", "lanes.h", "memory.h", "kernel.h")
#: Instructions of one C file before another is begun, and of a function before the compiler is asked for less. gcc 12
#: was not done with a kernel of 13,000 instructions after six minutes at -O1, and took 49 seconds at -O0.
FILE_INSTRUCTIONS = 1500
LARGE_FUNCTION = 2000
HUGE_FUNCTION = 8000


@dataclass(frozen=True)
class Remark:
    """Something found in the machine code itself, at one of its instructions."""

    text: str
    place: OperandPlace | None
    detail: str


@dataclass(frozen=True)
class TranslatedKernel:
    """One kernel with its C and the words of its descriptor."""

    resources: KernelResources
    code: KernelCode
    wave: int
    descriptor: tuple[int, int, int, int, int]  # rsrc1, rsrc2, rsrc3, properties, kernarg_preload
    missing_waits: tuple[Remark, ...] = ()


@dataclass(frozen=True)
class CFile:
    """One C file and the optimisation it is compiled with. `prelude` stands before `text`: the same for many files."""

    name: str
    text: str
    optimization: str
    prelude: str = ""

    @property
    def whole(self) -> str:
        return self.prelude + self.text


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
    quick: bool = False,
) -> tuple[CFile, ...]:
    """The C files of a module: kernels in files of moderate size, and one with the tables."""
    files: list[CFile] = []
    for wave in sorted({kernel.wave for kernel in kernels}):
        group: list[TranslatedKernel] = []
        for kernel in [one for one in kernels if one.wave == wave]:
            if group and sum(one.code.instructions for one in group) + kernel.code.instructions > FILE_INSTRUCTIONS:
                files.append(_kernel_file(len(files), target, generation, wave, group, extern, exported, quick))
                group = []
            group.append(kernel)
        if group:
            files.append(_kernel_file(len(files), target, generation, wave, group, extern, exported, quick))
    return (*files, CFile("module.c", _tables(target, kernels, build, data, attach), "-O1"))


def _kernel_file(
    number: int,
    target: str,
    generation: int,
    wave: int,
    kernels: Sequence[TranslatedKernel],
    extern: str,
    exported: bool,
    quick: bool,
) -> CFile:
    minor = hardware.target(target).version[1]
    first = [f"#define WAVE {wave}", f"#define GFX {generation}", f"#define GFX_MINOR {minor}"]
    if any(kernel.code.follows_lds for kernel in kernels):
        first.append("#define KPT_WAITS")
    prelude = "\n".join([*first, *(f'#include "{name}"' for name in headers())]) + "\n"
    lines = ["#pragma GCC visibility push(default)"] if exported else []
    helpers = {name: text for kernel in kernels for name, text in kernel.code.helpers.items()}
    lines += helpers.values()
    lines += [extern, *(kernel.code.text for kernel in kernels)]
    if any(kernel.code.debug for kernel in kernels):
        return CFile(f"kernels{number}.c", "\n".join(lines) + "\n", "-O0 -g", prelude)
    most = max((kernel.code.instructions for kernel in kernels), default=0)
    level = "-O0" if quick or most > HUGE_FUNCTION else "-O1" if most > LARGE_FUNCTION else "-O2"
    return CFile(f"kernels{number}.c", "\n".join(lines) + "\n", level, prelude)


def quoted(text: str) -> str:
    """A C string."""
    escaped = "".join(
        c if 32 <= ord(c) < 127 and c not in '"\\?' else "".join(f"\\{byte:03o}" for byte in c.encode()) for c in text
    )
    return f'"{escaped}"'


def _source(place: OperandPlace | None) -> str:
    return f"{quoted(place.file if place else '')}, {place.line if place else 0}u"


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
        places = ",\n".join(f"{{{quoted(text)}, {_source(place)}}}" for text, place in code.places)
        lines.append(f"static const KptPlace places_{number}[] = {{{places or '{0}'}}};")
        remarks = ",\n".join(
            f"{{{quoted(one.text)}, {_source(one.place)}, {quoted(one.detail)}}}" for one in kernel.missing_waits
        )
        lines.append(f"static const KptRemark remarks_{number}[] = {{{remarks or '{0}'}}};")
        inexact = ", ".join(f"{{{quoted(one)}, &{code.name}_ran[{at}]}}" for at, one in enumerate(code.inexact))
        lines.append(f"uint8_t {code.name}_ran[{max(len(code.inexact), 1)}];")
        lines.append(f"static const KptInexact inexact_{number}[] = {{{inexact or '{0}'}}};")
        descriptor = ", ".join(f"0x{word:x}u" for word in kernel.descriptor)
        rows.append(
            f"{{{quoted(resources.symbol)}, {code.name}, {kernel.wave}u, {max(code.vgprs, 3)}u, {code.agprs}u, "
            f"{resources.sgprs}u, {resources.lds_bytes}u, {resources.scratch_bytes}u, {resources.kernarg_bytes}u, "
            f"{resources.max_workgroup_size}u, {int(resources.uses_dynamic_stack)}u, {descriptor}, "
            f"args_{number}, {len(resources.args)}u, places_{number}, {len(code.places)}u, "
            f"remarks_{number}, {len(kernel.missing_waits)}u, inexact_{number}, {len(code.inexact)}u, "
            f"{quoted(' '.join(code.mnemonics))}}}"
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
