"""The toolchain of PyPI packages alone, for tests that compile."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain

KERNELS = sorted((Path(__file__).parent / "kernels").glob("*.hip"))


@functools.cache
def _find(cxx: str | None) -> Toolchain | str:
    try:
        return find_toolchain("zig", headers="triton", cxx=cxx)
    except ToolchainNotFoundError as missing:
        return str(missing)


def pip_toolchain(cxx: str | None = None) -> Toolchain:
    """zig's clang with triton's headers; skips the test, with the reason, where they are not installed."""
    found = _find(cxx)
    if isinstance(found, str):
        pytest.skip(found)
    return found
