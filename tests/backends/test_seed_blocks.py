"""The guide's Python blocks, word for word, each run by itself."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

from kernel_pytorch.backends import amd
from kernel_pytorch.backends.amd import amd_exceptions

from .seed_blocks import BLOCKS, NEEDS_GPU, RAISES, needs_optimizer, run_block

HAS_OPTIMIZER = "AMDOptimizer" in amd._HOME


@pytest.mark.parametrize("name", BLOCKS)
def test_block(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    if needs_optimizer(name) and not HAS_OPTIMIZER:
        pytest.skip("AMDOptimizer lands next")
    if name in NEEDS_GPU and not torch.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError)):
            run_block(name)
        assert "PyTorch version" in capsys.readouterr().out
        return
    if name in RAISES:
        with pytest.raises(getattr(amd_exceptions, RAISES[name])):
            run_block(name)
        return
    run_block(name)


def test_the_blocks_are_all_there() -> None:
    assert len(BLOCKS) == 26
    assert len(set(BLOCKS.values())) == len(BLOCKS)


def test_quick_start_names_its_device(capsys: pytest.CaptureFixture[str]) -> None:
    namespace = run_block("basic_usage")
    out = capsys.readouterr().out
    assert f"Using device: {namespace['backend'].device}" in out
    assert "'device_type'" in out


def test_profiling_is_not_zero_on_the_cpu() -> None:
    summary = run_block("hiputilities")["summary"]
    assert summary["regions"]["forward_pass"]["avg_ms"] > 0


def test_cross_backend_block_leaves_a_model_with_the_same_weights() -> None:
    namespace = run_block("cross_backend_portability")
    state = namespace["amd_model"].state_dict()
    assert list(state) == ["weight", "bias"]
    for key, value in namespace["checkpoint"]["model_state_dict"].items():
        torch.testing.assert_close(state[key].cpu(), value)
