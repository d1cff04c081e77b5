"""Runs projects' setup.py files and modules that build at run time, and records what each would compile.

A child process of `kpt`.

torch and setuptools are the real ones; torch's own hipify renames the sources as it does at an install. Two things are
different: torch says it was built for the platform that is stood in for, and a compiler command is written down
instead of started. The network is off. The answer is a JSON file.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

from kernel_pytorch.port.python.setup_scripts import builds_extensions
from kernel_pytorch.toolchain.rocm_folder import HIP_VERSION, ROCM_VERSION
from kernel_pytorch.verify.install.cmake_record import CMakeRuns, cmake_runs
from kernel_pytorch.verify.install.cmake_tools import BUILD_LOG
from kernel_pytorch.verify.install.conditions import ConditionNotes
from kernel_pytorch.verify.install.cuda_folder import CUDA_VERSION
from kernel_pytorch.verify.install.jit import reach_calls, stop_before_building
from kernel_pytorch.verify.install.old_setuptools import provide_pkg_resources
from kernel_pytorch.verify.stand_in_torch import present_built_with_gpu, present_cuda, present_rocm

_LONGEST = 300
JIT_FOLDER = ".kpt-jit"  # in the tree: what load_inline writes is then named from its top


def main() -> int:
    """Serve the JSON lists that standard input names, a line each, until it ends. torch is loaded once for all.

    Every request is served in a process of its own. An empty file beside the list says that all of them were.
    """
    with contextlib.suppress(ImportError):
        # First: setuptools brings the distutils that a build uses, and torch would load Python's own.
        import setuptools  # noqa: F401
        import torch  # noqa: F401
    for line in sys.stdin:
        listing = Path(line.strip())
        for request in json.loads(listing.read_text()):
            child = os.fork()
            if child == 0:
                _serve(request)
            _wait(child, request["timeout_s"])
        listing.with_suffix(".done").touch()
    return 0


def _serve(request: dict[str, Any]) -> NoReturn:
    status = 1
    try:
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # standard input is for the lists
        os.environ.clear()
        os.environ.update(request["environment"])
        run = _Run(Path(request["tree"]).resolve(), request["folder"], request["platform"])
        answer = run.answer(request["gpu"], request["description"], request["legacy"])
        Path(request["answer"]).write_text(json.dumps(answer))
        status = 0
    finally:
        sys.stderr.flush()
        os._exit(status)


def _wait(child: int, timeout_s: float) -> None:
    """Wait for a child; past its time it is ended with all it started."""
    end = time.monotonic() + timeout_s
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(0.02)


class _Run:
    """One run of a build description, and what it came to so far."""

    def __init__(self, tree: Path, folder: str, platform: str) -> None:
        self.tree = tree
        self.project = tree / folder  # where setup.py is
        self.platform = platform
        self.conditions = ConditionNotes(self._is_inside)
        self.extension = ""
        self.compiles: list[dict[str, object]] = []
        self.links: list[list[str]] = []
        self.made_at: dict[str, dict[str, object]] = {}
        self.built_at_run_time: list[dict[str, object]] = []
        self.not_tried: list[str] = []
        self.renamed: dict[str, str] = {}
        self.asked_network: dict[str, object] | None = None

    def answer(self, gpu: str, description: str, legacy: bool) -> dict[str, object]:
        failure = None
        try:
            self._prepare(gpu)
            if description == "setup.py" or builds_extensions(description, (self.project / description).read_bytes()):
                self._run_setup(description, legacy)
            else:
                self._run_module(description)
        except SystemExit as stop:
            if stop.code not in (None, 0):
                failure = self._failure(stop, f"{description} ended with: {stop.code}")
        except BaseException as error:  # whatever the project's code raises is the answer
            failure = self._failure(error, f"{type(error).__name__}: {error}")
        by_cmake = self._configured()
        if by_cmake.is_built:
            failure = None  # what comes behind cmake --build has nothing to go on: nothing was built
        failure = by_cmake.failure or failure
        return {
            "platform": self.platform,
            "extensions": [] if failure else [*self._extensions(), *self.built_at_run_time, *by_cmake.extensions],
            "compiles": [*self.compiles, *by_cmake.compiles],
            "links": self.links,
            "failure": failure,
            "renamed": sorted(self.renamed.items()),
            "conditions": [
                {
                    "path": self._relative(place[0]),
                    **dict(zip(("line", "column", "end_line", "end_column"), place[1:], strict=True)),
                    "kind": kind,
                    "answers": answers,
                }
                for place, kind, answers in self.conditions.asked()
            ],
            "not_tried": self.not_tried,
            "asked_network": self.asked_network,
        }

    def _prepare(self, gpu: str) -> None:
        import torch

        if self.platform == "rocm":
            present_rocm(torch, HIP_VERSION, gpu)
            present_built_with_gpu(
                torch, f"rocm{ROCM_VERSION.rpartition('.')[0]}", [torch.cuda.get_device_properties(0).gcnArchName]
            )
        else:
            present_cuda(torch, CUDA_VERSION, gpu)
            major, minor = torch.cuda.get_device_capability()
            present_built_with_gpu(torch, f"cu{CUDA_VERSION.replace('.', '')}", [f"sm_{major}{minor}"])
        # Names are looked up before anything connects, and a machine may have no names either.
        socket.socket.connect = socket.getaddrinfo = self._refuse_network  # type: ignore[method-assign]
        provide_pkg_resources()
        self._record_torch()
        self._record_setuptools()

    def _refuse_network(self, *_arguments: object, **_keywords: object) -> NoReturn:
        frames = (frame for frame, _ in traceback.walk_stack(None))
        asking = next((one for one in frames if self._is_inside(one.f_code.co_filename)), None)
        if asking is not None and self.asked_network is None:
            self.asked_network = self._place(asking.f_code.co_filename, asking.f_lineno)
        raise OSError("the network is off while kpt tries the install")

    def _record_torch(self) -> None:
        from torch.utils import cpp_extension
        from torch.utils.hipify import hipify_python

        # Without ninja torch hands every source to setuptools' compiler object, where commands can be seen.
        cpp_extension.is_ninja_available = lambda: False
        for name in ("CUDAExtension", "CppExtension"):
            setattr(cpp_extension, name, self._noting_place(getattr(cpp_extension, name)))
        hipify = hipify_python.hipify

        def noting_renames(*arguments: Any, **keywords: Any) -> Any:
            with contextlib.redirect_stdout(sys.stderr):
                made = hipify(*arguments, **keywords)
            for old, result in made.items():
                if result.hipified_path:
                    self.renamed[self._relative(old)] = self._relative(result.hipified_path)
            return made

        hipify_python.hipify = noting_renames

    def _noting_place(self, make: Any) -> Any:
        def made(name: str, *arguments: Any, **keywords: Any) -> Any:
            caller = sys._getframe(1)
            self.made_at[name] = self._place(caller.f_code.co_filename, caller.f_lineno)
            return make(name, *arguments, **keywords)

        return made

    def _record_setuptools(self) -> None:
        from distutils.ccompiler import CCompiler

        from setuptools import Distribution
        from setuptools.command.build_ext import build_ext

        run = self
        build_extension = build_ext.build_extension

        def noting_extension(command: Any, extension: Any) -> None:
            run.extension = extension.name
            build_extension(command, extension)

        def noting_command(_compiler: Any, words: Sequence[object], **_keywords: Any) -> None:
            run.note_command([str(word) for word in words])

        build_ext.build_extension = noting_extension
        # setup_requires would be fetched; what is missing is named when it is imported.
        Distribution.fetch_build_eggs = lambda _self, _requires: []
        # What starts a command is called `spawn`, and `call` since setuptools 82; a platform's class may have its own.
        for kind in (CCompiler, *_subclasses(CCompiler)):
            for name in ("spawn", "call"):
                if name in vars(kind):
                    setattr(kind, name, noting_command)

    def note_command(self, words: list[str]) -> None:
        if "-c" in words[1:]:
            source = words[words.index("-c") + 1]
            self.compiles.append({"extension": self.extension, "source": self._relative(source), "words": words})
        else:
            self.links.append(words)

    def _run_setup(self, name: str, legacy: bool) -> None:
        file = self.project / name
        scratch = os.environ["KPT_BUILD_FOLDER"]
        os.chdir(self.project)
        # pip puts the project's folder on the path only for projects without a build backend of their own.
        sys.path[:0] = [str(self.project)] if legacy else []
        sys.argv = [str(file), "build_ext", "--build-temp", f"{scratch}/temp", "--build-lib", f"{scratch}/lib"]
        sys.dont_write_bytecode = True
        self.conditions.install()
        code = self.conditions.compiled(file.read_bytes(), str(file))
        with contextlib.redirect_stdout(sys.stderr):
            exec(code, {"__name__": "__main__", "__file__": str(file), "__builtins__": __builtins__})

    def _run_module(self, name: str) -> None:
        """Reach the calls of a module that build extensions when it runs."""
        file = self.project / name
        sys.argv = [str(file)]
        sys.dont_write_bytecode = True
        os.chdir(self.project)
        os.environ["TORCH_EXTENSIONS_DIR"] = str(self.tree / JIT_FOLDER)
        self.conditions.install()
        stop_before_building(self._note_build)
        with contextlib.redirect_stdout(sys.stderr):
            missed = reach_calls(file, self.tree, lambda: len(self.built_at_run_time))
            self.not_tried = [_on_one_line(one.replace(f"{self.tree}/", "")) for one in missed]

    def _note_build(self, name: str, commands: list[tuple[str, list[str]]]) -> None:
        frame = sys._getframe()
        while frame.f_back is not None and not self._is_inside(frame.f_code.co_filename):
            frame = frame.f_back
        sources = [self._relative(source) for source, _ in commands]
        self.compiles += [
            {"extension": name, "source": self._relative(source), "words": words} for source, words in commands
        ]
        self.built_at_run_time.append(
            {
                "name": name,
                "kind": "load",
                "sources": sources,
                "missing": [source for source in sources if not (self.tree / source).is_file()],
                "made_at": self._place(frame.f_code.co_filename, frame.f_lineno),
            }
        )

    def _configured(self) -> CMakeRuns:
        """What CMake was configured for by setup.py."""
        return cmake_runs(Path(os.environ[BUILD_LOG]), self.tree, self.platform)

    def _extensions(self) -> list[dict[str, object]]:
        from distutils import core

        distribution = getattr(core, "_setup_distribution", None)
        return [self._described(one) for one in getattr(distribution, "ext_modules", None) or ()]

    def _described(self, extension: Any) -> dict[str, object]:
        sources = [self._relative(source) for source in extension.sources]
        return {
            "name": extension.name,
            "kind": type(extension).__name__,
            "sources": sources,
            "missing": [source for source in sources if not (self.tree / source).is_file()],
            "libraries": list(extension.libraries or ()),
            "made_at": self.made_at.get(extension.name),
        }

    def _failure(self, error: BaseException, text: str) -> dict[str, object]:
        traceback.print_exception(error, file=sys.stderr)
        missing = error.name or "" if isinstance(error, ModuleNotFoundError) else ""
        first = error.__cause__ or error.__context__
        return {
            "error": _on_one_line(text.replace(f"{self.tree}/", "")),
            "stack": self._stack(error),
            "cause": self._stack(first) if first is not None else [],
            "missing_module": missing,
        }

    def _stack(self, error: BaseException) -> list[dict[str, object]]:
        frames = traceback.extract_tb(error.__traceback__)
        return [self._place(one.filename, one.lineno or 1) for one in frames if self._is_inside(one.filename)]

    def _place(self, file: str, line: int) -> dict[str, object]:
        return {"path": self._relative(file), "line": line}

    def _is_inside(self, name: str) -> bool:
        # Python's own frozen modules have names such as <frozen posixpath>.
        return Path(name).is_absolute() and Path(name).resolve().is_relative_to(self.tree)

    def _relative(self, name: str) -> str:
        """A path as seen from the top of the tree; setup.py's own paths start in its folder."""
        path = Path(os.path.normpath(self.project / name))
        return path.relative_to(self.tree).as_posix() if path.is_relative_to(self.tree) else str(path)


def _on_one_line(text: str) -> str:
    """A message of the project's, which may be an essay: its beginning, as part of a sentence."""
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]} ..."


def _subclasses(kind: type) -> Iterator[type]:
    from distutils import unixccompiler  # noqa: F401 (so that it is among the subclasses)

    one: type
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


if __name__ == "__main__":
    sys.exit(main())
