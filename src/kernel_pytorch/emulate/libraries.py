"""Builds the CPU stand-ins of AMD's math libraries with the host compiler at hand.

Device addresses are host addresses in the emulator and work runs in stream order, so `hipblasSgemm` on device
pointers is a CPU call. Each stand-in has the soname and every exported name of the real library; a function that has
no implementation says so once and returns the library's "not supported" status.

BLAS and LAPACK come from an ILP64 OpenBLAS: PyPI's scipy-openblas64, or the one inside NumPy's wheel. Without either,
BLAS runs on plain loops and LAPACK calls report that they are not supported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.first_build import first_build
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.core.whole_file import unfinished
from kernel_pytorch.emulate.library_exports import blas_source, missing_source, read_routines
from kernel_pytorch.emulate.on_call import build_on_call, can_wait, identity

NATIVE = Path(__file__).parent / "native" / "libraries"
COMMON = ("common/stream.cpp", "common/missing.cpp", "common/host_blas.cpp")
FLAGS = (
    "-std=c++17", "-fPIC", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=default", "-w", "-pthread",
)  # fmt: skip
LINK_FLAGS = ("-shared", "-pthread")
#: What the real libraries of ROCm 7 are linked against. Some programs count on it: they name hipBLAS alone, and call
#: the runtime. Only programs that were built elsewhere get these entries: ours are loaded without a runtime too.
NEEDS = {
    "hipblas": ("rocblas", "rocsolver"), "rocblas": (), "hipsparse": ("rocsparse",), "rocsparse": ("rocblas",),
    "hipblaslt": ("roctx64",), "hipfft": ("rocfft",), "hiprand": ("rocrand",), "rocrand": (),
    "hipsolver": ("rocblas", "rocsolver", "rocsparse"), "rocsolver": ("rocblas",), "rccl": ("roctx64", "rocm_smi64"),
    "MIOpen": ("rocblas", "hipblaslt"), "rocfft": (),
}  # fmt: skip
RUNTIME_SONAME = "libamdhip64.so.7"
_LOCAL_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


class LibraryBuildError(UsageError):
    """No C++ compiler, or it refused a stand-in's source."""


@dataclass(frozen=True)
class Library:
    """A stand-in: real name and version, its sources, and the status its unimplemented functions return."""

    name: str
    version: int
    not_supported: int
    sources: tuple[str, ...]
    defines: tuple[str, ...] = ()
    symbols: str = ""
    blas: bool = False
    before: tuple[int, ...] = ()  # versions that ROCm 6 had and that programs may still be linked against

    @property
    def soname(self) -> str:
        return f"lib{self.name}.so.{self.version}"

    @property
    def file_names(self) -> tuple[str, ...]:
        """Every name by which a program may ask for it."""
        return self.soname, *(f"lib{self.name}.so.{one}" for one in self.before), f"lib{self.name}.so"


