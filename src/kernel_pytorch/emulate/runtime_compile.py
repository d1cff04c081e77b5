"""Compiles HIP source for a running program (hiprtc): what libhiprtc starts.

`python -m kernel_pytorch.emulate.runtime_compile SOURCE OUT GPU_JSON NAME [OPTIONS...]` writes the code object to OUT
and, where the source asks for the symbols of name expressions, their list to OUT.names. Messages go to stderr.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.kept_assembly import keep_assembly
from kernel_pytorch.emulate.outside import step_outside
from kernel_pytorch.emulate.runtime_headers import HEADER, leading_header
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions
from kernel_pytorch.toolchain.elf import ElfError
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.program import DeviceCode, build_device_code_text

_NAME_VARIABLE = re.compile(
    r"^__kpt_name_(\d+):\n(?:\s+\.(?:cfi|loc).*\n)*\s+\.(?:quad|long|xword)\s+([^\s@]+)", re.MULTILINE
)
# What hiprtc brings without an #include.
_PROLOGUE = f"#include <{HEADER}>\n#line 1\n"
_UNKNOWN_TO_CLANG = ("--gpu-architecture", "-arch", "--offload-arch", "-default-device", "--std", "-std")


def compile_options(options: list[str], directory: Path) -> tuple[CompileOptions, str | None]:
    """hiprtc's options as the toolchain takes them, and the target one of them names."""
    optimization, std, target = "-O3", "c++17", None
    extra: list[str] = []
    folders = [directory]
    words = iter(options)
    for option in words:
        name, _, value = option.partition("=")
        if re.fullmatch(r"-O[0-3s]|-Ofast", option):
            optimization = option
        elif name in ("-std", "--std"):
            std = value
        elif name in ("--gpu-architecture", "--offload-arch", "-arch"):
            target = value
        elif option.startswith("-I"):  # relative to where the program runs, which is not where the compiler does
            folders.append(Path(option[2:].strip() or next(words, ".")))
        elif name not in _UNKNOWN_TO_CLANG:
            extra.append(option)
    return CompileOptions(optimization, include_dirs=tuple(folders), extra=tuple(extra), std=std), target


def compile_source(source: Path, gpu: Path, name: str, options: list[str]) -> DeviceCode:
    """The device code of hiprtc source for the GPU that is emulated."""
    described = json.loads(gpu.read_text())
    chosen, asked = compile_options(options, source.parent)
    target = described["target"]
    if asked is not None and not asked.startswith(target):
        raise UsageError(f"the program asks for {asked}; the emulated GPU is a {target}")
    text = _PROLOGUE + source.read_text()
    plain = re.sub(r"[^\w.+-]", "_", Path(name).name) or "program.hip"
    toolchain = find_toolchain()
    chosen = replace(chosen, leading=leading_header(chosen.extra, source.parent, toolchain))
    return build_device_code_text(text, target, toolchain, chosen, plain)


def keep_for_translator(made: DeviceCode) -> None:
    """Leave the text where the translator looks for it, so that it needs no disassembler."""
    cache = os.environ.get("KPT_EMULATE_CACHE")
    if cache:
        keep_assembly(made.code_object, made.assembly, Path(cache))


def lowered_names(assembly: str) -> dict[int, str]:
    """Which symbol each name expression turned out to be: number -> symbol."""
    return {int(index): symbol.removesuffix(".kd") for index, symbol in _NAME_VARIABLE.findall(assembly)}


def main(arguments: list[str]) -> int:
    """The command line; exit status 1 when the source does not compile, 2 for anything else."""
    if len(arguments) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    step_outside()
    source, out, gpu, name = Path(arguments[0]), Path(arguments[1]), Path(arguments[2]), arguments[3]
    try:
        made = compile_source(source, gpu, name, arguments[4:])
    except CompileFailed as failure:
        print(failure.stderr or failure, file=sys.stderr)
        return 1
    except (UsageError, ToolchainNotFoundError, ElfError, OSError, ValueError) as problem:
        print(f"kpt: {problem}", file=sys.stderr)
        return 2
    out.write_bytes(made.code_object)
    keep_for_translator(made)
    names = lowered_names(made.assembly)
    Path(f"{out}.names").write_text("".join(f"{index} {symbol}\n" for index, symbol in sorted(names.items())))
    return 0


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(main(sys.argv[1:]))
