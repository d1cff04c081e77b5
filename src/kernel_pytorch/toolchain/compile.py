"""Compiles HIP source for AMD targets, and checks a translation unit for host and device.

Every failure is a CompileFailed with the compiler's own words. What comes back are bytes that a compiler wrote.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import UnknownTargetError, target
from kernel_pytorch.core.process import run_child
from kernel_pytorch.toolchain.compiler_flags import common_flags, library_flags
from kernel_pytorch.toolchain.diagnostics import CompilerMessage, errors, parse_messages, undefined_symbols
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError
from kernel_pytorch.toolchain.oclc import control_constants, wave_size
from kernel_pytorch.toolchain.precompiled import LeadingHeaders, read_back, without_project
from kernel_pytorch.toolchain.read_files import LIST_FILES, first_outside, without_list
from kernel_pytorch.toolchain.roots import FALLBACK_INCLUDE, OWN_INCLUDE

OUTPUTS = ("code-object", "object", "assembly", "llvm-ir", "preprocessed")
_SHOWN_ERRORS = 20
# Enough for a round of repairs. One wrong flag makes 20,000 errors in torch's headers.
_ALL_ERRORS = ("-ferror-limit=100", "-fdiagnostics-parseable-fixits")


@dataclass(frozen=True)
class CompileOptions:
    """How to compile. `defines` are NAME or NAME=VALUE; `extra` goes to the compiler as it is.

    `bounds`: the folders that files may come from, besides the toolchain's own; none: from anywhere. A build of a
    stranger's source that reads another file fails, and nothing of that file is shown.

    `leading`: the headers the source begins with, which are then kept precompiled.
    `files_read`: where the compiler writes down which files it read, but for those of the system.
    `all_errors`: more errors than the compiler shows a person, with the edits that it proposes.
    """

    optimization: str = "-O3"
    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    extra: tuple[str, ...] = ()
    std: str = "c++17"
    debug: bool = False
    timeout_s: float = 600.0
    bounds: tuple[Path, ...] = ()
    leading: LeadingHeaders | None = None
    files_read: Path | None = None
    all_errors: bool = False

    def with_folders(self, folders: Sequence[Path]) -> CompileOptions:
        """The same with more include folders, searched last; files may come from there too."""
        bounds = (*self.bounds, *folders) if self.bounds else ()
        return replace(self, include_dirs=(*self.include_dirs, *folders), bounds=bounds)

    @property
    def is_relocatable(self) -> bool:
        """Whether device code is linked across translation units: a unit may use what another one defines."""
        flags = [flag for flag in self.extra if flag in ("-fgpu-rdc", "-fno-gpu-rdc")]
        return flags[-1:] == ["-fgpu-rdc"]


class CompileFailed(Exception):
    """The compiler or the linker refused. `messages` are parsed, `stderr` is everything they said."""

    def __init__(self, messages: tuple[CompilerMessage, ...], stderr: str, command: tuple[str, ...]) -> None:
        shown = errors(messages) or messages
        text = "\n".join(str(message) for message in shown[:_SHOWN_ERRORS])
        if len(shown) > _SHOWN_ERRORS:
            text += f"\n... and {len(shown) - _SHOWN_ERRORS} more errors"
        super().__init__(text or stderr.strip() or "the compiler failed without a message")
        self.messages = messages
        self.stderr = stderr
        self.command = command

    def __reduce__(self) -> tuple[type[CompileFailed], tuple[object, ...]]:
        return (CompileFailed, (self.messages, self.stderr, self.command))


class CompilerStopped(CompileFailed):
    """The compiler did not finish in time."""


def compile_device(
    source: Path,
    target_name: str,
    toolchain: Toolchain,
    options: CompileOptions | None = None,
    output: str = "code-object",
) -> bytes:
    """The device side of a HIP source for one target.

    `output` is "code-object" (a linked .hsaco), "object" (not yet linked: for -fgpu-rdc), "assembly", "llvm-ir" or
    "preprocessed". A code object of one unit with -fgpu-rdc may lack what the program's other units define. The same
    input gives the same bytes. Raises CompileFailed, or UsageError for bad arguments.
    """
    options = options or CompileOptions()
    if not source.is_file():
        raise UsageError(f"{source}: no such file")
    with tempfile.TemporaryDirectory(prefix="kpt-build-") as scratch:
        payload = source.read_bytes()
        return _compile(_argument(source), payload, target_name, toolchain, options, output, Path(scratch), None)


def compile_device_text(
    text: str,
    target_name: str,
    toolchain: Toolchain,
    options: CompileOptions | None = None,
    output: str = "code-object",
    name: str = "kernel.hip",
) -> bytes:
    """Like `compile_device`, for source in memory. Messages call it `name`; no temporary path gets into the output."""
    options = options or CompileOptions()
    if not name or Path(name).name != name or name.startswith(("-", "@")):
        raise UsageError(f"{name!r} is not a plain file name")
    payload = text.encode("utf-8", errors="surrogateescape")
    with tempfile.TemporaryDirectory(prefix="kpt-build-") as scratch:
        # The compiler runs in that directory, so includes are made absolute to keep meaning what the caller meant.
        (Path(scratch) / name).write_bytes(payload)
        absolute = replace(options, include_dirs=tuple(path.absolute() for path in options.include_dirs))
        return _compile(name, payload, target_name, toolchain, absolute, output, Path(scratch), Path(scratch))


def check_host(
    source: Path, toolchain: Toolchain, options: CompileOptions | None = None, target_name: str = "gfx942"
) -> None:
    """Checks the host side of a HIP source: parsing and types, no code. Raises CompileFailed."""
    options = options or CompileOptions()
    check_syntax(source, [*common_flags(toolchain, options, target_name), "--cuda-host-only"], toolchain, options)


def check_syntax(source: Path, command: list[str], toolchain: Toolchain, options: CompileOptions) -> None:
    """Runs a compiler call that parses and checks, and makes no code. Raises CompileFailed."""
    if not source.is_file():
        raise UsageError(f"{source}: no such file")
    command += [*_leading(command, toolchain, options), "-fsyntax-only", *_ALL_ERRORS, _argument(source)]
    run_compiler(command, options.timeout_s, None, header_directories(toolchain), _bounds(options, toolchain))


def _leading(command: list[str], toolchain: Toolchain, options: CompileOptions) -> list[str]:
    """The flags that read the leading headers back; none where they cannot be precompiled."""
    if options.leading is None:
        return []

    def make(making: list[str]) -> bool:
        with contextlib.suppress(CompileFailed):  # the source's own messages say why
            run_compiler(making, options.timeout_s, None, (), _bounds(options, toolchain))
            return True
        return False

    for_headers = [word for word in command if word not in options.leading.of_no_account]
    made = options.leading.store.file(without_project(for_headers, options.leading.own), options.leading.names, make)
    return read_back(made) if made is not None else []


def _listing(options: CompileOptions) -> list[str]:
    """clang's own words for -MMD -MF, which its driver drops in a device pass."""
    if options.files_read is None:
        return []
    return [word for one in ("-dependency-file", str(options.files_read), "-MT", "made") for word in ("-Xclang", one)]