LIBRARIES = (
    Library("hipblas", 3, 7, ("blas/hipblas.cpp", "blas/hipblas_ex.cpp", "blas/level1_ex.cpp",
                              "blas/hipblas_lapack.cpp"), defines=("-DKPT_HIPBLAS",), blas=True, before=(2,)),
    Library("rocblas", 5, 2, ("blas/rocblas.cpp", "blas/rocblas_ex.cpp", "blas/level1_ex.cpp"), blas=True,
            before=(4,)),
    Library("hipsparse", 4, 10, ("sparse/descriptors.cpp", "sparse/generic.cpp", "sparse/product.cpp",
                                 "sparse/typed.cpp", "sparse/convert.cpp"), before=(1,)),
    Library("rocsparse", 1, 2, ("sparse/rocsparse.cpp", "sparse/descriptors.cpp", "sparse/generic.cpp",
                                "sparse/typed.cpp", "sparse/convert.cpp")),
    Library("hipblaslt", 1, 7, ("blaslt/hipblaslt.cpp",), before=(0,)),
    Library("hipfft", 0, 14, ("fft/hipfft.cpp", "fft/transform.cpp", "fft/fft.cpp")),
    Library("hiprand", 1, 1000, ("rand/api.cpp", "rand/generator.cpp", "rand/engines.cpp"), defines=("-DKPT_HIPRAND",)),
    Library("rocrand", 1, 108, ("rand/api.cpp", "rand/generator.cpp", "rand/engines.cpp")),
    Library("hipsolver", 1, 7, ("solver/hipsolver.cpp",), before=(0,)),
    Library("rocsolver", 0, 2, ("solver/rocsolver.cpp",)),
    Library("rccl", 1, 5, ("rccl/rccl.cpp",)),
    Library("MIOpen", 1, 6, ("miopen/miopen.cpp",), symbols="miopen"),
    Library("roctx64", 4, 0, ("tools/roctx.cpp",), symbols="roctx"),
    Library("rocm_smi64", 7, 2, ("tools/rocm_smi.cpp",), symbols="rocm_smi", before=(1, 6)),
    Library("roctracer64", 4, -1, ("tools/roctracer.cpp",), symbols="roctracer"),
    Library("rocprofiler-sdk", 1, 17, ("tools/rocprofiler_sdk.cpp",)),
    # What frameworks ask for below HIP (JAX). There is no driver: each says so, in the way of its own library.
    Library("hsa-runtime64", 1, 0x1000, ("tools/hsa.cpp",)),
    Library("amd_smi", 26, 2, ("tools/amd_smi.cpp",)),
    Library("rocm_sysdeps_drm", 2, -19, ()),
    Library("rocm_sysdeps_drm_amdgpu", 1, -19, ()),
    Library("rocm_sysdeps_numa", 1, 0, ("tools/numa.cpp",)),
    Library("rocfft", 0, 1, ("fft/rocfft.cpp", "fft/transform.cpp", "fft/fft.cpp")),
)  # fmt: skip


def library_directory(needed: Sequence[str] | None = None, cache: Path | None = None) -> Path:
    """The directory with the stand-ins named in `needed` (as in -lhipblas, libhipblas.so or a soname), built there
    if they are not yet; all of them when `needed` is None. Names that are no stand-in's are passed over.

    Of all of them, one that is not built yet is there as a file that has it built when it is first called."""
    wanted = [library for library in LIBRARIES if needed is None or any(_names(library, name) for name in needed)]
    compiler = host_cxx()
    store = cache or default_cache()
    built = _places(compiler, store, needed is None)
    directory = store / f"libraries-{hashlib.sha256(repr(sorted(built.values())).encode()).hexdigest()[:16]}"
    directory.mkdir(parents=True, exist_ok=True)
    waits = needed is None and can_wait()
    for library in wanted:
        if not waits:
            _stand_in(library, built[library], compiler, needed is None)
        there = (built[library] / library.soname).exists()
        target = (built[library] if there else _on_call(compiler, store)) / library.soname
        for name in library.file_names:
            if (directory / name).is_symlink() and (directory / name).readlink() == target:
                continue
            # Another process may be doing the same: a rename is atomic, and both results are the same.
            link = unfinished(directory / name)
            link.symlink_to(target)
            link.replace(directory / name)
    return directory


def built_stand_in(name: str, cache: Path | None = None) -> Path:
    """A stand-in as a program finds it that may want any of them, built where it is not yet."""
    (library,) = (one for one in LIBRARIES if one.name == name)
    compiler = host_cxx()
    folder = _places(compiler, cache or default_cache(), True)[library]
    _stand_in(library, folder, compiler, True)
    return folder / library.soname


def _places(compiler: Sequence[str], store: Path, with_needs: bool) -> dict[Library, Path]:
    needs = {library: needed_by(library) if with_needs else () for library in LIBRARIES}
    return {one: store / f"{one.name}-{_identity(one, compiler, needs[one])}" for one in LIBRARIES}


