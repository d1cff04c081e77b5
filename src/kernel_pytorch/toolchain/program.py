"""Builds whole HIP programs: device code for one target inside an executable of this machine.

The device side is compiled to assembly text first and that text is assembled, so the text and the code object hold
the same instructions: whoever needs to read the machine code does not need a disassembler.
"""

from __future__ import annotations

import hashlib
import shutil
import struct
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.toolchain.compile import (
    CompileFailed,
    CompileOptions,
    compile_device,
    compile_device_text,
    compile_host,
    link_device,
    run_compiler,
)
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError
from kernel_pytorch.toolchain.offload_bundle import BUNDLE_MAGIC
from kernel_pytorch.toolchain.relocatable import (
    is_relocatable,
    registration_source,
    relocatable_host_object,
    whole_program_assembly,
)
from kernel_pytorch.toolchain.roots import OWN_INCLUDE, package_directory

# Line tables are enough to name source lines, and cost a tenth of full debug information.
_LINES = ("-gline-tables-only", "-fdebug-compilation-dir=.")
_BUNDLE_ALIGNMENT = 4096
_HOST_SUPPORT = OWN_INCLUDE / "host_support.c"


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
    text: str, target: str, toolchain: Toolchain, options: CompileOptions | None = None, name: str = "kernel.hip"
) -> DeviceCode:
    """Like `build_device_code`, for HIP source in memory."""
    lowered = compile_device_text(text, target, toolchain, _with_lines(options), "assembly", name)
    assembly = lowered.decode("utf-8", "replace")
    return DeviceCode(name, target, assembly, assemble_device(assembly, target, toolchain))


def assemble_device(text: str, target: str, toolchain: Toolchain, timeout_s: float = 600.0) -> bytes:
    """AMD assembly text as a linked code object. Labels stay in its symbol table. Raises CompileFailed."""
    with tempfile.TemporaryDirectory(prefix="kpt-assemble-") as scratch:
        source, relocatable = Path(scratch) / "device.s", Path(scratch) / "device.o"
        source.write_text(text)
        command = [*toolchain.compiler, "-x", "assembler", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}"]
        # -L keeps the compiler's own labels: constants and jump targets are found by name.
        command += ["-Wa,-L", "-fno-color-diagnostics", "-w", "-c", "-o", str(relocatable), str(source)]
        run_compiler(command, timeout_s, None)
        return link_device([relocatable.read_bytes()], toolchain, timeout_s)


def bundle(code_objects: Mapping[str, bytes]) -> bytes:
    """A clang offload bundle of code objects by target, as an executable carries them."""
    entries = [("host-x86_64-unknown-linux-gnu-", b"")]
    entries += [(f"hipv4-amdgcn-amd-amdhsa--{target}", content) for target, content in code_objects.items()]
    table = len(BUNDLE_MAGIC) + 8 + sum(24 + len(name) for name, _ in entries)
    offset = -(-table // _BUNDLE_ALIGNMENT) * _BUNDLE_ALIGNMENT
    head = BUNDLE_MAGIC + struct.pack("<Q", len(entries))
    body = b""
    for name, content in entries:
        head += struct.pack("<QQQ", offset + len(body), len(content), len(name)) + name.encode()
        body += content + b"\0" * (-len(content) % _BUNDLE_ALIGNMENT)
    return head + b"\0" * (offset - len(head)) + body


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
        if options is not None and is_relocatable(options):
            whole = _build_relocatable(sources, target, toolchain, destination, options, link, jobs, Path(scratch))
            return Program(destination, (whole,))
        with ThreadPoolExecutor(max_workers=jobs) as pool:
            device = tuple(pool.map(lambda path: build_device_code(path, target, toolchain, options), sources))
            objects = list(
                pool.map(
                    lambda unit: _host_object(unit[0], unit[1], toolchain, options or CompileOptions(), Path(scratch)),
                    zip(sources, device, strict=True),
                )
            )
        _link_program(objects, toolchain, destination, link)
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
    _link_program([*objects, registration], toolchain, destination, link)
    return device


def _host_object(
    source: Path, device: DeviceCode, toolchain: Toolchain, options: CompileOptions, scratch: Path
) -> Path:
    # Two sources of one name may come from different folders.
    name = hashlib.sha256(str(source).encode()).hexdigest()[:16]
    fat_binary = scratch / f"{name}.hipfb"
    fat_binary.write_bytes(bundle({device.target: device.code_object}))
    compiled = scratch / f"{name}.o"
    compiled.write_bytes(compile_host(source, toolchain, options, device.target, fat_binary))
    return compiled


def _link_program(objects: Sequence[Path], toolchain: Toolchain, destination: Path, link: Sequence[str]) -> None:
    # The language flag holds for what follows it: objects and libraries are told apart by their names again.
    support = ["-x", "c", str(_HOST_SUPPORT), "-x", "none"]
    command = [*host_linker(toolchain), "-o", str(destination), *map(str, objects), *support, *link]
    command += ["-lm", "-lpthread", "-ldl"]
    run_compiler(command, 600.0, None)
    if not destination.is_file():
        raise CompileFailed((), "the linker wrote no executable", tuple(command))


def host_linker(toolchain: Toolchain) -> tuple[str, ...]:
    """What links an executable against the C++ library whose headers the toolchain compiles with."""
    own_library = any("libcxx/include" in flag for flag in toolchain.host_flags)
    if not own_library:
        for name in ("g++", "c++", "clang++"):
            found = shutil.which(name)
            if found:
                return (found,)
    zig = package_directory("ziglang")
    if zig is not None:
        return (str(zig / "zig"), "c++")
    raise ToolchainNotFoundError(
        'no C++ linker found: install g++ or clang++, or pip install "kernel-pytorch[toolchain]" for the one in ziglang'
    )


def _with_lines(options: CompileOptions | None) -> CompileOptions:
    options = options or CompileOptions()
    return options if options.debug else replace(options, extra=(*options.extra, *_LINES))