def compile_host(
    source: Path,
    toolchain: Toolchain,
    options: CompileOptions | None = None,
    target_name: str = "gfx942",
    fat_binary: Path | None = None,
) -> bytes:
    """The host side of a HIP source as a relocatable object of this machine.

    Position independent. Kernel launches call the HIP runtime, which whoever links the object must bring; the device
    code is in the object where `fat_binary` (an offload bundle) is given.
    """
    options = options or CompileOptions()
    if not source.is_file():
        raise UsageError(f"{source}: no such file")
    with tempfile.TemporaryDirectory(prefix="kpt-host-") as scratch:
        destination = Path(scratch) / "host.o"
        command = [*common_flags(toolchain, options, target_name), "--cuda-host-only", options.optimization, "-fPIC"]
        command += [*_leading(command, toolchain, options), *_listing(options)]
        if fat_binary is not None:
            # The same id as in the device pass: a static variable is registered under a name made with it.
            command += [
                "-Xclang",
                "-fcuda-include-gpubinary",
                "-Xclang",
                str(fat_binary),
                unit_id(source.read_bytes()),
            ]
        command += ["-c", "-o", str(destination), _argument(source)]
        headers = header_directories(toolchain)
        printed = run_compiler(command, options.timeout_s, None, headers, _bounds(options, toolchain))
        if not destination.is_file():
            raise CompileFailed(parse_messages(printed), printed or "the compiler wrote no output", tuple(command))
        return destination.read_bytes()


