"""The last product and cross entropy in chunks: values, gradients, memory, and what is left alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.kernels.chunked_loss import linear_cross_entropy, register
from kernel_pytorch.models.rewrites.chunked_loss import chunked_loss
from kernel_pytorch.models.rewrites.in_new_tree import rewritten


def gradients(loss: torch.Tensor, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return list(torch.autograd.grad(loss * 1.7, tensors))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("most", [1, 7 * 31, 10**9], ids=["a row", "seven rows", "all rows"])
def test_values_and_gradients(reduction: str, has_bias: bool, most: int) -> None:
    torch.manual_seed(0)
    hidden = torch.randn(23, 16, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(31, 16, dtype=torch.float64, requires_grad=True)
    bias = torch.randn(31, dtype=torch.float64, requires_grad=True) if has_bias else None
    labels = torch.randint(0, 31, (23,))
    labels[[3, 9]] = -100
    tensors = [hidden, weight, *([bias] if bias is not None else [])]
    found = linear_cross_entropy(hidden, weight, bias, labels, reduction=reduction, most_scores=most)
    expected = functional.cross_entropy(
        hidden @ weight.t() + (0 if bias is None else bias), labels, reduction=reduction
    )
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)
    for mine, theirs in zip(gradients(found, tensors), gradients(expected, tensors), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)


def test_in_bfloat16_it_is_as_near_to_fp64_as_torch_is() -> None:
    torch.manual_seed(0)
    hidden, weight = torch.randn(64, 128).bfloat16(), (torch.randn(500, 128) / 11).bfloat16()
    labels = torch.randint(0, 500, (64,))

    def run(kind: torch.dtype, chunked: bool) -> list[torch.Tensor]:
        own = [one.to(kind).requires_grad_() for one in (hidden, weight)]
        if chunked:
            loss = linear_cross_entropy(*own, None, labels, most_scores=4000)
        else:
            loss = functional.cross_entropy(
                functional.linear(*own).float() if kind != torch.float64 else own[0] @ own[1].t(), labels
            )
        return [loss.detach().double(), *(one.double() for one in torch.autograd.grad(loss, own))]

    exact, theirs, mine = run(torch.float64, False), run(torch.bfloat16, False), run(torch.bfloat16, True)
    for right, other, found in zip(exact, theirs, mine, strict=True):
        assert (found - right).norm() <= 1.5 * (other - right).norm() + 1e-6 * right.norm()


def test_all_labels_ignored_and_no_gradients() -> None:
    hidden, weight = torch.randn(4, 8), torch.randn(9, 8)
    labels = torch.full((4,), -100)
    assert linear_cross_entropy(hidden, weight, None, labels).isnan()
    assert float(linear_cross_entropy(hidden, weight, None, labels, reduction="sum")) == 0.0
    frozen = hidden.clone().requires_grad_()
    (only,) = torch.autograd.grad(
        linear_cross_entropy(frozen, weight, None, torch.zeros(4, dtype=torch.long)), [frozen]
    )
    assert only.shape == hidden.shape


def test_the_operator_keeps_to_its_fake_form() -> None:
    hidden, weight = torch.randn(4, 8, requires_grad=True), torch.randn(9, 8, requires_grad=True)
    given = (hidden, weight, None, torch.arange(4), -100, True, 2, [True, True, False])
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(register().linear_cross_entropy.default, given, test_utils=tests)


class Loss(nn.Module):
    """A model that gives its loss, as a training step has it."""

    def __init__(self, shows: bool = False, smoothing: float = 0.0) -> None:
        super().__init__()
        self.embed, self.middle = nn.Embedding(40, 16), nn.Linear(16, 16)
        self.head = nn.Linear(16, 40, bias=False)
        self.shows, self.smoothing = shows, smoothing

    def forward(self, words: torch.Tensor, labels: torch.Tensor) -> Any:
        scores = self.head(torch.tanh(self.middle(self.embed(words)))).float()
        flat = scores.view(-1, scores.shape[-1])
        loss = functional.cross_entropy(flat, labels.view(-1), ignore_index=0, label_smoothing=self.smoothing)
        return (loss, scores) if self.shows else loss


def batch() -> Inputs:
    torch.manual_seed(1)
    return Inputs((torch.randint(0, 40, (3, 7)), torch.randint(0, 40, (3, 7))), {})


def test_a_model_in_train_mode_is_rewritten() -> None:
    torch.manual_seed(0)
    model, given = Loss().train(), batch()
    tree, words = rewritten(model, given, chunked_loss(80), nothing="nothing")
    assert "cross entropy in chunks" in words
    before, after = given.call(model), given.call(tree)
    torch.testing.assert_close(before, after)
    parameters = list(model.parameters())
    for mine, theirs in zip(gradients(after, parameters), gradients(before, parameters), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(given.call(tree).float(), given.call(model).float(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize(
    ("model", "most"),
    [(lambda: Loss(shows=True), 80), (lambda: Loss(smoothing=0.1), 80), (Loss, 10**6)],
    ids=["scores are wanted", "smoothing", "small enough"],
)
def test_what_is_left_alone(model: Any, most: int) -> None:
    with pytest.raises(NotApplicable):
        rewritten(model().train(), batch(), chunked_loss(most), nothing="nothing")
