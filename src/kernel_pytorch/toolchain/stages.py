"""The stages of a build between HIP source and a program. Each is one step of a compiler or a linker:

    HIP source    -- compile_device --> assembly, LLVM IR, object or preprocessed text
    assembly      -- assemble_device --> code object
    LLVM IR       -- to_bitcode --> bitcode -- link_bitcode --> assembly of a whole program (-fgpu-rdc)
    objects       -- link_device --> code object
    code objects  -- bundle --> fat binary
    HIP source    -- compile_host (with the fat binary) --> host object
    host objects  -- link_program --> executable

The stages that read HIP source are in `compile`, `link_device` in `other_passes`; `program` puts all of them together.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kernel_pytorch.core.optional_packages import pip_install
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, run_compiler
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError
from kernel_pytorch.toolchain.offload_bundle import BUNDLE_MAGIC
from kernel_pytorch.toolchain.other_passes import link_device
from kernel_pytorch.toolchain.roots import OWN_INCLUDE, package_directory

_BUNDLE_ALIGNMENT = 4096
_HOST_SUPPORT = OWN_INCLUDE / "host_support.c"


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


def to_bitcode(llvm_ir: bytes, toolchain: Toolchain, timeout_s: float = 600.0) -> bytes:
    """LLVM IR text as bitcode: the form that is linked. Raises CompileFailed."""
    with tempfile.TemporaryDirectory(prefix="kpt-bitcode-") as scratch:
        text, made = Path(scratch) / "unit.ll", Path(scratch) / "unit.bc"
        text.write_bytes(llvm_ir)
        command = [*toolchain.compiler, "--target=amdgcn-amd-amdhsa", "-nogpulib", "-x", "ir", "-emit-llvm", "-w"]
        run_compiler([*command, "-c", "-o", str(made), str(text)], timeout_s, None)
        return made.read_bytes()


def link_bitcode(units: Sequence[bytes], target: str, toolchain: Toolchain, options: CompileOptions) -> str:
    """The bitcode of all units, optimised and lowered as one, as assembly text. Raises CompileFailed."""
    if toolchain.linker is None:
        raise ToolchainNotFoundError(
            f"{toolchain.compiler[0]} has no ld.lld beside it: install lld, or PyPI's ziglang, to link device code"
        )
    with tempfile.TemporaryDirectory(prefix="kpt-relocatable-") as scratch:
        paths = [Path(scratch) / f"{number}.bc" for number in range(len(units))]
        for path, content in zip(paths, units, strict=True):
            path.write_bytes(content)
        level = options.optimization[2:] if options.optimization[2:].isdigit() else "3"
        command = [*toolchain.linker, "-shared", "--no-undefined", f"-plugin-opt=mcpu={target}", f"--lto-O{level}"]
        command += ["--lto-emit-asm", "-o", str(Path(scratch) / "linked"), *map(str, paths)]
        printed = run_compiler(command, options.timeout_s, Path(scratch))
        written = sorted(Path(scratch).glob("linked*"))
        if len(written) != 1:
            raise CompileFailed((), printed or "the linker wrote no assembly", tuple(command))
        return written[0].read_text(errors="replace")


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


def link_program(objects: Sequence[Path], toolchain: Toolchain, destination: Path, link: Sequence[str]) -> None:
    """An executable of host objects; `link` are further words for the linker. Raises CompileFailed."""
    # The language flag holds for what follows it: objects and libraries are known by their names again.
    support = ["-O2", "-x", "c", str(_HOST_SUPPORT), "-x", "none"]
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
        f"no C++ linker found: install g++ or clang++, or {pip_install('toolchain')} for the one in ziglang"
    )