def check_unit(source: Path, target_name: str, toolchain: Toolchain, options: CompileOptions | None = None) -> bytes:
    """Both passes of a translation unit: builds the device side, checks the host side. Returns the code object."""
    built = compile_device(source, target_name, toolchain, options)
    check_host(source, toolchain, options, target_name)
    return built


def device_command(
    source: str,
    target_name: str,
    toolchain: Toolchain,
    options: CompileOptions,
    output: str,
    destination: Path,
    constants: Path | None,
) -> list[str]:
    """The compiler call for one device pass. `constants` is the file of `__oclc_*` values where ours are needed."""
    command = [*common_flags(toolchain, options, target_name), "--cuda-device-only", options.optimization]
    command += [*library_flags(toolchain), *_leading(command + library_flags(toolchain), toolchain, options)]
    command += _listing(options)
    command += {
        # The driver's own -c would call a linker of its choice and bundle the result.
        "code-object": ["-S", "-Xclang", "-emit-obj"],
        "object": ["-S", "-Xclang", "-emit-obj"],
        "assembly": ["-S"],
        "llvm-ir": ["-S", "-emit-llvm"],
        "preprocessed": ["-E"],
    }[output]
    if constants is not None:
        for library in (*toolchain.device_libs, constants):
            command += ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(library)]
    command += _ALL_ERRORS if options.all_errors else ()
    if options.debug:
        command += ["-g", "-fdebug-compilation-dir=."]
    return [*command, "-o", str(destination), source]


def _compile(
    source: str,
    payload: bytes,
    target_name: str,
    toolchain: Toolchain,
    options: CompileOptions,
    output: str,
    scratch: Path,
    directory: Path | None,
) -> bytes:
    _check_arguments(target_name, options, output)
    constants = None
    if toolchain.device_libs:
        constants = scratch / "oclc.bc"
        text = control_constants(target_name, (options.optimization, *options.extra))
        constants.write_bytes(_assembled(text, toolchain.compiler))
    destination = scratch / "device.out"
    command = device_command(source, target_name, toolchain, options, output, destination, constants)
    # Without this clang makes the name of a symbol in the code object out of the path of the source.
    command.append(unit_id(payload))
    headers = header_directories(toolchain)
    printed = run_compiler(command, options.timeout_s, directory, headers, _bounds(options, toolchain))
    if not destination.is_file():
        raise CompileFailed(parse_messages(printed), printed or "the compiler wrote no output", tuple(command))
    if output != "code-object":
        return destination.read_bytes()
    is_whole = not options.is_relocatable
    return link_objects([destination], toolchain, scratch / "device.hsaco", options.timeout_s, is_whole)


@functools.cache
def _assembled(text: str, compiler: tuple[str, ...]) -> bytes:
    """LLVM IR as bitcode: device libraries are linked in that form only."""
    with tempfile.TemporaryDirectory(prefix="kpt-oclc-") as scratch:
        (Path(scratch) / "oclc.ll").write_text(text)
        # The name in the bitcode is the relative one given here, so that the result does not depend on the directory.
        command = [*compiler, "--target=amdgcn-amd-amdhsa", "-nogpulib", "-x", "ir", "-emit-llvm", "-c", "oclc.ll"]
        run_compiler([*command, "-o", "oclc.bc"], 60.0, Path(scratch))
        return (Path(scratch) / "oclc.bc").read_bytes()


def _check_arguments(target_name: str, options: CompileOptions, output: str) -> None:
    if output not in OUTPUTS:
        raise UsageError(f"{output!r} is not an output: expected one of {', '.join(OUTPUTS)}")
    if target(target_name).vendor != "amd":
        raise UnknownTargetError(f"{target_name} is not an AMD target: expected a gfx name such as gfx942")
    if options.optimization not in ("-O0", "-O1", "-O2", "-O3", "-Os", "-Oz", "-Og", "-Ofast"):
        raise UsageError(f"optimization {options.optimization!r} is not known: expected -O0 to -O3, -Os, -Oz or -Ofast")
    if wave_size(target_name, options.extra) == 32 and target(target_name).wave_size == 64:
        raise UsageError(f"{target_name} has 64-lane waves only: -mno-wavefrontsize64 cannot be used")


