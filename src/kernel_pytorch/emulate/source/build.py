"""Builds a CUDA or HIP program for the CPU: preprocess, rewrite, compile with every access seen, link our runtime.

The compiler's thread sanitizer puts a call at each access; the functions it calls are ours, not the sanitizer's.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.process import run_child, run_child_bytes
from kernel_pytorch.core.text_file import is_text
from kernel_pytorch.core.whole_file import whole_file
from kernel_pytorch.emulate.libraries import host_cxx
from kernel_pytorch.emulate.source.hip_names import hip_names
from kernel_pytorch.emulate.source.rewrite import rewrite
from kernel_pytorch.emulate.source.tokens import regions

NATIVE = Path(__file__).parent / "native"
INCLUDE = NATIVE / "include"
RUNTIME = NATIVE / "runtime"
_RUNTIME_FLAGS = ("-std=c++17", "-O2", "-fPIE", "-fno-exceptions", "-fno-stack-protector", "-pthread", "-w")
# Vectors wider than 16 bytes would be accesses that nobody sees.
_COMMON = ("-w", "-gdwarf-4", "-fsanitize=thread", "-fPIE", "-fno-strict-aliasing", "-fwrapv", "-fno-stack-protector",
           "-pthread")  # fmt: skip
_GCC_VOLATILE = "--param=tsan-distinguish-volatile=1"
_GCC = ("-fno-tree-vectorize", "-fno-tree-slp-vectorize",
        "-fno-tree-loop-distribute-patterns", "-fcf-protection=none")  # fmt: skip
_CLANG = ("-mllvm", "-tsan-distinguish-volatile=1", "-fno-vectorize", "-fno-slp-vectorize", "-fno-sanitize=undefined",
          "-Wno-everything")  # fmt: skip
_SHOWN_ERRORS = 8
_CUDA_NAME = re.compile(
    r"[‘'\"](?:std::)?((?:cuda|hip|cu|__|tex|surf|cg::|cub|thrust|nvcuda|atomic|curand|cublas|cufft|wmma)\w*)[’'\"]"
)
_NO_HEADER = re.compile(r"fatal error: [‘']?([^:’'\n]+?)[’']?(?: file not found|: No such file or directory)")


class SourceBuildFailed(UsageError):
    """The program uses what the source-level mode has not got, or the host's compiler refuses it."""


@dataclass(frozen=True)
class SourceOptions:
    """How to compile the program."""

    include_dirs: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    std: str = "c++17"
    optimization: str = "1"


@dataclass(frozen=True)
class SourceProgram:
    """An executable, and the files the user wrote: places elsewhere are library code."""

    executable: Path
    user_files: frozenset[str]


def build_source(
    sources: Sequence[Path],
    destination: Path,
    options: SourceOptions = SourceOptions(),
) -> SourceProgram:
    """Build `sources` into one executable. Raises SourceBuildFailed naming what cannot be had."""
    compiler = host_cxx()
    runtime = runtime_objects(compiler)
    user_files: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="kpt-source-") as scratch:
        work = Path(scratch)
        (work / "kpt_hip_names.h").write_text(hip_names((INCLUDE / "kpt").glob("api*.h")))
        objects = []
        for index, source in enumerate(sources):
            if not is_text(source):
                raise SourceBuildFailed(f"{source}: not a text file")
            written, files = _rewritten(source, compiler, options, work, index)
            user_files |= files
            objects.append(_compiled(written, compiler, options))
        link = [*compiler, "-pthread", "-o", str(destination), *map(str, runtime), *map(str, objects), "-lm", "-ldl"]
        done = run_child(link)
    if done.returncode != 0:
        raise SourceBuildFailed(_link_problem(sources, done.stderr))
    return SourceProgram(destination, frozenset(user_files))


def runtime_objects(compiler: Sequence[str]) -> list[Path]:
    """The compiled runtime, kept in the cache under its content."""
    headers = b"".join(path.read_bytes() for path in sorted([*RUNTIME.glob("*.h"), *(INCLUDE / "kpt").glob("a*.h")]))
    store = default_cache() / "source-runtime"
    store.mkdir(parents=True, exist_ok=True)

    def compiled(source: Path) -> Path:
        key = hashlib.sha256(
            "\0".join([*compiler, *_RUNTIME_FLAGS]).encode() + headers + source.read_bytes()
        ).hexdigest()
        target = store / f"{source.stem}-{key[:24]}.o"
        if not target.exists():
            with whole_file(target) as made:
                command = [*compiler, *_RUNTIME_FLAGS, *_machine(compiler), "-c", str(source), "-o", str(made)]
                done = run_child(command)
                if done.returncode != 0:
                    raise SourceBuildFailed(f"{compiler[0]} refused the source-level runtime:\n{done.stderr[:3000]}")
        return target

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(compiled, sorted(RUNTIME.glob("*.cpp"))))


