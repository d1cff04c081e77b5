"""Builds the emulated HIP runtime, `libamdhip64.so` and `libhiprtc.so`, with the host's C++ compiler.

Both are kept in the cache directory under a name made of their content, so a build happens once per version of the
sources and of the compiler. Every function that ROCm's library exports is there, under the same symbol version: those
that are not emulated say so when they are called.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.first_build import first_build
from kernel_pytorch.core.process import run_child
from kernel_pytorch.emulate.libraries import host_cxx

NATIVE = Path(__file__).parent / "native"
SOURCES = NATIVE / "runtime"
FLAGS = ("-std=c++17", "-g1", "-fPIC", "-fvisibility=hidden", "-pthread", "-Wall", "-Wextra")
RUNTIME_NAMES = ("libamdhip64.so", "libamdhip64.so.5", "libamdhip64.so.6", "libamdhip64.so.7")
HIPRTC_NAMES = ("libhiprtc.so", "libhiprtc.so.6", "libhiprtc.so.7")
HIPRTC_SOURCES = ("hiprtc.cpp", "child.cpp")
_GROUPS = 3
# A second name for a function of another file, whatever its arguments.
_JUMP = """
#if defined(__x86_64__)
#define KPT_SAME(name, to) __asm__(".globl " #name "\\n.type " #name ",@function\\n" #name ": jmp " #to "@PLT\\n");
#else
#define KPT_SAME(name, to) __asm__(".globl " #name "\\n.type " #name ",%function\\n" #name ": b " #to "\\n");
#endif
"""


class RuntimeBuildError(RuntimeError):
    """The host's compiler refused the runtime's sources."""


def runtime_directory(cache: Path | None = None) -> Path:
    """The directory with libamdhip64.so (also as .so.5 to .so.7) and libhiprtc.so, built when it is not there."""
    compiler = host_cxx()
    store = cache or default_cache()
    directory = store / f"runtime-{_identity(compiler)}"
    if not (directory / RUNTIME_NAMES[0]).exists():
        with one_builder(directory):
            if not (directory / RUNTIME_NAMES[0]).exists():
                build_runtime(directory, compiler)
    return directory


def build_runtime(directory: Path, compiler: Sequence[str]) -> None:
    """Compile and link both libraries into `directory`."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kpt-runtime-", dir=directory.parent) as scratch:
        work = Path(scratch)
        (work / "versions.map").write_text(version_script(exported_symbols()))
        units = _units()
        with (
            first_build("the emulated HIP runtime", len(units), directory) as part_done,
            ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool,
        ):
            compiled = list(pool.map(lambda unit: _object(unit[0], unit[1], work, compiler, part_done), units.items()))
        result = work / "out"
        result.mkdir()
        _link(compiler, compiled, result / RUNTIME_NAMES[-1], work / "versions.map")
        _link(compiler, compiled[:1], result / HIPRTC_NAMES[-1], None)
        for names in (RUNTIME_NAMES, HIPRTC_NAMES):
            for name in names[:-1]:
                (result / name).symlink_to(names[-1])
        if directory.exists():
            return
        # A rename: another process sees the whole directory or none. The other one may have been faster.
        try:
            result.rename(directory)
        except OSError:
            if not (directory / RUNTIME_NAMES[0]).exists():
                raise


def exported_symbols() -> Mapping[str, Sequence[str]]:
    """Symbol version -> names, oldest version first."""
    versions: dict[str, list[str]] = {}
    current: list[str] = []
    for line in (SOURCES / "symbols.txt").read_text().splitlines():
        if line.startswith("["):
            current = versions.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            current.append(line)
    return versions


def version_script(symbols: Mapping[str, Sequence[str]]) -> str:
    """The linker's version script for those symbols; everything else stays inside the library."""
    text, before = "", ""
    for version, names in symbols.items():
        listed = "".join(f"  {name};\n" for name in names)
        local = "" if before else "local:\n  *;\n"
        text += f"{version} {{\nglobal:\n{listed}{local}}} {before};\n"
        before = version
    return text


def stub_source(symbols: Mapping[str, Sequence[str]]) -> str:
    """A weak function for every exported name: it stands where the runtime has none of its own."""
    lines = [_JUMP, 'extern "C" {', "int kpt_not_supported(const char *name);"]
    every = {name for names in symbols.values() for name in names}
    for name in sorted(every):
        plain = name.removesuffix("_spt")
        if plain != name and plain in every:
            # Programs built for per-thread default streams call these. Streams run what they are given at once, so a
            # thread's own default stream and the legacy one behave alike.
            lines.append(f"KPT_SAME({name}, {plain})")
        else:
            weak = '__attribute__((weak, visibility("default")))'
            lines.append(f'{weak} int {name}() {{ return kpt_not_supported("{name}"); }}')
    return "\n".join([*lines, "}", ""])


def _units() -> dict[str, str]:
    """What is compiled together, hiprtc's own first: a file alone would parse the C++ library again, most of the work.

    So no two files may give one name, in an anonymous namespace too, to different things.
    """
    own = [SOURCES / name for name in HIPRTC_SOURCES]
    rest = [path for path in sorted(SOURCES.glob("*.cpp")) if path not in own]
    groups = {"hiprtc": own, **{f"runtime_{number}": rest[number::_GROUPS] for number in range(_GROUPS)}}
    texts = {name: "".join(f'#include "{path}"\n' for path in paths) for name, paths in groups.items()}
    return {**texts, "stubs": stub_source(exported_symbols())}


def _object(name: str, text: str, work: Path, compiler: Sequence[str], done: Callable[[], None]) -> Path:
    source, target = work / f"{name}.cpp", work / f"{name}.o"
    source.write_text(text)
    _run([*compiler, *FLAGS, f"-I{SOURCES}", "-c", str(source), "-o", str(target)])
    done()
    return target


def _link(compiler: Sequence[str], objects: Sequence[Path], target: Path, script: Path | None) -> None:
    command = [*compiler, "-shared", "-pthread", f"-Wl,-soname,{target.name}", "-o", str(target), *map(str, objects)]
    if script is not None:
        command.append(f"-Wl,--version-script={script}")
    # What no file defines shows when the library is linked, not when a program calls it.
    _run([*command, "-Wl,-z,defs", "-ldl"])


def _run(command: Sequence[str]) -> None:
    done = run_child(command)
    if done.returncode != 0:
        raise RuntimeBuildError(f"{' '.join(command[:1])} refused the runtime:\n{done.stderr.strip()}")


def _identity(compiler: Sequence[str]) -> str:
    digest = hashlib.sha256("\0".join([*compiler, *FLAGS]).encode())
    program = shutil.which(compiler[0])
    if program is not None:
        # A new version of the compiler under the old name is another compiler.
        info = Path(program).resolve().stat()
        digest.update(f"{info.st_size} {info.st_mtime_ns}".encode())
    for path in sorted([*SOURCES.iterdir(), NATIVE / "engine.h", Path(__file__)]):
        if path.is_file():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