def unit_id(payload: bytes) -> str:
    """The flag that names a translation unit after its text; both passes need the same."""
    return f"-cuid={hashlib.sha256(payload).hexdigest()[:16]}"


def link_objects(
    objects: Sequence[Path], toolchain: Toolchain, destination: Path, timeout_s: float, is_whole: bool = True
) -> bytes:
    """Link device objects, in the folder of the result. Only a whole program must define all that it uses."""
    if toolchain.linker is None:
        raise ToolchainNotFoundError(
            f"{toolchain.compiler[0]} has no ld.lld beside it: install lld, or PyPI's ziglang, to link code objects"
        )
    undefined = "--no-undefined" if is_whole else "--noinhibit-exec"
    command = [*toolchain.linker, "-shared", undefined, "-o", str(destination), *map(str, objects)]
    try:
        printed = run_compiler(command, timeout_s, destination.parent)
    except CompileFailed as failure:
        missing = undefined_symbols(failure.stderr)
        if not missing:
            raise
        text = (
            f"undefined in device code: {', '.join(missing)}. Each is called by a kernel but defined nowhere: link the "
            "file that defines it (-fgpu-rdc), or call a function that exists on the device"
        )
        raise CompileFailed((CompilerMessage(None, 0, 0, "error", text),), failure.stderr, failure.command) from None
    if not destination.is_file():
        raise CompileFailed(parse_messages(printed), printed or "the linker wrote no output", tuple(command))
    return destination.read_bytes()


def _argument(source: Path) -> str:
    # A name that starts like an option or a response file would be read as one.
    text = os.fspath(source)
    return os.path.join(".", text) if text.startswith(("-", "@")) else text  # noqa: PTH118 (Path drops "./")


def header_directories(toolchain: Toolchain) -> tuple[str, ...]:
    """Directories whose files are not the user's: an error there is reported at the place that led to it."""
    own = [str(OWN_INCLUDE), "/usr/include", "/usr/lib", *map(str, toolchain.include_dirs)]
    if toolchain.rocm_path is not None:
        own.append(str(toolchain.rocm_path))
    compiler = Path(toolchain.compiler[0]).parent
    return (*own, str(compiler / "lib"), str(compiler.parent / "lib"))


def _bounds(options: CompileOptions, toolchain: Toolchain) -> tuple[Path, ...]:
    """All folders that files may come from; none where that is not asked for."""
    if not options.bounds:
        return ()
    own = [*header_directories(toolchain), *(word for word in toolchain.host_flags if word.startswith("/"))]
    compiler = Path(toolchain.compiler[0]).resolve().parent.parent
    return (*options.bounds, *map(Path, own), FALLBACK_INCLUDE, compiler)


def run_compiler(
    command: list[str],
    timeout_s: float,
    directory: Path | None,
    headers: Sequence[str] = (),
    bounds: Sequence[Path] = (),
) -> str:
    """Run a compiler or linker and return what it said. Raises CompileFailed with its own words.

    With `bounds` it may read files in these folders only: see CompileOptions.
    """
    command = [*command, LIST_FILES] if bounds else command
    try:
        done = run_child(
            command, cwd=directory, env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.DEVNULL, timeout_s=timeout_s
        )
    except (OSError, ValueError) as problem:
        text = f"could not start {command[0]}: {problem}"
        raise CompileFailed((CompilerMessage(None, 0, 0, "error", text),), text, tuple(command)) from problem
    except subprocess.TimeoutExpired:
        text = f"the compiler did not finish within {timeout_s:g} s and was stopped"
        raise CompilerStopped((CompilerMessage(None, 0, 0, "error", text),), text, tuple(command)) from None
    printed = done.stderr
    outside = first_outside(printed, directory, bounds) if bounds else None
    if outside is not None:
        text = f"{outside} is read, which lies outside the project: nothing of this build is shown"
        raise CompileFailed((CompilerMessage(None, 0, 0, "error", text),), f"error: {text}", tuple(command))
    printed = without_list(printed) if bounds else printed
    if done.returncode != 0:
        messages = parse_messages(printed, headers)
        if not errors(messages):
            how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
            messages = (*messages, CompilerMessage(None, 0, 0, "error", f"{Path(command[0]).name} stopped with {how}"))
        raise CompileFailed(messages, printed, tuple(command))
    return printed
