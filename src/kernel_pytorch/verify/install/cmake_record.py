"""What CMake was configured to build, from its file API: targets, their sources, and how each is compiled."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_pytorch.core.findings import to_plain
from kernel_pytorch.port.build_files.cmake_text import commands
from kernel_pytorch.verify.install.record import CompileCommand, Condition, Extension, Failure, SourceLine

_COMPILER = {"HIP": "hipcc", "CUDA": "nvcc", "CXX": "c++", "C": "cc"}
_GPU_SUFFIXES = (".cu", ".hip")
_ERROR = re.compile(r"^CMake Error at (?P<path>[^\n]+?):(?P<line>\d+) \((?P<command>\w+)\):$", re.MULTILINE)
_END = re.compile(r"^(?:CMake |-- |See also )", re.MULTILINE)
_CALLED = re.compile(r"^  (?P<path>\S[^\n]*?):(?P<line>\d+) \(\w+\)$", re.MULTILINE)


@dataclass(frozen=True)
class CMakeRuns:
    """What a setup.py configured with CMake, as plain JSON. `is_built`: it asked for a build too, which did nothing."""

    extensions: tuple[dict[str, Any], ...] = ()
    compiles: tuple[dict[str, Any], ...] = ()
    failure: dict[str, Any] | None = None
    is_built: bool = False


def cmake_runs(log: Path, tree: Path, platform: str) -> CMakeRuns:
    """Every folder that was configured, from the lines that the stood-in cmake left."""
    lines = log.read_text().splitlines() if log.is_file() else []
    folders = [Path(line.partition(" ")[2]) for line in lines if line.startswith("configure ")]
    extensions: list[Extension] = []
    compiles: list[CompileCommand] = []
    for folder in dict.fromkeys(folders):
        if not (folder / ".cmake/api/v1/reply").is_dir():
            words = (folder / "kpt-stderr.txt").read_text(errors="replace")
            return CMakeRuns(failure=to_plain(configure_failure(words, _source_of(folder, tree), tree)))
        found, commands_of = configured(folder, tree, platform)
        extensions += found
        compiles += commands_of
    return CMakeRuns(tuple(map(to_plain, extensions)), tuple(map(to_plain, compiles)), None, "build" in lines)


def _source_of(build: Path, tree: Path) -> Path:
    cache = build / "CMakeCache.txt"
    found = (
        re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.+)$", cache.read_text(), re.MULTILINE) if cache.is_file() else None
    )
    return Path(found[1]) if found else tree


def configured(build: Path, tree: Path, platform: str) -> tuple[tuple[Extension, ...], tuple[CompileCommand, ...]]:
    """The targets of a build folder that have sources, and a command for every source.

    FindCUDA compiles .cu files in commands of its own, which the file API does not show: on CUDA such a source counts.
    """
    by_findcuda = _GPU_SUFFIXES if platform == "cuda" else ()
    reply = build / ".cmake/api/v1/reply"
    extensions: list[Extension] = []
    compiles: list[CompileCommand] = []
    for file in sorted(reply.glob("target-*.json")):
        target = json.loads(file.read_text())
        sources = [one for one in target.get("sources", ()) if not one.get("isGenerated")]
        own = [(_relative(build, tree, one["path"], target), one) for one in sources]
        built = [(path, one) for path, one in own if "compileGroupIndex" in one or path.endswith(by_findcuda)]
        if not built:
            continue
        name = target["name"]
        made_at = _backtrace(target, build, tree)
        paths = tuple(path for path, _ in built)
        missing = tuple(path for path in paths if not (tree / path).is_file())
        extensions.append(Extension(name, f"cmake {target['type']}", paths, missing, (), made_at))
        compiles += [CompileCommand(name, path, _words(target, path, one)) for path, one in built]
    return tuple(extensions), tuple(compiles)


def hipified(build: Path, tree: Path) -> tuple[tuple[str, str], ...]:
    """The sources that torch's hipify renamed while CMake was configured, as written and as renamed."""
    found: dict[str, str] = {}
    for file in sorted(build.rglob("kpt_hipified_*.json")):
        pairs = ((Path(old), Path(new)) for old, new in json.loads(file.read_text()).items())
        inside = ((old, new) for old, new in pairs if old.is_relative_to(tree) and new.is_relative_to(tree))
        found |= {old.relative_to(tree).as_posix(): new.relative_to(tree).as_posix() for old, new in inside}
    return tuple(found.items())


