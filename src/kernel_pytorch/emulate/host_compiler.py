"""The C compiler of this machine: a system clang or gcc, else the one inside PyPI's ziglang."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.children import check_not_stopped
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.optional_packages import pip_install
from kernel_pytorch.core.process import ChildProcess, end_child, run_child, start_child
from kernel_pytorch.toolchain.roots import package_directory

_TIMEOUT_S = 900.0
_OLDEST_GCC = 10
_OLDEST_CLANG = 14


class HostCompilerNotFoundError(UsageError):
    """There is no C compiler here."""


class HostCompileFailed(RuntimeError):
    """The host compiler refused C that we wrote: a fault of ours, with its words."""


@dataclass(frozen=True)
class HostCompiler:
    """A C compiler and how it is called."""

    command: tuple[str, ...]
    kind: str  # "gcc", "clang", "zig"
    version: str

    def flags(self, optimization: str) -> tuple[str, ...]:
        """Flags for translated code: vectorised, every rounding where the machine code has one."""
        common = (
            "-std=gnu11", *optimization.split(), "-march=native", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off",
            "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing",
            "-fwrapv", "-fno-semantic-interposition", "-w",
        )  # fmt: skip
        if self.kind == "gcc":
            return (
                *common,
                "-ftree-vectorize",
                "-fvect-cost-model=dynamic",
                "-mprefer-vector-width=512",
                "-fopenmp-simd",
            )
        return (*common, "-mprefer-vector-width=512", "-fno-sanitize=all")


@functools.cache
def find_host_compiler(prefer: str | None = None) -> HostCompiler:
    """The first usable C compiler. `prefer` (or KPT_HOST_CC) is a command to use instead of searching."""
    wanted = prefer or os.environ.get("KPT_HOST_CC")
    looked: list[str] = []
    for command in [tuple(wanted.split())] if wanted else _candidates():
        found = _identify(command)
        if found is not None:
            return found
        looked.append(" ".join(command))
    raise HostCompilerNotFoundError(
        f"no C compiler that can build translated kernels (looked at {', '.join(looked) or 'PATH'}). "
        f"Install gcc or clang, or: {pip_install('toolchain')}"
    )


@functools.cache
def host_identity() -> str:
    """A short hash of this machine's kind of CPU: modules use all it has, so another kind cannot run them."""
    described = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        lines = cpuinfo.read_text(errors="replace").split("\n")
        described += next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return hashlib.sha256(described.encode()).hexdigest()[:8]


def _candidates() -> Iterator[tuple[str, ...]]:
    for name in ("cc", "gcc", "clang"):
        path = shutil.which(name)
        if path:
            yield (path,)
    directory = package_directory("ziglang")
    if directory is not None and (directory / "zig").is_file():
        yield (str(directory / "zig"), "cc")


def _identify(command: tuple[str, ...]) -> HostCompiler | None:
    try:
        done = run_child([*command, "--version"], timeout_s=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode != 0:
        return None
    output = done.stdout
    match = re.search(r"clang version (\d+)\.", output)
    if match:
        kind = "zig" if command[-1] == "cc" and Path(command[0]).name.startswith("zig") else "clang"
        return HostCompiler(command, kind, f"clang {match[1]}") if int(match[1]) >= _OLDEST_CLANG else None
    match = re.search(r"(\d+)\.\d+\.\d+", output)
    if match and ("gcc" in output.lower() or "free software foundation" in output.lower()):
        return HostCompiler(command, "gcc", f"gcc {match[1]}") if int(match[1]) >= _OLDEST_GCC else None
    return None


def build_shared_library(
    compiler: HostCompiler,
    sources: Sequence[tuple[Path, str]],
    include: Path,
    destination: Path,
    defines: Sequence[str] = (),
    jobs: int = 2,
) -> None:
    """Compile C files (each with its optimisation level) into one shared library, `jobs` at a time."""
    objects = [source.with_suffix(".o") for source, _ in sources]
    waiting = [
        [*compiler.command, *compiler.flags(level), *(f"-D{d}" for d in defines), "-I", str(include), "-c", str(source),
         "-o", str(target)]
        for (source, level), target in zip(sources, objects, strict=True)
    ]  # fmt: skip
    running: list[tuple[ChildProcess, list[str]]] = []
    try:
        while waiting or running:
            while waiting and len(running) < max(1, jobs):
                command = waiting.pop(0)
                running.append((_start(command), command))
            process, command = running.pop(0)
            _finish(process, command)
    finally:
        for process, _ in running:
            end_child(process)
    link = [*compiler.command, "-shared", "-o", str(destination), *map(str, objects), "-lm"]
    _finish(_start(link), link)


def _start(command: list[str]) -> ChildProcess:
    return start_child(command, stdout=subprocess.DEVNULL, text=True)


def _finish(process: ChildProcess, command: list[str]) -> None:
    try:
        output = process.communicate(timeout=_TIMEOUT_S)[1]
    except BaseException as problem:
        end_child(process)
        if isinstance(problem, subprocess.TimeoutExpired):
            raise HostCompileFailed(f"{command[0]} did not finish within {_TIMEOUT_S:g} s") from None
        raise
    check_not_stopped()
    if process.returncode != 0:
        raise HostCompileFailed(f"{' '.join(command[:2])} failed on translated code:\n{output[:4000]}")
