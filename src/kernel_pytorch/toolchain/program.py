"""Builds whole HIP programs: device code for one target inside an executable of this machine.

The device side is compiled to assembly text first and that text is assembled, so the text and the code object hold
the same instructions: whoever needs to read the machine code does not need a disassembler.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.toolchain.compile import CompileOptions, compile_device, compile_device_text, compile_host
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.relocatable import (
    registration_source,
    relocatable_host_object,
    whole_program_assembly,
)
from kernel_pytorch.toolchain.stages import assemble_device, bundle, link_program

# Line tables are enough to name source lines, and cost a tenth of full debug information.
_LINES = ("-gline-tables-only", "-fdebug-compilation-dir=.")


@dataclass(frozen=True)
class DeviceCode:
    """The device side of one translation unit: the compiler's assembly and the code object made from that text."""

    source: str
    target: str
    assembly: str
    code_object: bytes


@dataclass(frozen=True)
class Program:
    """An executable that holds AMD device code, and that device code by translation unit."""

    executable: Path
    device: tuple[DeviceCode, ...]


def build_device_code(
    source: Path, target: str, toolchain: Toolchain, options: CompileOptions | None = None
) -> DeviceCode:
    """Compile the device side of a HIP source, with source lines. Raises CompileFailed."""
    text = compile_device(source, target, toolchain, _with_lines(options), "assembly").decode("utf-8", "replace")
    return DeviceCode(str(source), target, text, assemble_device(text, target, toolchain))


def build_device_code_text(
    text: str,
    target: str,
    toolchain: Toolchain,
    options: CompileOptions | None = None,
    name: str = "kernel.hip",
    lines: bool = True,
) -> DeviceCode:
    """Like `build_device_code`, for HIP source in memory; without `lines` it holds no source lines."""
    lowered = compile_device_text(text, target, toolchain, _with_lines(options) if lines else options, "assembly", name)
    assembly = lowered.decode("utf-8", "replace")
    return DeviceCode(name, target, assembly, assemble_device(assembly, target, toolchain))


def build_program(
    sources: Sequence[Path],
    target: str,
    toolchain: Toolchain,
    destination: Path,
    options: CompileOptions | None = None,
    link: Sequence[str] = (),
    jobs: int = 2,
) -> Program:
    """Compile HIP sources for one target and link them; `link` are further words for the linker (-L, -l, objects).

    The runtime (`-lamdhip64`) is one of the words the caller brings. With -fgpu-rdc in the options the device code of
    all sources is linked into one. Raises CompileFailed.
    """
    if not sources:
        raise UsageError("no sources to build a program from")
    with tempfile.TemporaryDirectory(prefix="kpt-program-") as scratch:
        if options is not None and options.is_relocatable:
            whole = _build_relocatable(sources, target, toolchain, destination, options, link, jobs, Path(scratch))
            return Program(destination, (whole,))
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            device = tuple(pool.map(lambda path: build_device_code(path, target, toolchain, options), sources))
            objects = list(
                pool.map(
                    lambda unit: host_object(unit[0], unit[1], toolchain, options or CompileOptions(), Path(scratch)),
                    zip(sources, device, strict=True),
                )
            )
        link_program(objects, toolchain, destination, link)
    return Program(destination, device)


def _build_relocatable(
    sources: Sequence[Path],
    target: str,
    toolchain: Toolchain,
    destination: Path,
    options: CompileOptions,
    link: Sequence[str],
    jobs: int,
    scratch: Path,
) -> DeviceCode:
    text = whole_program_assembly(sources, target, toolchain, _with_lines(options), jobs)
    device = DeviceCode(str(sources[0]), target, text, assemble_device(text, target, toolchain))
    fat_binary = scratch / "program.hipfb"
    fat_binary.write_bytes(bundle({target: device.code_object}))
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        hosts = list(pool.map(lambda path: relocatable_host_object(path, target, toolchain, options), sources))
    objects = [scratch / f"{number}.o" for number in range(len(hosts))]
    for path, content in zip(objects, hosts, strict=True):
        path.write_bytes(content)
    registration = scratch / "registration.s"
    registration.write_text(registration_source(hosts, fat_binary))
    link_program([*objects, registration], toolchain, destination, link)
    return device


def host_object(source: Path, device: DeviceCode, toolchain: Toolchain, options: CompileOptions, scratch: Path) -> Path:
    """The host side of a source, with its device code inside, as an object in `scratch`. Raises CompileFailed."""
    # Two sources of one name may come from different folders.
    name = hashlib.sha256(str(source).encode()).hexdigest()[:16]
    fat_binary = scratch / f"{name}.hipfb"
    fat_binary.write_bytes(bundle({device.target: device.code_object}))
    compiled = scratch / f"{name}.o"
    compiled.write_bytes(compile_host(source, toolchain, options, device.target, fat_binary))
    return compiled


def _with_lines(options: CompileOptions | None) -> CompileOptions:
    options = options or CompileOptions()
    return options if options.debug else replace(options, extra=(*options.extra, *_LINES))
