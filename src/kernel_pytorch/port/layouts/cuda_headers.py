"""What CMake compiles in a project whose extensions torch builds: torch's build renames its sources, CMake's does not.

Where CMake finds torch, it has torch's hipify rename the sources of its targets, as setup.py does. Elsewhere a folder
of headers with CUDA's own file names, one for each that the project includes, gives the sources HIP's headers and
CUDA's names for what is in them. Only the HIP build looks there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.read_file import read_bytes, read_if_there
from kernel_pytorch.port.build_files.cmake import PLATFORM, SOURCES
from kernel_pytorch.port.build_files.findcuda import MODULE
from kernel_pytorch.port.names.compat_header import Needs, compat_header

FOLDER = "kpt_cuda_headers"
NAMES = "kpt_cuda_names.h"
MODULE_OF_HIPIFY = "kpt_hipify_sources.cmake"
_HIPIFIED_SOURCES = f"""
if(USE_HIP)
  # The sources of this folder's targets, as torch's hipify renames them.
  include("${{CMAKE_CURRENT_LIST_DIR}}/{MODULE_OF_HIPIFY}")
  get_property(kpt_targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(kpt_target IN LISTS kpt_targets)
    kpt_hipify_target(${{kpt_target}})
  endforeach()
endif()
"""
_HIP_BEGINS = re.compile(
    rf"^(?P<indent>[ \t]*)(?:{re.escape(PLATFORM)}|include\([^\n]*{re.escape(MODULE)}\"\))[ \t]*(?P<newline>\r?\n)",
    re.MULTILINE,
)
_FINDS_TORCH = re.compile(rb"find_package\s*\(\s*Torch\b", re.IGNORECASE)


def is_cuda_header_of_ours(path: str) -> bool:
    """Whether a file is one of these headers, in a project ported before."""
    return FOLDER in PurePosixPath(path).parts


def with_cuda_headers(
    root: Path, patches: Sequence[Patch], needs: Sequence[Needs], cmake_files: Iterable[str]
) -> list[Patch]:
    """The patches with these headers for every CMake project of its own, and its CMakeLists.txt that names them.

    Where CMake looks for torch, its hipify renames the sources: how a ROCm torch names its headers differs by version.
    """
    finds_torch = [PurePosixPath(path) for path in cmake_files if _FINDS_TORCH.search(read_bytes(root / path, root))]
    done: list[Patch] = []
    for patch in patches:
        home = PurePosixPath(patch.path).parent
        if PurePosixPath(patch.path).name != "CMakeLists.txt":
            done.append(patch)
            continue
        if any(path.is_relative_to(home) or home.is_relative_to(path.parent) for path in finds_torch):
            done += _hipified(root, home, patch)
            continue
        text = patch.after.decode("latin-1")
        after, count = _HIP_BEGINS.subn(_named, text, count=1)
        done.append(replace(patch, after=after.encode("latin-1")) if count else patch)
        done += _headers(root, home / FOLDER, needs) if count else ()
    return done


def _hipified(root: Path, home: PurePosixPath, patch: Patch) -> list[Patch]:
    """The file with its targets' sources renamed by torch's hipify, and the module that has it done."""
    after = patch.after
    for newline in (b"\n", b"\r\n"):
        plain, renamed = (text.encode().replace(b"\n", newline) for text in (SOURCES, _HIPIFIED_SOURCES))
        after = after.replace(plain, renamed)
    if after == patch.after:
        return [patch]
    path = (home / MODULE_OF_HIPIFY).as_posix()
    text = files("kernel_pytorch.port.tables").joinpath(MODULE_OF_HIPIFY).read_bytes()
    return [replace(patch, after=after), Patch(path, read_if_there(root / path, root), text, patch.codes)]


def _named(found: re.Match[str]) -> str:
    indent, newline = found["indent"], found["newline"]
    lines = (
        "# CUDA's names for HIP's things: no other tool renames the sources of this build.",
        f'include_directories(BEFORE "${{CMAKE_CURRENT_LIST_DIR}}/{FOLDER}")',
        f'add_compile_options("$<$<COMPILE_LANGUAGE:HIP>:SHELL:-include {NAMES}>")',
    )
    return found[0] + "".join(f"{indent}{line}{newline}" for line in lines)


def _headers(root: Path, folder: PurePosixPath, needs: Sequence[Needs]) -> list[Patch]:
    partners: dict[str, str | None] = {}
    for one in needs:
        partners.update(one.headers)
    texts = {NAMES: compat_header(needs)}
    for name, partner in sorted(partners.items()):
        if not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts:
            include = f"#include <{partner}>\n" if partner is not None else ""
            texts[name] = f"// Made by `kpt port`: CUDA's {name} for HIP.\n#pragma once\n#include <{NAMES}>\n{include}"
    paths = {(folder / name).as_posix(): text for name, text in texts.items()}
    return [Patch(path, read_if_there(root / path, root), text.encode()) for path, text in paths.items()]