def _rewritten(
    source: Path, compiler: Sequence[str], options: SourceOptions, work: Path, index: int
) -> tuple[Path, set[str]]:
    is_hip = source.suffix.lower() == ".hip" or b"hip/hip_runtime" in source.read_bytes()
    command = [
        *compiler, "-E", "-x", "c++", f"-std={_gnu(options.std)}", "-w", "-D__CUDACC__=1",
        *(["-DKPT_HIP"] if is_hip else []),
        *(f"-D{define}" for define in options.defines), *(f"-I{folder}" for folder in options.include_dirs),
        "-isystem", str(work), "-isystem", str(INCLUDE), "-include", "kpt_source.h", *_machine(compiler), str(source),
    ]  # fmt: skip
    done = run_child_bytes(command)
    if done.returncode != 0:
        raise SourceBuildFailed(_problem(source, done.stderr.decode("utf-8", errors="replace")))
    # Latin-1 keeps every byte, whatever the file's encoding is.
    result = rewrite(done.stdout.decode("latin-1"))
    if result.unsupported:
        named = "\n".join(f"  {one}" for one in result.unsupported[:_SHOWN_ERRORS])
        raise SourceBuildFailed(
            f"not supported at source level:\n{named}\nwithout --source its machine code can be run"
        )
    written = work / f"{index}.ii.cpp"
    written.write_bytes(result.text.encode("latin-1"))
    own = {region.path for region in regions(result.text) if not region.system and not region.path.startswith("<")}
    return written, own


def _compiled(written: Path, compiler: Sequence[str], options: SourceOptions) -> Path:
    target = written.with_suffix(".o")
    command = [
        *compiler, "-x", "c++" if _is_zig(compiler) else "c++-cpp-output", f"-std={_gnu(options.std)}",
        f"-O{options.optimization}", *_COMMON,
        *_own_flags(tuple(compiler)), *_machine(compiler), "-c", str(written), "-o", str(target),
    ]  # fmt: skip
    done = run_child(command)
    if done.returncode != 0:
        raise SourceBuildFailed(_problem(written, done.stderr))
    return target


def _gnu(std: str) -> str:
    return std.replace("c++", "gnu++") if std.startswith("c++") else std


@functools.cache
def _own_flags(compiler: tuple[str, ...]) -> tuple[str, ...]:
    """What only clang or only gcc takes. gcc tells volatile accesses from others since version 11."""
    done = run_child([*compiler, "--version"])
    if "clang" in done.stdout:
        return _CLANG
    version = re.search(r"\) (\d+)\.", done.stdout)
    return (_GCC_VOLATILE, *_GCC) if version is None or int(version[1]) >= 11 else _GCC


def _machine(compiler: Sequence[str]) -> tuple[str, ...]:
    # zig's compiler takes all the machine has unless told; wide vectors are accesses that nobody sees.
    return ("-mcpu=baseline",) if _is_zig(compiler) else ()


def _is_zig(compiler: Sequence[str]) -> bool:
    return "ziglang" in compiler or "zig" in Path(compiler[0]).name


def _problem(source: Path, output: str) -> str:
    missing = _NO_HEADER.search(output)
    if missing:
        place = _place_before(output, missing.start())
        return (
            f"not supported at source level: #include <{missing[1].strip()}> ({place}): "
            "there is no such header here; without --source the program's machine code can be run"
        )
    lines = [line for line in output.splitlines() if "error:" in line]
    unknown_lines = [line.split("did you mean")[0] for line in lines if _is_unknown(line)]
    unknown = sorted({match[1] for line in unknown_lines for match in _CUDA_NAME.finditer(line)})
    text = "\n".join(lines[:_SHOWN_ERRORS] or output.splitlines()[-_SHOWN_ERRORS:])
    if unknown:
        return f"not supported at source level: {', '.join(unknown[:12])}\n{text}"
    return f"{'the program' if source.name.endswith('.ii.cpp') else source.name} does not build for the CPU:\n{text}"


def _is_unknown(line: str) -> bool:
    return any(
        words in line for words in ("not declared", "undeclared", "does not name a type", "unknown type", "no member")
    )


def _place_before(output: str, at: int) -> str:
    start = output.rfind("\n", 0, at) + 1
    return output[start:at].strip().rstrip(":")


def _link_problem(sources: Sequence[Path], output: str) -> str:
    named = ", ".join(map(str, sources))
    if re.search(r"undefined (?:reference to `main'|symbol:? main)", output):
        return f"{named}: has no main()"
    missing = sorted(set(re.findall(r"undefined (?:reference to `|symbol:? )([^'\n]+)", output)))
    return f"{named} does not link: {', '.join(missing[:_SHOWN_ERRORS]) or output.strip()[-2000:]}"
