"""Builds a torch extension's sources as torch's own ROCm build would, and says what is wrong on the user's lines.

Translated sources still have CUDA's names in this layout: torch.utils.hipify renames them, into files of other names,
and torch's headers are those of a ROCm build (toolchain.torch_headers).
"""

from __future__ import annotations

import math
import os
import re
import shutil
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from kernel_pytorch.core.findings import Status
from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.read_file import read_bytes, read_if_there
from kernel_pytorch.port.build_files.setup_macros import declared_macros, undefined_macros
from kernel_pytorch.port.builds.hipified_tree import column_before, line_map
from kernel_pytorch.port.builds.missing_header import missing_header, no_folder_has
from kernel_pytorch.port.builds.unit_memory import UnitMemory
from kernel_pytorch.port.cxx.includes import include_closure, includes_of, resolve_include
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.hipify.run import run_tasks
from kernel_pytorch.port.hipify.tree import tasks_of
from kernel_pytorch.port.python.setup_scripts import builds_extensions
from kernel_pytorch.toolchain.compile import (
    CompileFailed,
    CompileOptions,
    CompilerStopped,
    check_host,
    compile_device,
    header_directories,
)
from kernel_pytorch.toolchain.diagnostics import CompilerMessage, errors, parse_messages
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.host_cxx import host_cxx_takes
from kernel_pytorch.toolchain.leading_headers import leading_headers, shared_headers
from kernel_pytorch.toolchain.precompiled import LeadingHeaders, PrecompiledHeaders
from kernel_pytorch.toolchain.torch_headers import (
    InstalledTorch,
    TorchHeadersError,
    extension_options,
    hipify,
    installed_torch,
    rocm_headers,
)

HOST_SUFFIXES = (".cpp", ".cc", ".cxx")
_OF_TORCH = re.compile(r"(?:torch|ATen|c10)/")
_OF_PYBIND11 = re.compile(r"pybind11/")
_NOT_FOUND = re.compile(r"'([^']+)' file not found")
_OF_CUDA = re.compile(r"cuda|cublas|cusparse|cusolver|cufft|curand|c10/cuda/|ATen/cuda/")
_OF_ROCM_OR_PYTHON = re.compile(r"hip|roc|rccl|miopen|thrust|Python\.h")
_FROM = re.compile(r"from (.+?):(\d+)[,:]")
_SHOWN = 3


def reaches_torch(source: Path, root: Path, folders: Sequence[Path] = ()) -> bool:
    """Whether a source includes torch's headers, by itself or through headers of the project."""
    return _reaches(_OF_TORCH, source, root, folders)


def reaches_pybind11(source: Path, root: Path, folders: Sequence[Path] = ()) -> bool:
    """The same for pybind11, which torch brings along: a source with it need not be one of torch's."""
    return _reaches(_OF_PYBIND11, source, root, folders)


def _reaches(wanted: re.Pattern[str], source: Path, root: Path, folders: Sequence[Path]) -> bool:
    for path, data in include_closure(source, root, folders).items():
        for include in includes_of(data):
            if wanted.match(include.name) and resolve_include(include, path, [*folders, root]) is None:
                return True
    return False


def pybind11_folders() -> tuple[Path, ...]:
    """Where pybind11 and Python's own headers are; nothing without a torch."""
    try:
        return installed_torch().include, Path(sysconfig.get_paths()["include"])
    except TorchHeadersError:
        return ()


