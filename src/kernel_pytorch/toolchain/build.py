"""Builds files for several targets at once: HIP sources, Triton kernels, and code objects that are there already."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import UnknownTargetError, target, targets
from kernel_pytorch.core.read_file import LARGE, open_plain, read_bytes
from kernel_pytorch.core.whole_file import write_whole
from kernel_pytorch.toolchain.code_object import CodeObject, CodeObjectError, code_object_images, read_code_object
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host, compile_device
from kernel_pytorch.toolchain.diagnostics import CompilerMessage
from kernel_pytorch.toolchain.disassemble import DisassemblerNotFoundError, disassemble
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.triton_build import TritonRequest, build_triton

SOURCE_SUFFIXES = (".hip", ".cpp", ".cc", ".cxx", ".c++", ".c", ".h", ".hpp", ".hh", ".cuh")
HOST = "host"


def default_targets() -> tuple[str, ...]:
    """Built for where nobody names a target: one of each architecture from CDNA2 and RDNA2 on."""
    return tuple(row.name for row in targets("amd") if row.default_build)


@dataclass(frozen=True)
class Source:
    """One HIP source and how to compile it."""

    path: Path
    options: CompileOptions
    check_host: bool = True


@dataclass(frozen=True)
class BuildOutcome:
    """The outcome of one file for one target (or for the host pass, whose `arch` is "host").

    `messages` is empty exactly where it succeeded; `code_object` is None where it failed, and for the host pass.
    """

    file: str
    name: str  # stem of the files to write
    arch: str
    kind: str  # "hip", "triton" or "code-object"
    payload: bytes = b""
    code_object: CodeObject | None = None
    messages: tuple[CompilerMessage, ...] = ()
    assembly: str | None = None
    disassembly: str | None = None
    note: str | None = None
    dynamic_lds_bytes: int = 0
    workgroup_size: int | None = None

    @property
    def ok(self) -> bool:
        return not self.messages


@dataclass(frozen=True)
class Wanted:
    """Which texts to make beside the code objects."""

    assembly: bool = False
    disassembly: bool = False


def build_sources(
    sources: Sequence[Source],
    architectures: Sequence[str],
    toolchain: Toolchain,
    wanted: Wanted = Wanted(),
    jobs: int | None = None,
    done: Callable[[BuildOutcome], None] | None = None,
) -> list[BuildOutcome]:
    """Compile every source for every target, and check its host side once; `jobs` at a time.

    `done` is called after each in the calling thread. The order of the result does not depend on timing.
    """
    tasks: list[tuple[Source, str]] = []
    for source in sources:
        tasks += [(source, arch) for arch in architectures]
        tasks += [(source, HOST)] if source.check_host else []
    results: dict[int, BuildOutcome] = {}
    with ThreadPoolExecutor(max_workers=jobs or os.cpu_count() or 1) as pool:
        futures: dict[Future[BuildOutcome], int] = {}
        for index, (source, arch) in enumerate(tasks):
            futures[pool.submit(_build_one, source, arch, architectures[0], toolchain, wanted)] = index
        try:
            for future in as_completed(futures):
                results[futures[future]] = future.result()
                if done is not None:
                    done(results[futures[future]])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [results[index] for index in range(len(tasks))]


def _build_one(source: Source, arch: str, first_arch: str, toolchain: Toolchain, wanted: Wanted) -> BuildOutcome:
    shell = BuildOutcome(str(source.path), source.path.stem, arch, "hip")
    try:
        if arch == HOST:
            check_host(source.path, toolchain, source.options, first_arch)
            return shell
        payload = compile_device(source.path, arch, toolchain, source.options)
        assembly = None
        if wanted.assembly:
            assembly = compile_device(source.path, arch, toolchain, source.options, "assembly").decode(
                "utf-8", "replace"
            )
        built = replace(shell, payload=payload, code_object=read_code_object(payload), assembly=assembly)
        if not wanted.disassembly:
            return built
        try:
            return replace(built, disassembly=disassemble(payload))
        except DisassemblerNotFoundError:
            # The compiler's own listing shows the same instructions, without addresses and encodings.
            text = assembly or compile_device(source.path, arch, toolchain, source.options, "assembly").decode(
                "utf-8", "replace"
            )
            note = f"no llvm-objdump knows {arch}: the disassembly of {source.path} is the compiler's assembly listing"
            return replace(built, disassembly=text, note=note)
    except CompileFailed as failure:
        messages = failure.messages or (CompilerMessage(None, 0, 0, "error", str(failure)),)
        return replace(shell, messages=messages)


def build_triton_kernel(
    request: TritonRequest,
    architectures: Sequence[str],
    wanted: Wanted = Wanted(),
) -> list[BuildOutcome]:
    """Compile a Triton kernel for every target."""
    found = []
    for built in build_triton(request, architectures):
        label = f"{request.file}::{request.kernel}"
        one = BuildOutcome(label, request.kernel, built.arch, "triton")
        if built.error is not None:
            found.append(replace(one, messages=(built.error,)))
            continue
        one = replace(
            one,
            payload=built.code_object,
            code_object=read_code_object(built.code_object),
            assembly=built.assembly if wanted.assembly else None,
            dynamic_lds_bytes=built.shared_bytes,
            workgroup_size=built.num_warps * target(built.arch).wave_size,
        )
        if wanted.disassembly:
            try:
                one = replace(one, disassembly=disassemble(built.code_object))
            except DisassemblerNotFoundError:
                note = f"no llvm-objdump knows {built.arch}: the disassembly of {label} is Triton's assembly listing"
                one = replace(one, disassembly=built.assembly, note=note)
        found.append(one)
    return found


def read_built(path: Path, wanted: Wanted = Wanted()) -> list[BuildOutcome]:
    """The code objects a .hsaco, bundle, host object or executable holds. Raises UsageError."""
    if wanted.assembly:
        raise UsageError(f"{path}: --asm is for sources; use --disassemble for a file that is compiled already")
    try:
        images = code_object_images(read_bytes(path, limit=LARGE))
        objects = [(image.content, read_code_object(image.content)) for image in images]
    except CodeObjectError as error:
        raise UsageError(f"{path}: {error}") from error
    found = []
    for content, code_object in objects:
        text = disassemble(content) if wanted.disassembly else None
        found.append(
            BuildOutcome(
                str(path),
                path.stem,
                code_object.target_id,
                "code-object",
                payload=content,
                code_object=code_object,
                disassembly=text,
            )
        )
    return found


def is_compiled(path: Path) -> bool:
    """Whether a file holds machine code rather than source, judged by its first bytes."""
    with open_plain(path) as stream:
        start = stream.read(24)
    magics = (b"\x7fELF", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x10\xff\x10\xad", b"!<arch>")
    return start.startswith(magics)


def output_name(built: BuildOutcome, suffix: str) -> str:
    """`NAME.ARCH.hsaco`; the features of a target are part of it: `NAME.gfx90a_xnack+.hsaco`."""
    return f"{built.name}.{built.arch.replace(':', '_')}.{suffix}"


def write_outputs(results: Sequence[BuildOutcome], directory: Path) -> dict[str, str]:
    """Write code objects and listings, each whole or not at all; returns the path of each code object by key."""
    contents: dict[str, bytes] = {}
    owners: dict[str, str] = {}
    for built in results:
        if built.code_object is None:
            continue
        texts = (("s", built.assembly), ("dis", built.disassembly))
        pieces = [("hsaco", built.payload)] + [(suffix, text.encode()) for suffix, text in texts if text is not None]
        for suffix, content in pieces:
            name = output_name(built, suffix)
            if owners.setdefault(name, built.file) != built.file or (name in contents and contents[name] != content):
                raise UsageError(
                    f"{owners[name]} and {built.file} would both be written to {directory / name}: build them into "
                    "different directories"
                )
            contents[name] = content
    try:
        if contents:
            directory.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_whole(directory / name, content)
    except OSError as error:
        raise UsageError(f"{directory}: cannot be written ({error.strerror})") from error
    return {key(b): str(directory / output_name(b, "hsaco")) for b in results if b.code_object is not None}


def key(built: BuildOutcome) -> str:
    """What tells results apart."""
    return f"{built.file}\0{built.arch}"


def known_target(name: str) -> bool:
    """Whether the hardware table has the target, so that occupancy can be worked out."""
    try:
        return target(name).vendor == "amd"
    except UnknownTargetError:
        return False
