"""Branches that AMD may leave out because they compute nothing."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.branches import is_without_work


@pytest.mark.parametrize(
    "body",
    [
        b'asm volatile("griddepcontrol.wait;");',
        b'asm volatile("griddepcontrol.launch_dependents;" ::: "memory");',
        b"cudaGridDependencySynchronize();",
        b'asm("trap;");',
        b'printf("needs sm_90"); assert(false);',
        b"// nothing\n",
    ],
)
def test_no_work(body: bytes) -> None:
    assert is_without_work(b"\n  " + body + b"\n")


@pytest.mark.parametrize(
    "body",
    [
        b'asm volatile("griddepcontrol.wait;"); x = 1;',
        b'asm volatile("wgmma.fence.sync.aligned;");',
        b'asm volatile("griddepcontrol.wait;" : "=r"(f(x)));',
        b"x = 1;",
    ],
)
def test_work(body: bytes) -> None:
    assert not is_without_work(b"\n  " + body + b"\n")
