"""A recorded compiler command in the terms of our toolchain: the same source, flags and folders, built for a target."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath

from kernel_pytorch.port.builds.recorded_unit import RecordedUnit, plain_unit
from kernel_pytorch.port.builds.torch_extension import TorchExtension
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.torch_headers import InstalledTorch, installed_torch, rocm_headers
from kernel_pytorch.verify.install.record import InstallTrial

_LEVEL = re.compile(r"-O[0-3sgz]|-Ofast")
# Words with a value of their own; the rest of a command's words stand alone.
_WITH_VALUE = frozenset({"-c", "-o", "-I", "-isystem", "-include", "-D", "-U", "-MF", "-MT", "-MQ", "-x"})
_DROPPED = re.compile(r"--offload-arch=|--amdgpu-target=|-fPIC$|-M[MD]?$|-MMD$")
_REFUSED = re.compile(
    r"(?:unknown argument|unsupported option|unknown command line option|unrecognized option|invalid value)[^'\"]*"
    r"['\"]([^'\"]+)['\"]"
)


@dataclass(frozen=True)
class UnitFlags:
    """What a command says besides its compiler and its output. `plain` goes to our compiler as it is."""

    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    std: str = ""
    optimization: str = ""

    def options(self, is_gpu: bool) -> CompileOptions:
        """As our compiler takes them. A source of the host's compiler is C++ without HIP's language."""
        # The last -x wins.
        extra = self.plain if is_gpu else (*self.plain, "-x", "c++")
        options = CompileOptions(defines=self.defines, include_dirs=self.include_dirs, extra=extra)
        options = replace(options, std=self.std) if self.std else options
        return replace(options, optimization=self.optimization) if self.optimization else options


def read_flags(words: Sequence[str], folder: Callable[[str], tuple[Path, ...]]) -> UnitFlags:
    """The flags of a compiler command. `folder` says where an include folder's files really are."""
    include_dirs: list[Path] = []
    defines: list[str] = []
    plain: list[str] = []
    std = optimization = ""
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        value = rest.pop(0) if word in _WITH_VALUE and rest else ""
        if word in ("-I", "-isystem"):
            include_dirs += folder(value)
        elif word.startswith("-I"):
            include_dirs += folder(word[2:])
        elif word == "-D" or word.startswith("-D"):
            defines.append(value or word[2:])
        elif word.startswith("-std="):
            std = word.removeprefix("-std=")
        elif _LEVEL.fullmatch(word):
            optimization = word
        elif word in ("-U", "-include"):
            plain += [word, value]
        elif word not in _WITH_VALUE and not _DROPPED.match(word):
            plain.append(word)
    return UnitFlags(tuple(dict.fromkeys(include_dirs)), tuple(defines), tuple(plain), std, optimization)


def recorded_extension(trial: InstallTrial, root: Path, include_dirs: Sequence[Path] = ()) -> TorchExtension:
    """The sources of a trial as the project's own build compiles them, messages on the lines of `root`.

    `include_dirs` are searched after the build's own folders. Raises TorchHeadersError where torch's headers cannot be
    made.
    """
    torch = installed_torch()
    headers = rocm_headers(torch)
    folder = include_folder(trial.tree / PurePosixPath(trial.setup).parent, torch, headers, trial.tools)
    units = {
        trial.rocm.as_written(command.source): (
            read_flags(command.words, folder).options(command.is_gpu).with_folders(include_dirs)
        )
        for command in trial.rocm.compiles
    }
    renamed = {(trial.tree / old).resolve(): trial.tree / new for old, new in trial.rocm.renamed}
    return TorchExtension(trial.tree, root, torch, headers, (), renamed, units=units)


def plain_units(trial: InstallTrial) -> tuple[RecordedUnit, ...]:
    """The kernels that CMake compiles for ROCm outside torch's build, each with what its first target gives it."""
    if trial.rocm.failure is not None:
        return ()
    units: dict[str, RecordedUnit] = {}
    for command in trial.rocm.compiles:
        if command.is_gpu and not Path(command.source).is_absolute():
            flags = read_flags(command.words, lambda name: (Path(name),))
            included = [value for word, value in pairwise(flags.plain) if word == "-include"]
            unit = plain_unit(command.source, trial.tree, flags.defines, flags.include_dirs, included, flags.std)
            units.setdefault(command.source, unit)
    return tuple(units.values())


def include_folder(start: Path, torch: InstalledTorch, headers: Path, tools: Path) -> Callable[[str], tuple[Path, ...]]:
    """Torch's own folders become those of its ROCm headers; relative ones begin beside setup.py.

    Those of `tools`, which look like an installed ROCm, are left out: our toolchain brings ROCm's headers.
    """

    def folder(name: str) -> tuple[Path, ...]:
        path = start / name
        if path.is_relative_to(torch.include):
            path = headers / path.relative_to(torch.include)
        return (path,) if path.is_dir() and not path.is_relative_to(tools) else ()

    return folder


def refused_flags(flags: UnitFlags, toolchain: Toolchain, scratch: Path) -> tuple[str, ...]:
    """The words that the compiler refuses, asked with an empty source until it has nothing to object to."""
    empty = scratch / "empty.hip"
    empty.write_text("")
    refused: list[str] = []
    while True:
        plain = tuple(word for word in flags.plain if word not in refused)
        try:
            check_host(empty, toolchain, replace(flags, include_dirs=(), plain=plain).options(is_gpu=True))
        except CompileFailed as failure:
            named = [word for word in _REFUSED.findall(failure.stderr) if word in plain]
            if not named:
                return tuple(refused)
            refused += dict.fromkeys(named)
            continue
        return tuple(refused)
