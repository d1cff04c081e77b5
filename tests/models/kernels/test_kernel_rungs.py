"""Rungs that swap the kernels into a model: found by structure, same numbers, gradients, one graph, nothing shared."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from kernel_pytorch.models.fx.rewrite import NotApplicable  # noqa: E402
from kernel_pytorch.models.inputs import Inputs  # noqa: E402
from kernel_pytorch.perf.ladder.rung import Step  # noqa: E402
from kernel_pytorch.perf.ladder.rungs.triton_kernels import RUNGS  # noqa: E402
from tests.models.kernels.test_kernels_interpreted import run_interpreted  # noqa: E402


@pytest.mark.slow
def test_rungs_on_a_small_decoder_in_the_interpreter() -> None:
    assert run_interpreted("rung_checks").endswith("done\n")


@pytest.mark.parametrize("rung", RUNGS, ids=lambda rung: rung.name)
def test_without_a_gpu_they_say_so(rung) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotApplicable, match="not on a GPU"):
        rung.find(torch.nn.Linear(2, 2), Inputs((torch.ones(1, 2),)))


def test_the_kernels_are_forced_only_where_launches_are_free() -> None:
    model, inputs = torch.nn.Linear(2, 2), Inputs()
    assert RUNGS[0].choices(model, inputs, ()) == ({"force": False},)
    assert RUNGS[0].choices(model, inputs, (Step("qkv_fusion"),)) == ({"force": False},)
    for name in ("compile", "regional_compile", "graph_capture"):
        assert RUNGS[0].choices(model, inputs, (Step(name),)) == ({"force": True},)
