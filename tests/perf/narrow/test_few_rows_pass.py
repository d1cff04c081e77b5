"""Products of 2 to 16 rows in a graph, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import Step
from kernel_pytorch.perf.ladder.rungs import few_rows
from tests.perf.decode.small_decoder import passed


def products(graph: Any) -> int:
    return sum(getattr(node.target, "namespace", "") == "kpt_narrow" for node in graph.nodes)


@pytest.mark.parametrize(
    ("rows", "dtype", "expected"),
    [
        (2, torch.bfloat16, 2),
        (16, torch.float16, 2),
        (17, torch.bfloat16, 0),
        (1, torch.bfloat16, 0),
        (4, torch.float32, 0),
    ],
)
def test_which_products_are_taken(rows: int, dtype: torch.dtype, expected: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 32, bias=False)).to(dtype).eval()
    model.requires_grad_(False)
    x, graphs = torch.randn(rows, 64).to(dtype), []
    with torch.no_grad():
        found = passed(model, graphs, ("few rows",))(x)
        torch.testing.assert_close(found, model(x), rtol=2e-2, atol=2e-2)
    assert products(graphs[0]) == expected


def test_a_product_of_two_inputs_is_left_alone() -> None:
    graphs: list[Any] = []
    x, y = torch.randn(4, 64).bfloat16(), torch.randn(64, 32).bfloat16()
    passed(lambda x, y: x @ y, graphs, ("few rows",))(x, y)  # not laid out as the weight of a linear layer
    assert products(graphs[0]) == 0


def test_the_rung(monkeypatch: pytest.MonkeyPatch) -> None:
    model, given = nn.Linear(8, 8).bfloat16().eval(), Inputs((torch.randn(3, 8).bfloat16(),))
    with pytest.raises(NotApplicable, match="not on a GPU"):
        few_rows.FEW_ROW_KERNELS.find(model, given)
    monkeypatch.setattr(few_rows, "vendor_of", lambda model: "amd")
    assert "1 products of 2 to 16 rows" in few_rows.FEW_ROW_KERNELS.find(model, given)
    with pytest.raises(NotApplicable, match="2 to 16 rows"):
        few_rows.FEW_ROW_KERNELS.find(model, Inputs((torch.randn(1, 8).bfloat16(),)))
    (options,) = few_rows.FEW_ROW_KERNELS.choices(model, given, (Step("one_row_kernels", {"passes": ["one row"]}),))
    assert options["passes"] == ["one row", "few rows"]
    with pytest.raises(NotApplicable, match="already"):
        few_rows.FEW_ROW_KERNELS.choices(model, given, (Step("few_row_kernels", options),))
