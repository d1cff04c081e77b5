"""Triton kernels are kernels of the build level: compiled for the target, or said not to be."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Status
from kernel_pytorch.port.discover import discover, globs
from kernel_pytorch.verify.build_level import build_level
from kernel_pytorch.verify.settings import read_verify_settings
from kernel_pytorch.verify.triton_build import MOST_KERNELS, triton_checks

KERNEL = """
import torch
import triton
import triton.language as tl


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def run(x: torch.Tensor):
    double[(1,)](x, x.numel(), BLOCK=4096, num_warps=32)
"""


def test_a_launch_that_does_not_fit_fails_where_the_wave_is_64(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    (tmp_path / "ops.py").write_text(KERNEL)
    level, _ = build_level(tmp_path, ("gfx942", "gfx1100"))
    wide, narrow = level.checks
    assert wide.status is Status.FAIL and "2048 threads at wave 64" in wide.detail
    assert narrow.status is Status.PASS and "ops.py:8 double (Triton) for gfx1100" in narrow.check
    (tmp_path / "ops.py").write_text(KERNEL.replace("num_warps=32", "num_warps=16 if torch.version.hip else 32"))
    level, _ = build_level(tmp_path, ("gfx942",))
    assert level.status is Status.PASS


def test_what_is_not_compiled_is_not_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert triton_checks(discover(tmp_path), ("gfx942",)) == []
    (tmp_path / "ops.py").write_text("@triton.jit\n" * (MOST_KERNELS + 1))
    (many,) = triton_checks(discover(tmp_path), ("gfx942",))
    assert many.status is Status.NOT_RUN and "kpt inspect . --triton --arch gfx942" in many.detail
    (tmp_path / "ops.py").write_text(KERNEL)
    assert triton_checks(discover(tmp_path), ("gfx942",), wanted=globs(["csrc/*.cu"])) == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (absent,) = triton_checks(discover(tmp_path), ("gfx942",))
    assert absent.status is Status.NOT_RUN and "triton and torch must be installed" in absent.detail


def test_a_spec_is_a_file_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.kernel_pytorch.verify]\ntriton_spec = "spec.json"\n')
    with pytest.raises(UsageError, match="triton_spec"):
        read_verify_settings(tmp_path)
    (tmp_path / "spec.json").write_text("{}")
    assert read_verify_settings(tmp_path).triton_spec == "spec.json"
