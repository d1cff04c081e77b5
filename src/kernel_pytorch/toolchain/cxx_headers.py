"""The C and C++ headers of the host, for a compiler that brings none that it finds by itself.

zig's clang has its built-in headers, libc++ and the C library's headers inside the PyPI package, in places its
driver does not look. With GCC's C++ headers on the machine the driver finds those; without, the package's own
are named one by one, and no C++ library has to be built.
"""

from __future__ import annotations

import platform
import sys
from pathlib import Path

# What `zig c++ -v` passes: libc++ expects these from its build, and zig builds it with these values.
_LIBCXX_DEFINES = (
    "_LIBCPP_ABI_VERSION=1",
    "_LIBCPP_ABI_NAMESPACE=__1",
    "_LIBCPP_HAS_THREADS=1",
    "_LIBCPP_HAS_MONOTONIC_CLOCK=1",
    "_LIBCPP_HAS_TERMINAL=1",
    "_LIBCPP_HAS_MUSL_LIBC=0",
    "_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0",
    "_LIBCPP_HAS_FILESYSTEM=1",
    "_LIBCPP_HAS_RANDOM_DEVICE=1",
    "_LIBCPP_HAS_LOCALIZATION=1",
    "_LIBCPP_HAS_UNICODE=1",
    "_LIBCPP_HAS_WIDE_CHARACTERS=1",
    "_LIBCPP_HAS_TIME_ZONE_DATABASE=1",
    "_LIBCPP_PSTL_BACKEND_SERIAL",
    "_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    "_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
)

# zig picks the C library's version with this; any recent one does for checking and for device code.
_GLIBC_MINOR = 36

_CPU_NAMES = {"x86_64": ("x86_64", "x86"), "amd64": ("x86_64", "x86"), "aarch64": ("aarch64", "aarch64")}


def host_triple() -> str:
    """The Linux triple of this machine's processor; x86-64 where it is one that HIP does not know."""
    return f"{_cpu()[0]}-unknown-linux-gnu"


def system_headers_present() -> bool:
    """True where GCC's C++ headers and the C library's are installed where a clang driver looks for them."""
    if sys.platform != "linux":
        return False
    triples = (f"{_cpu()[0]}-linux-gnu", f"{_cpu()[0]}-redhat-linux", f"{_cpu()[0]}-pc-linux-gnu")
    versions = {
        path.name
        for triple in triples
        for path in Path("/usr/lib/gcc", triple).glob("[0-9]*")
        if (path / "crtbegin.o").is_file()
    }
    has_cxx = any(Path("/usr/include/c++", version, "vector").is_file() for version in versions)
    return has_cxx and Path("/usr/include/stdlib.h").is_file()


def zig_host_flags(zig_lib: Path, source: str) -> tuple[str, ...]:
    """Flags that give zig's clang its headers. `source` is "system" (GCC's C++ library) or "zig" (its own libc++)."""
    target = f"--target={host_triple()}"
    if source == "system":
        return (target, "-resource-dir", str(zig_lib))
    libc = zig_lib / "libc/include"
    family = _cpu()[1]
    directories = (
        zig_lib / "libcxx/include",
        zig_lib / "libcxxabi/include",
        zig_lib / "include",
        libc / f"{family}-linux-gnu",
        libc / "generic-glibc",
        libc / f"{family}-linux-any",
        libc / "any-linux-any",
    )
    flags = [target, "-resource-dir", str(zig_lib), "-nostdinc", "-nostdinc++"]
    for directory in directories:
        flags += ["-isystem", str(directory)]
    flags += [f"-D{define}" for define in _LIBCXX_DEFINES]
    flags.append(f"-D__GLIBC_MINOR__={_GLIBC_MINOR}")
    return tuple(flags)


def _cpu() -> tuple[str, str]:
    return _CPU_NAMES.get(platform.machine().lower(), ("x86_64", "x86"))