def _stand_in(library: Library, folder: Path, compiler: Sequence[str], with_needs: bool) -> None:
    if not (folder / library.soname).exists():
        with one_builder(folder):
            if not (folder / library.soname).exists():
                build_library(library, folder, compiler, needed_by(library) if with_needs else ())


def _on_call(compiler: Sequence[str], store: Path) -> Path:
    names = {one.name: (one.soname, needed_by(one), declared_names(one)) for one in LIBRARIES}
    folder = store / f"on-call-{identity((*compiler, repr(sorted(names.items()))))}"
    build_on_call(folder, names, compiler, _run)
    return folder


def needed_by(library: Library) -> tuple[str, ...]:
    """Sonames that the real library is linked against, as far as the emulator has them."""
    if library.name not in NEEDS:
        return ()
    sonames = {one.name: one.soname for one in LIBRARIES}
    return (RUNTIME_SONAME, *(sonames[name] for name in NEEDS[library.name]))


def needed_libraries(executable: Path) -> tuple[str, ...]:
    """Sonames of the stand-ins that a program names anywhere: linked against, or loaded while it runs."""
    image = executable.read_bytes()
    return tuple(library.soname for library in LIBRARIES if f"lib{library.name}.so".encode() in image)


def libraries_with(functions: Collection[str]) -> tuple[str, ...]:
    """The libraries that have one of these functions, as -l names them."""
    return tuple(library.name for library in LIBRARIES if not set(declared_names(library)).isdisjoint(functions))


def host_cxx() -> tuple[str, ...]:
    """The C++ compiler and its -O level: $KPT_HOST_CXX, a system one, or PyPI's ziglang. -O2 where none is chosen."""
    if chosen := os.environ.get("KPT_HOST_CXX", "").split():
        return (*chosen, *(() if any(word.startswith("-O") for word in chosen) else ("-O2",)))
    for name in ("g++", "clang++", "c++"):
        if found := shutil.which(name):
            return found, "-O2"
    if importlib.util.find_spec("ziglang") is not None:
        return (*python_module("ziglang"), "c++", "-O2")
    raise LibraryBuildError(
        "no C++ compiler for the emulator's libraries: install g++ or clang++, or pip install ziglang"
    )


def host_blas() -> Path | None:
    """The ILP64 OpenBLAS that the stand-ins load: $KPT_EMULATE_BLAS, scipy-openblas64's or NumPy's."""
    if chosen := os.environ.get("KPT_EMULATE_BLAS"):
        return Path(chosen)
    candidates: list[Path] = []
    for package, inside in (("scipy_openblas64", "lib"), ("numpy", "../numpy.libs")):
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent / inside
            candidates += sorted(folder.resolve().glob("libscipy_openblas64_*.so"))
    return next(iter(candidates), None)


def build_library(library: Library, directory: Path, compiler: Sequence[str], needs: Sequence[str] = ()) -> Path:
    """Compile and link one stand-in into `directory`, with NEEDED entries for `needs`; returns its path."""
    work = unfinished(directory / "build")
    work.mkdir(parents=True, exist_ok=True)
    try:
        sources = [NATIVE / source for source in (*COMMON, *library.sources)]
        for name, text in generated_sources(library).items():
            (work / name).write_text(text)
            sources.append(work / name)
        blas = f'-DKPT_BLAS_PATH="{host_blas() or ""}"'
        command = [*compiler, *FLAGS, *library.defines, blas, f"-I{NATIVE}", f"-I{NATIVE / 'blas'}"]
        store = directory.parent / "library-objects"
        with (
            first_build(f"the CPU's {library.name}", len(sources), directory) as part_done,
            ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool,
        ):
            objects = list(pool.map(lambda source: _object(source, command, store, part_done), sources))
        made, exports = work / library.soname, work / "exports.map"
        # Nothing but the real library's names: the stand-ins share C++ code that differs in status codes.
        exports.write_text(f"{{ global: {'; '.join(declared_names(library))}; local: *; }};\n")
        _run([*compiler, *LINK_FLAGS, f"-Wl,-soname,{library.soname}", f"-Wl,--version-script={exports}",
              "-o", str(made),
              *map(str, objects), *_named(needs, compiler, work), "-ldl"])  # fmt: skip
        made.replace(directory / library.soname)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return directory / library.soname