@dataclass(frozen=True)
class TorchExtension:
    """Sources in a folder of their own, renamed as torch's ROCm build renames them.

    `original` is the folder whose lines messages are about; paths are relative to it. `folders` are the -I folders,
    `macros` what setup.py defines, `undefined` what it takes back. `units` are the options of sources whose compiler
    command is known. `leading` are headers that are kept precompiled, `memory` what became of the sources before. A
    compiler is stopped after `time_left` seconds.
    """

    top: Path
    original: Path
    torch: InstalledTorch
    headers: Path
    folders: tuple[Path, ...]
    renamed: dict[Path, Path]
    macros: tuple[str, ...] = ()
    undefined: tuple[str, ...] = ()
    units: Mapping[str, CompileOptions] = field(default_factory=dict)
    leading: Mapping[str, LeadingHeaders] = field(default_factory=dict)
    memory: UnitMemory | None = None
    time_left: Callable[[], float] = lambda: math.inf

    def source(self, path: str) -> Path:
        """The file that torch's build compiles for a source."""
        file = self.top / path
        return self.renamed.get(file.resolve(), file)

    def build_device(self, path: str, target: str, toolchain: Toolchain) -> bytes:
        """The code object of a source. Raises CompileFailed: see `outcome`."""
        source, options = self.source(path), self.options(path)
        return self._pass(path, f"code for {target}", lambda: compile_device(source, target, toolchain, options))

    def check_host(self, path: str, toolchain: Toolchain, target: str = "gfx942") -> str:
        """The host pass of a source; a .cpp has no other. Raises CompileFailed: see `outcome`.

        Returns the compiler that took it. That is the machine's own for a .cpp that ours refuses.
        """
        source, options = self.source(path), self.options(path)
        try:
            self._pass(path, "host", lambda: check_host(source, toolchain, options, target))
        except CompileFailed as failure:
            wants_header = any(map(_NOT_FOUND.search, failure.stderr.splitlines()))
            if isinstance(failure, CompilerStopped) or wants_header or not path.endswith(HOST_SUFFIXES):
                raise
            taken_by = host_cxx_takes(source, toolchain, options)
            if not taken_by:
                raise
            return taken_by
        return toolchain.version

    def _pass(self, path: str, step: str, build: Callable[[], bytes | None]) -> bytes:
        if self.memory is None:
            return build() or b""
        made = self.memory.run(self.source(path), self.options(path), step, build)
        if isinstance(made, CompileFailed):
            raise made
        return made

    def options(self, path: str) -> CompileOptions:
        """What torch's build would pass for a source."""
        options = self._options(path)
        limit = min(options.timeout_s, max(self.time_left(), 1.0))
        return replace(options, leading=self.leading.get(path), all_errors=True, timeout_s=limit)

    def _options(self, path: str) -> CompileOptions:
        unit = self.units.get(path)
        if unit is not None and any(one.is_relative_to(self.headers) for one in unit.include_dirs):
            return unit
        kernels = not path.endswith(HOST_SUFFIXES)
        python = Path(sysconfig.get_paths()["include"])
        bounds = (self.top, self.original, self.headers, self.torch.folder, python, *self.folders)
        options = CompileOptions(include_dirs=self.folders, defines=self.macros, bounds=bounds)
        options = extension_options(options, self.torch, self.headers, kernels)
        options = replace(options, extra=(*options.extra, *(f"-U{name}" for name in self.undefined)))
        if unit is None:
            return options
        # CMake's, which names the project's own folders alone.
        options = replace(options.with_folders(unit.include_dirs), defines=(*options.defines, *unit.defines))
        return replace(options, extra=(*options.extra, *unit.extra))

    def made_fast(self, paths: Sequence[str], store: PrecompiledHeaders, toolchain: Toolchain) -> TorchExtension:
        """The same, with the headers that these sources begin with kept precompiled, and outcomes remembered."""
        leading = {path: self._leading_headers(path) for path in paths}
        shared = shared_headers({path: names for path, names in leading.items() if not path.endswith(HOST_SUFFIXES)})
        shared |= shared_headers({path: names for path, names in leading.items() if path.endswith(HOST_SUFFIXES)})
        settled = {self.headers.resolve(): self.torch.version}
        leads = {path: LeadingHeaders(names, store, (self.top, self.original)) for path, names in shared.items()}
        return replace(self, leading=leads, memory=UnitMemory(toolchain, self.top, settled=settled))

    def _leading_headers(self, path: str) -> tuple[str, ...]:
        own = [one for one in self._options(path).include_dirs if not one.is_relative_to(self.headers)]
        return leading_headers(self.source(path), own)

    def outcome(self, path: str, failure: CompileFailed, toolchain: Toolchain) -> tuple[Status, str]:
        """What a failure means: not run where a foreign header is missing, else the errors on the user's lines."""
        raw = errors(parse_messages(failure.stderr))
        missing = _NOT_FOUND.search(raw[0].text) if raw else None
        if missing is not None and _OF_CUDA.match(missing[1]):
            line = self.last_own_line(failure.stderr)
            if line is not None:
                reason = "which ROCm does not have: torch's renaming did not reach that file"
                return Status.FAIL, f"{line} leads to <{missing[1]}>, {reason}"
        if missing is not None and raw[0].path is not None and Path(raw[0].path).is_relative_to(self.headers):
            if _OF_ROCM_OR_PYTHON.match(missing[1]):
                cure = "install the headers of ROCm's libraries and of Python, or name a ROCm root with KPT_ROCM_ROOT"
                return Status.NOT_RUN, f"torch's headers include <{missing[1]}>, which is not here: {cure}"
            # pybind11, which is among torch's headers, has headers for other libraries.
            return Status.NOT_RUN, no_folder_has(missing[1], self.last_own_line(failure.stderr) or path, "leads to")
        if missing is not None:
            where = self.on_original(raw[0])
            meaning = missing_header(raw[0].text, f"{where.path}:{where.line}")
            if meaning is not None:
                return meaning
        placed = parse_messages(failure.stderr, (*header_directories(toolchain), str(self.headers)))
        found = errors(placed) or errors(failure.messages) or failure.messages
        more = f" (and {len(found) - _SHOWN} more)" if len(found) > _SHOWN else ""
        return Status.FAIL, "; ".join(str(self.on_original(one)) for one in found[:_SHOWN]) + more

    def last_own_line(self, stderr: str) -> str | None:
        """The last file and line of the project on the way to a header, as the compiler tells it."""
        for path, line in reversed(_FROM.findall(stderr.partition(" error: ")[0])):
            place = self.on_original(CompilerMessage(path, int(line), 0, "note", ""))
            if place.path is not None and not Path(place.path).is_absolute():
                return f"{place.path}:{place.line}"
        return None

    def on_original(self, message: CompilerMessage) -> CompilerMessage:
        """A compiler's message on the user's own file and line, the path relative to the project."""
        if message.path is None:
            return message
        written = Path(os.path.realpath(message.path))
        before = self._as_written.get(written, written)
        top = Path(os.path.realpath(self.top))
        if not before.is_relative_to(top):
            return message
        name = before.relative_to(top)
        origin = self.original / name
        if not origin.is_file():
            return replace(message, path=str(name))
        lines = self._lines.get(written) or self._lines.setdefault(written, _Lines(origin, written))
        line = lines.before.get(message.line, message.line)
        column = column_before(lines.old, line, lines.new, message.line, message.column)
        return replace(message, path=str(name), line=line, column=column)

    @cached_property
    def _as_written(self) -> dict[Path, Path]:
        return {Path(os.path.realpath(new)): old for old, new in self.renamed.items()}

    @cached_property
    def _lines(self) -> dict[Path, _Lines]:
        return {}  # filled as messages come: a template's error names a file hundreds of times