def _words(target: dict[str, Any], path: str, source: dict[str, Any]) -> tuple[str, ...]:
    if "compileGroupIndex" not in source:
        return ("nvcc", "-c", path)
    group = target["compileGroups"][source["compileGroupIndex"]]
    words = [_COMPILER.get(group["language"], "c++")]
    for fragment in group.get("compileCommandFragments", ()):
        words += shlex.split(fragment["fragment"])
    words += [f"-D{one['define']}" for one in group.get("defines", ())]
    words += [f"-I{one['path']}" for one in group.get("includes", ())]
    return (*words, "-c", path)


def _relative(build: Path, tree: Path, path: str, target: dict[str, Any]) -> str:
    top = _source_top(build)
    whole = Path(os.path.normpath(top / path))
    return whole.relative_to(tree).as_posix() if whole.is_relative_to(tree) else str(whole)


def _source_top(build: Path) -> Path:
    index = next((build / ".cmake/api/v1/reply").glob("codemodel-*.json"))
    return Path(json.loads(index.read_text())["paths"]["source"])


def _backtrace(target: dict[str, Any], build: Path, tree: Path) -> SourceLine | None:
    """The line of the project that made a target, also by way of another package's function."""
    graph, at = target.get("backtraceGraph"), target.get("backtrace")
    if graph is None or at is None:
        return None
    while at is not None:
        node = graph["nodes"][at]
        path = _relative(build, tree, graph["files"][node["file"]], target)
        if not Path(path).is_absolute():
            return SourceLine(path, node.get("line", 1))
        at = node.get("parent")
    return None


def configure_failure(stderr: str, source: Path, tree: Path) -> Failure:
    """CMake's own words for what stopped it, and the project's lines on the way, outermost first."""
    named = _ERROR.search(stderr)
    if named is None:
        lines = [line.strip() for line in stderr.strip().splitlines() if line.strip()]
        # "CMake Error: ..." has no place. What stands before it are warnings.
        lines = [line for line in lines if line.startswith("CMake Error")] or lines
        return Failure(" ".join(lines[:3]) or "cmake gave no message")
    end = _END.search(stderr, named.end())
    section = stderr[named.end() : end.start() if end is not None else len(stderr)]
    text, _, called = section.partition("Call Stack")
    places = [(named["path"], named["line"]), *((one["path"], one["line"]) for one in _CALLED.finditer(called))]
    inside = [
        SourceLine(_inside(source, tree, path), int(line)) for path, line in places if _inside(source, tree, path)
    ]
    return Failure(f"{named['command']}: {' '.join(text.split())}", tuple(reversed(inside)))


def _inside(source: Path, tree: Path, path: str) -> str:
    whole = Path(os.path.normpath(source / path))
    return whole.relative_to(tree).as_posix() if whole.is_relative_to(tree) else ""


def asked_conditions(trace: Path, tree: Path) -> tuple[Condition, ...]:
    """Every if() and elseif() of the project that CMake asked, and whether what it guards was run."""
    ran: dict[str, set[int]] = {}
    if trace.is_file():
        for line in trace.read_text(errors="replace").splitlines():
            try:
                one = json.loads(line)
            except ValueError:
                continue
            file = os.path.normpath(one.get("file", "")) if one.get("file") else ""
            if file and Path(file).is_relative_to(tree):
                ran.setdefault(Path(file).relative_to(tree).as_posix(), set()).add(one["line"])
    return tuple(one for path, lines in sorted(ran.items()) for one in _asked(path, tree / path, lines))


def _asked(path: str, file: Path, ran: set[int]) -> Iterator[Condition]:
    text = file.read_bytes().decode("latin-1")
    every = commands(text)
    for number, command in enumerate(every[:-1]):
        if command.name not in ("if", "elseif") or _line(text, command.start) not in ran:
            continue
        first = every[number + 1]
        if first.name in ("elseif", "else", "endif"):
            continue
        answer = _line(text, first.start) in ran
        start, end = _line(text, command.start), _line(text, command.end)
        yield Condition(path, start, command.start, end, command.end, "test", (answer,))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
