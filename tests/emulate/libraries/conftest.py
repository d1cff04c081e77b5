"""Builds each stand-in once per source state and hands it out as a ctypes library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.emulate.libraries import LIBRARIES, LibraryBuildError, library_directory

Load = Callable[[str], ctypes.CDLL]


@pytest.fixture(scope="session")
def load() -> Load:
    """Load a stand-in by name; it is built in the usual cache if it is not there yet."""

    def load_library(name: str) -> ctypes.CDLL:
        try:
            directory = library_directory([name])
        except LibraryBuildError as error:
            pytest.skip(f"cannot build {name}: {error}")
        library = next(library for library in LIBRARIES if library.name == name)
        return ctypes.CDLL(str(directory / library.soname))

    return load_library


@pytest.fixture(scope="session")
def rocm_headers() -> Path:
    """ROCm's unpacked include directory, or a skip that says how to get it."""
    include = Path(__file__).parents[3] / ".rocm" / "include"
    if not (include / "hipblas" / "hipblas.h").exists():
        pytest.skip("no ROCm headers: run scripts/fetch_rocm_debian.py")
    return include
