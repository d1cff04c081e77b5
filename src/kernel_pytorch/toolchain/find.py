"""Finds a HIP compiler, HIP headers and AMD's device libraries, and says which and why.

Order of compilers: ROCm's, a system clang >= 18 with the AMDGPU back end, the clang inside PyPI's ziglang.
Order of headers: ROCm's, Debian's (installed or unpacked), those inside PyPI's triton completed by ours.
Nothing is downloaded and nothing is probed when this module is imported.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.optional_packages import pip_install
from kernel_pytorch.core.process import run_child
from kernel_pytorch.toolchain import cxx_headers
from kernel_pytorch.toolchain.roots import (
    OWN_INCLUDE,
    WRAPPER_INCLUDE,
    HeaderRoot,
    header_root,
    package_directory,
    rocm_roots,
    triton_root,
    unpacked_root,
)

KINDS = ("rocm", "clang", "zig")
HEADERS = ("rocm", "debian", "triton")
OLDEST_CLANG = 18

HOW_TO_GET_ONE = (
    f"{pip_install('toolchain')} (the clang in ziglang and the HIP headers in triton; no root needed), "
    "or install ROCm and set ROCM_PATH"
)


class ToolchainNotFoundError(UsageError):
    """No HIP compiler that can be used here. The message says what was looked at and how to get one."""


@dataclass(frozen=True)
class Toolchain:
    """One compiler with one set of headers and device libraries, ready for `compile_device`.

    `wrapper` is the header included before every translation unit: clang's own or ours. `device_libs` are the
    bitcode files linked into device code; where `device_lib_dir` is set the driver picks them from there.
    """

    kind: str
    compiler: tuple[str, ...]
    linker: tuple[str, ...] | None
    version: str
    headers: str
    include_dirs: tuple[Path, ...]
    device_libs: tuple[Path, ...]
    device_lib_dir: Path | None
    host_flags: tuple[str, ...]
    wrapper: str | None
    rocm_path: Path | None
    notes: tuple[str, ...]
    reason: str

    def fingerprint(self) -> str:
        """A hash that changes when the compiler, the headers or the device libraries do. Starts no process."""
        digest = hashlib.sha256()
        for part in (self.kind, self.version, self.headers, str(self.wrapper), *self.host_flags, *self.compiler):
            digest.update(part.encode() + b"\0")
        files = [Path(self.compiler[0]), *self.device_libs]
        files += [path / "hip/hip_version.h" for path in self.include_dirs]
        if self.device_lib_dir is not None:
            files.append(self.device_lib_dir / "ocml.bc")
        for path in files:
            if path.is_file():
                stat = path.stat()
                digest.update(f"{path}:{stat.st_size}:{stat.st_mtime_ns}\0".encode())
        for path in sorted(path for path in OWN_INCLUDE.rglob("*") if path.is_file()):
            digest.update(path.read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class Candidate:
    """One place a compiler could come from: whether it can be used, and what it lacks if not."""

    kind: str
    found: bool
    lacks: tuple[str, ...]
    note: str
    toolchain: Toolchain | None = None


def find_toolchain(
    prefer: str | None = None,
    rocm_root: Path | None = None,
    *,
    headers: str | None = None,
    cxx: str | None = None,
) -> Toolchain:
    """The first usable toolchain, or the one of the kind asked for.

    `prefer` (or KPT_TOOLCHAIN) is "rocm", "clang" or "zig"; `rocm_root` (or KPT_ROCM_ROOT) a ROCm or unpacked Debian
    tree; `headers` (or KPT_HEADERS) "rocm", "debian" or "triton"; `cxx` "system" or "zig" fixes whose C++ library
    zig's clang uses. Raises ToolchainNotFoundError.
    """
    prefer = _choice("KPT_TOOLCHAIN", prefer, KINDS)
    headers = _choice("KPT_HEADERS", headers, HEADERS)
    cxx = _choice("KPT_CXX_HEADERS", cxx, ("system", "zig"))
    looked: list[Candidate] = []
    for candidate in _candidates(prefer, rocm_root, headers, cxx):
        if candidate.toolchain is not None:
            return candidate.toolchain
        looked.append(candidate)
    tried = "; ".join(f"{c.kind}: no {' and no '.join(c.lacks)}" for c in looked)
    raise ToolchainNotFoundError(f"no HIP compiler found ({tried}). To get one: {HOW_TO_GET_ONE}")


def candidates(rocm_root: Path | None = None) -> tuple[Candidate, ...]:
    """Every place that was looked at, in order of preference, with what each lacks."""
    return tuple(_candidates(None, rocm_root, None, None))


def _choice(variable: str, value: str | None, allowed: tuple[str, ...]) -> str | None:
    chosen = value if value is not None else os.environ.get(variable) or None
    if chosen is not None and chosen not in allowed:
        raise ToolchainNotFoundError(f"{variable}={chosen!r} is not known: expected one of {', '.join(allowed)}")
    return chosen


def _candidates(prefer: str | None, root: Path | None, headers: str | None, cxx: str | None) -> Iterator[Candidate]:
    tree = unpacked_root(root)
    unpacked = header_root(tree) if tree is not None else None
    if tree is not None and unpacked is None and (root is not None or os.environ.get("KPT_ROCM_ROOT")):
        raise ToolchainNotFoundError(
            f"{tree} holds no HIP headers: expected include/hip/hip_runtime.h (ROCm) or usr/include/hip/hip_runtime.h "
            "(an unpacked Debian tree) below it"
        )
    if prefer in (None, "rocm"):
        yield _rocm(unpacked, headers)
    if prefer in (None, "clang"):
        yield _clang(unpacked, headers)
    if prefer in (None, "zig"):
        yield _zig(unpacked, headers, cxx)


def _rocm(unpacked: HeaderRoot | None, wanted: str | None) -> Candidate:
    if wanted not in (None, "rocm"):
        return Candidate("rocm", False, (f"{wanted} headers",), "ROCm's compiler is used with ROCm's own headers")
    roots = [unpacked] if unpacked is not None and unpacked.kind == "rocm" else []
    roots += [root for path in rocm_roots() if (root := header_root(path)) is not None]
    if not roots:
        looked = "looked at ROCM_PATH, ROCM_HOME, HIP_PATH, /opt/rocm, PATH"
        return Candidate("rocm", False, ("ROCm installation",), looked)
    lacks: list[str] = []
    for root in roots:
        compiler = _first_file(root.root, ("llvm/bin/amdclang++", "llvm/bin/clang++", "lib/llvm/bin/clang++"))
        if compiler is None:
            lacks.append(f"clang below {root.root}")
            continue
        version = clang_version((str(compiler),))
        if version is None:
            lacks.append(f"working {compiler}")
            continue
        linker = compiler.with_name("ld.lld")
        toolchain = Toolchain(
            kind="rocm",
            compiler=(str(compiler),),
            linker=(str(linker),) if linker.is_file() else _any_linker(),
            version=f"clang {version}",
            headers="rocm",
            include_dirs=root.include_dirs,
            device_libs=(),
            device_lib_dir=root.bitcode_dir,
            host_flags=(),
            wrapper=None,
            rocm_path=root.root,
            notes=(),
            reason=f"ROCm's own compiler and headers in {root.root}",
        )
        return Candidate("rocm", True, (), toolchain.reason, toolchain)
    return Candidate("rocm", False, tuple(lacks), "ROCm headers without a compiler that runs")


def _clang(unpacked: HeaderRoot | None, wanted: str | None) -> Candidate:
    rejected: list[str] = []
    for path in _system_clangs(unpacked):
        version = clang_version((str(path),))
        if version is None:
            rejected.append(f"{path} does not run")
        elif int(version.split(".")[0]) < OLDEST_CLANG:
            rejected.append(f"{path} is clang {version}, {OLDEST_CLANG} is needed")
        elif not _has_amdgpu(path):
            rejected.append(f"{path} has no AMDGPU back end")
        else:
            return _clang_with_headers(path, version, unpacked, wanted)
    lack = f"clang >= {OLDEST_CLANG} with AMDGPU"
    return Candidate("clang", False, (lack,), "; ".join(rejected) or "no clang on PATH")


def _clang_with_headers(path: Path, version: str, unpacked: HeaderRoot | None, wanted: str | None) -> Candidate:
    root = _header_root_for(unpacked, wanted)
    if root is None:
        return Candidate("clang", False, (f"{wanted or 'HIP'} headers",), f"clang {version} at {path}")
    resource = _resource_dir(path)
    own_wrapper = resource is not None and (resource / "include/__clang_hip_runtime_wrapper.h").is_file()
    # A driver that has clang's own wrapper also puts the C++ wrappers beside it on the search path: ours would clash.
    use_ours = not own_wrapper
    beside = next((p for p in (path.with_name("ld.lld"), path.resolve().with_name("ld.lld")) if p.is_file()), None)
    linker = (str(beside),) if beside is not None else _any_linker()
    if linker is None:
        return Candidate("clang", False, ("ld.lld",), f"clang {version} at {path}, no linker for AMD code objects")
    include_dirs = root.include_dirs
    if use_ours:
        include_dirs = (WRAPPER_INCLUDE, *include_dirs)
    toolchain = Toolchain(
        kind="clang",
        compiler=(str(path),),
        linker=linker,
        version=f"clang {version}",
        headers=root.kind,
        include_dirs=include_dirs,
        device_libs=root.bitcode,
        device_lib_dir=root.bitcode_dir,
        host_flags=(),
        wrapper="kpt_hip_wrapper.h" if use_ours else "__clang_hip_runtime_wrapper.h",
        rocm_path=None,
        notes=_header_notes(root),
        reason=f"clang {version} at {path} has the AMDGPU back end; headers: {_describe(root)}",
    )
    return Candidate("clang", True, (), toolchain.reason, toolchain)


def _zig(unpacked: HeaderRoot | None, wanted: str | None, cxx: str | None) -> Candidate:
    directory = package_directory("ziglang")
    binary = directory / ("zig.exe" if os.name == "nt" else "zig") if directory is not None else None
    if directory is None or binary is None or not binary.is_file():
        return Candidate("zig", False, ("ziglang package",), "pip install ziglang")
    root = _header_root_for(unpacked, wanted)
    if root is None:
        return Candidate("zig", False, (f"{wanted or 'HIP'} headers",), "pip install triton for the headers")
    version = _installed_version(directory)
    source = cxx or ("system" if cxx_headers.system_headers_present() else "zig")
    library = "GCC's C++ headers of this machine" if source == "system" else "zig's own libc++ headers"
    toolchain = Toolchain(
        kind="zig",
        compiler=(str(binary), "clang"),
        linker=(str(binary), "ld.lld"),
        version=f"ziglang {version}",
        headers=root.kind,
        include_dirs=(WRAPPER_INCLUDE, *root.include_dirs),
        device_libs=root.bitcode,
        device_lib_dir=root.bitcode_dir,
        host_flags=cxx_headers.zig_host_flags(directory / "lib", source),
        wrapper="kpt_hip_wrapper.h",
        rocm_path=None,
        notes=(f"C++ library: {library}", *_header_notes(root)),
        reason=f"the clang inside PyPI's ziglang {version}; headers: {_describe(root)}",
    )
    return Candidate("zig", True, (), toolchain.reason, toolchain)


def _installed_version(package: Path) -> str:
    # importlib.metadata would answer the same, and takes longer to import than a cached kernel takes to load.
    records = sorted(package.parent.glob(f"{package.name}-*.dist-info"))
    return records[-1].name.removeprefix(f"{package.name}-").removesuffix(".dist-info") if records else "unknown"


def _header_root_for(unpacked: HeaderRoot | None, wanted: str | None) -> HeaderRoot | None:
    options = [unpacked] if unpacked is not None else []
    options += [root for path in rocm_roots() if (root := header_root(path)) is not None]
    installed = header_root(Path("/"))
    # Debian 12's own HIP 5.2 headers predate every target since gfx942: an installed tree needs ROCm 6 or newer.
    if installed is not None and _hip_major(installed) >= 6:
        options.append(installed)
    triton = triton_root()
    options += [triton] if triton is not None else []
    usable = [root for root in options if root.bitcode or root.bitcode_dir is not None]
    return next((root for root in usable if wanted in (None, root.kind)), None)


def _hip_major(root: HeaderRoot) -> int:
    for directory in root.include_dirs:
        header = directory / "hip/hip_version.h"
        if header.is_file():
            match = re.search(r"HIP_VERSION_MAJOR\s+(\d+)", header.read_text(errors="replace"))
            if match:
                return int(match.group(1))
    return 0


def _describe(root: HeaderRoot) -> str:
    names = {
        "rocm": f"ROCm's in {root.root}",
        "debian": f"Debian's ROCm packages in {root.root}",
        "triton": "those in PyPI's triton, completed by kernel-pytorch's own",
    }
    return names[root.kind]


def _header_notes(root: HeaderRoot) -> tuple[str, ...]:
    major = _hip_major(root)
    notes = [f"HIP {major} headers"] if major else []
    if root.kind == "triton":
        notes.append("no vendor library headers (hipBLAS, rocPRIM, hipCUB, rocThrust, ...)")
    return tuple(notes)


def _system_clangs(unpacked: HeaderRoot | None) -> Iterator[Path]:
    if unpacked is not None:
        # bin/ holds scripts that start the unpacked programs with the C library they were built for.
        yield from (path for path in (unpacked.root / "bin/clang",) if path.is_file())
        yield from sorted(unpacked.root.glob("usr/lib/llvm-*/bin/clang"), reverse=True)
    names = ["clang", *(f"clang-{number}" for number in range(23, OLDEST_CLANG - 1, -1))]
    for name in names:
        found = shutil.which(name)
        if found:
            yield Path(found)


def _any_linker() -> tuple[str, ...] | None:
    found = shutil.which("ld.lld") or next(
        (path for number in range(23, OLDEST_CLANG - 1, -1) if (path := shutil.which(f"ld.lld-{number}"))), None
    )
    if found:
        return (found,)
    zig = package_directory("ziglang")
    binary = zig / "zig" if zig is not None else None
    return (str(binary), "ld.lld") if binary is not None and binary.is_file() else None


def _first_file(root: Path, names: tuple[str, ...]) -> Path | None:
    return next((root / name for name in names if (root / name).is_file()), None)


def clang_version(command: tuple[str, ...]) -> str | None:
    """The version a clang reports, or None if it does not run or is no clang."""
    output = _ask(*command, "--version")
    match = re.search(r"clang version (\d+(?:\.\d+)*)", output or "")
    return match.group(1) if match else None


def _has_amdgpu(path: Path) -> bool:
    return "amdgcn" in (_ask(str(path), "--print-targets") or "")


def _resource_dir(path: Path) -> Path | None:
    answer = (_ask(str(path), "-print-resource-dir") or "").strip()
    return Path(answer) if answer and Path(answer).is_dir() else None


def _ask(*command: str) -> str | None:
    try:
        done = run_child(command, timeout_s=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
