"""The commands and variables of CMake's old FindCUDA module for HIP, as one file beside the project's own.

find_package(CUDA) has no HIP twin, and its commands and variables are used all over a project. One file that gives
them all leaves every other line of the project as it is. What it knows about flags and libraries comes of the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.read_file import read_bytes, read_if_there
from kernel_pytorch.port.build_files.nvcc_flags import HIP_ARCH, WERROR_KINDS, flag_table, libraries

MODULE = "kpt_findcuda_hip.cmake"
INCLUDE = f'include("${{CMAKE_CURRENT_LIST_DIR}}/{MODULE}")'
# FindCUDA's variables for the libraries, by CUDA's name.
_VARIABLES = {
    "cublas": "CUDA_CUBLAS_LIBRARIES",
    "cufft": "CUDA_CUFFT_LIBRARIES",
    "curand": "CUDA_curand_LIBRARY",
    "cusparse": "CUDA_cusparse_LIBRARY",
    "cusolver": "CUDA_cusolver_LIBRARY",
    "nvrtc": "CUDA_nvrtc_LIBRARY",
}
_MARKED = "  set_source_files_properties(${kpt_sources} PROPERTIES LANGUAGE HIP)"
_TWINS = '  list(TRANSFORM kpt_arguments REPLACE "\\\\.cu$" ".hip")'


def findcuda_module(has_twins: bool, used: str) -> str:
    """The text of the file. In the copy layout a .cu source's .hip twin is built in its place.

    `used` is the text of the project's own CMake files: library variables that it does not name are left out.
    """
    text = files("kernel_pytorch.port.tables").joinpath(MODULE).read_text(encoding="utf-8")
    for place, lines in {
        "@WARNINGS@": iter(_warnings(used)),
        "@LIBRARIES@": _library_variables(used),
        "@REPLACED@": _replaced(),
        "@LISTS@": _lists(),
        "@FOUND@": _found(),
        "@SOURCES@": iter(_sources(has_twins)),
    }.items():
        text = text.replace(f"{place}\n", "".join(f"{line}\n" for line in lines))
    return text


def findcuda_patches(root: Path, patches: Sequence[Patch], has_twins: bool, cmake_files: Iterable[str]) -> list[Patch]:
    """The patches with their include made to reach the file, and the file itself, once for the project."""
    named = INCLUDE.encode()
    if not any(named in patch.after for patch in patches):
        return list(patches)
    home = PurePosixPath("cmake") if (root / "cmake").is_dir() else PurePosixPath()
    path = (home / MODULE).as_posix()
    done = [replace(patch, after=patch.after.replace(named, _reaching(patch.path, home))) for patch in patches]
    before = read_if_there(root / path, root)
    used = "".join(
        read_bytes(root / name, root).decode("latin-1") for name in cmake_files if PurePosixPath(name).name != MODULE
    )
    return [*done, Patch(path, before, findcuda_module(has_twins, used).encode(), ("KP402",))]


def _reaching(path: str, home: PurePosixPath) -> bytes:
    folder = PurePosixPath(path).parent
    if folder == home:
        return INCLUDE.encode()
    climb = "/".join([*(".." for _ in folder.parts), *home.parts, MODULE])
    return f'include("${{CMAKE_CURRENT_LIST_DIR}}/{climb}")'.encode()


def _warnings(used: str) -> list[str]:
    """A line for a project that makes warnings errors and, as CUDA lets it, ignores some results."""
    if "-Werror" not in used:
        return []
    return [
        "# HIP's functions are [[nodiscard]], CUDA's are not.",
        "add_compile_options(-Wno-error=unused-result -Wno-error=unused-value)",
    ]


def _library_variables(used: str) -> Iterator[str]:
    for name, variable in _VARIABLES.items():
        if variable not in used:
            continue
        row = libraries()[name]
        yield f"find_package({row.cmake_package} QUIET)"
        yield f"if(TARGET {row.cmake_target})"
        yield f"  set({variable} {row.cmake_target})"
        yield "endif()"


def _replaced() -> Iterator[str]:
    """Branches of the flag loop for words that have another spelling."""
    spellings: dict[str, list[str]] = {}
    for row in flag_table().values():
        if row.action == "replace" and row.hip != HIP_ARCH:
            spellings.setdefault(row.hip, []).append(row.flag)
    for hip, flags in spellings.items():
        yield f'    elseif(word MATCHES "^({"|".join(_escaped(flag) for flag in flags)})$")'
        quoted = " ".join(f'"{word}"' for word in hip.split())
        yield f"      list(APPEND flags {quoted})"
    relocatable = [row.flag for row in flag_table().values() if row.action == "relocatable"]
    yield f'    elseif(name MATCHES "^({"|".join(map(_escaped, relocatable))})$")'
    yield '      if(NOT value STREQUAL "false")'
    yield "        list(APPEND flags -fgpu-rdc)"
    yield "      endif()"
    respelled: dict[str, list[str]] = {}
    for row in flag_table().values():
        if row.action == "respell":
            respelled.setdefault(row.hip, []).append(row.flag)
    for hip, flags in respelled.items():
        yield f'    elseif(name MATCHES "^({"|".join(map(_escaped, flags))})$")'
        yield f'      list(APPEND flags "{hip}=${{value}}")'


def _lists() -> Iterator[str]:
    rows = list(flag_table().values())
    lists = {
        "_kpt_flags_with_value": [row.flag for row in rows if row.value in ("joined-or-next", "next")],
        "_kpt_flags_dropped": [
            row.flag
            for row in rows
            if row.action in ("drop", "host-compiler", "language") or (row.action == "replace" and row.hip == HIP_ARCH)
        ]
        + list(WERROR_KINDS),
        "_kpt_flags_unwrapped": [row.flag for row in rows if row.action == "unwrap"],
        "_kpt_flags_refused": [row.flag for row in rows if row.action == "person"],
    }
    for name, flags in lists.items():
        yield f"set({name}"
        line = "   "
        for flag in flags:
            if len(line) + len(flag) > 110:
                yield line
                line = "   "
            line += f" {flag}"
        yield line + ")"


def _found() -> Iterator[str]:
    """Which library stands for one of CUDA's in cuda_find_library_local_first."""
    by_name: dict[str, list[str]] = {}
    for row in libraries().values():
        if row.hip != "?":
            by_name.setdefault(row.hip, []).append(row.cuda)
    lead = "if"
    for hip, names in by_name.items():
        yield f'  {lead}(kpt_library MATCHES "^({"|".join(names)})$")'
        yield f'    set(kpt_library "{hip}")'
        lead = "elseif"
    yield "  endif()"


def _sources(has_twins: bool) -> list[str]:
    return [_TWINS] if has_twins else ["  if(kpt_sources)", f"  {_MARKED}", "  endif()"]


def _escaped(flag: str) -> str:
    return re.sub(r"([.+])", r"\\\\\1", flag)