class _Lines:
    """The lines of a renamed file, and which line of the user's each of them was."""

    def __init__(self, origin: Path, written: Path) -> None:
        self.old, self.new = origin.read_bytes(), written.read_bytes()
        self.before = line_map(self.old, self.new)


def renamed_extension(
    top: Path, original: Path, folders: Sequence[Path] = (), setups: Sequence[Path] = ()
) -> TorchExtension:
    """Renames translated sources below `top` as torch's build does. `folders` of `original` are sought in `top` first.

    `setups` are the setup.py files whose macros hold.

    Raises TorchHeadersError where no torch is installed or its headers cannot be made.
    """
    torch = installed_torch()
    headers = rocm_headers(torch)
    top, original = top.resolve(), original.resolve()
    inside = [top / one.resolve().relative_to(original) for one in folders if one.resolve().is_relative_to(original)]
    own = [one for one in dict.fromkeys(inside) if one.is_dir()]
    renamed = hipify(torch, top, "extension", [f"{top}/*"], own)
    every = (*own, *(one for one in folders if one not in own))
    macros = dict.fromkeys(name for setup in setups for name in declared_macros(setup))
    undefined = dict.fromkeys(name for setup in setups for name in undefined_macros(setup))
    return TorchExtension(top, original, torch, headers, every, renamed, tuple(macros), tuple(undefined))


def setup_files(root: Path) -> tuple[Path, ...]:
    """The setup scripts of a project; where its top folder has none, those of its parts."""
    for patterns in (("*.py",), ("*/*.py", "*/*/*.py")):
        found = sorted(file for pattern in patterns for file in root.glob(pattern) if file.is_file())
        setups = tuple(one for one in found if builds_extensions(one.name, read_if_there(one, root) or b""))
        if setups:
            return setups
    return ()


@contextmanager
def torch_extension(root: Path, paths: Sequence[str], folders: Sequence[Path] = ()) -> Iterator[TorchExtension]:
    """A project's C++ and CUDA files, translated and renamed in a scratch folder; gone when the block ends."""
    with tempfile.TemporaryDirectory(prefix="kpt-extension-") as scratch:
        top = Path(scratch).resolve() / "project"
        for path in paths:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(read_bytes(root / path, root))
        search = [top / one.resolve().relative_to(root.resolve()) for one in folders if is_inside(one, root)]
        translated = Path(scratch) / "translated"
        tasks = tasks_of(top, [top / path for path in paths], [one for one in search if one.is_dir()])
        for _ in run_tasks(tasks, HipifyOptions("torch-extension"), translated):
            pass
        shutil.copytree(translated, top, dirs_exist_ok=True)
        yield renamed_extension(top, root, folders, setup_files(root))
