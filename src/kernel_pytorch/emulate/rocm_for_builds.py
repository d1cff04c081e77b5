"""Fills the stood-in ROCm of a run with what a build looks for: HIP's headers, and the libraries to link against.

A Makefile names $(ROCM_PATH)/include to the host's compiler and $(ROCM_PATH)/lib to its linker. Nothing is copied: both
folders hold links.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.emulate.libraries import library_directory
from kernel_pytorch.emulate.runtime_build import runtime_directory
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.merged_headers import host_header_roots, merge_headers

_DONE = ".filled"


def fill_rocm(rocm: Path) -> None:
    """Once for each runtime and set of libraries. Without a HIP compiler there are no headers, and nothing builds."""
    filled_with = f"{runtime_directory()}\n{library_directory(None)}\n"
    if _is_filled(rocm, filled_with):
        return
    with one_builder(rocm / _DONE):
        if _is_filled(rocm, filled_with):
            return
        try:
            merge_headers(rocm / "include", host_header_roots(find_toolchain()))
        except ToolchainNotFoundError:
            return
        link_libraries(rocm, (runtime_directory(), library_directory(None)))
        (rocm / _DONE).write_text(filled_with)


def link_libraries(rocm: Path, folders: Iterable[Path]) -> None:
    """Links to the libraries of these folders, in ROCm's."""
    for folder in folders:
        for library in folder.glob("*.so*"):
            link(rocm / "lib" / library.name, library)


def link(place: Path, to: Path) -> None:
    """A link at `place`, in place of the one that is there."""
    if place.is_symlink():
        place.unlink()
    place.symlink_to(to.resolve())


def _is_filled(rocm: Path, filled_with: str) -> bool:
    return (rocm / _DONE).is_file() and (rocm / _DONE).read_text() == filled_with