def _named(sonames: Sequence[str], compiler: Sequence[str], work: Path) -> list[str]:
    """Words for the linker that make NEEDED entries: empty libraries of those names are linked."""
    if not sonames:
        return []
    source = work / "nothing.cpp"
    source.write_text("")
    words = ["-Wl,--no-as-needed"]
    for soname in sonames:
        (work / "needs").mkdir(exist_ok=True)
        empty = work / "needs" / soname
        _run([*compiler, *LINK_FLAGS, "-fPIC", f"-Wl,-soname,{soname}", "-o", str(empty), str(source), "-ldl"])
        words.append(str(empty))
    return words


def generated_sources(library: Library) -> dict[str, str]:
    """File name -> C++ text of what is written out from tables for a library."""
    names = declared_names(library)
    files = {"missing.cpp": missing_source(names, library.not_supported)}
    if library.blas:
        routines = read_routines((NATIVE / "blas" / "calls.txt").read_text())
        half = len(routines) // 2
        files["blas_1.cpp"] = blas_source(library.name, routines[:half], set(names))
        files["blas_2.cpp"] = blas_source(library.name, routines[half:], set(names))
    return files


def declared_names(library: Library) -> list[str]:
    """Every function that the real library's headers declare."""
    text = (NATIVE / "symbols" / f"{library.symbols or library.name}.txt").read_text()
    return [line.split()[0] for line in text.splitlines()]


def _names(library: Library, name: str) -> bool:
    plain = name.removeprefix("-l").removeprefix("lib").split(".so")[0]
    return plain == library.name


def _identity(library: Library, compiler: Sequence[str], needs: Sequence[str]) -> str:
    digest = hashlib.sha256()
    for part in (*compiler, *FLAGS, *LINK_FLAGS, repr(library), str(host_blas()), *needs):
        digest.update(part.encode() + b"\0")
    for text in generated_sources(library).values():
        digest.update(_with_includes(NATIVE / "blas", text))
    for source in (*COMMON, *library.sources):
        digest.update(_with_includes((NATIVE / source).parent, (NATIVE / source).read_text()))
    return digest.hexdigest()[:16]


def _object(source: Path, command: Sequence[str], store: Path, done: Callable[[], None]) -> Path:
    """A source compiled. Stand-ins have sources in common: one that is compiled with the same flags serves them all."""
    digest = hashlib.sha256("\0".join(command).encode() + _with_includes(source.parent, source.read_text()))
    target = store / f"{source.stem}-{digest.hexdigest()[:24]}.o"
    with one_builder(target):
        if not target.exists():
            made = unfinished(target)
            _run([*command, "-c", str(source), "-o", str(made)])
            made.replace(target)
    done()
    return target


def _with_includes(folder: Path, text: str) -> bytes:
    """A source's text and that of every file of ours that it includes."""
    texts, seen = [(folder, text)], set[Path]()
    found = b""
    while texts:
        folder, text = texts.pop()
        found += text.encode() + b"\0"
        for name in _LOCAL_INCLUDE.findall(text):
            path = next(one for one in (folder / name, NATIVE / name, NATIVE / "blas" / name) if one.exists()).resolve()
            if path not in seen:
                seen.add(path)
                texts.append((path.parent, path.read_text()))
    return found


def _run(command: Sequence[str]) -> None:
    done = run_child(command)
    if done.returncode:
        raise LibraryBuildError(f"{' '.join(command[:2])} failed on {command[-3]}:\n{done.stderr[-3000:]}")
