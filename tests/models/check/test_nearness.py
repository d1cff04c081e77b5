"""Beyond the tolerance the truth decides: ties that flip are right, faults of the same size are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from kernel_pytorch.models.check.reference import Checked, Reference, call_referee, take_reference
from kernel_pytorch.models.inputs import Inputs


class Experts(nn.Module):
    """A layer of a mixture: the router sends every token to the two experts it scores highest.

    In bfloat16 about one token in a hundred meets a tie for the second place."""

    def __init__(self, width: int = 32, experts: int = 64) -> None:
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.weights = nn.Parameter(torch.randn(experts, width, width) / width**0.5)

        self.norm = nn.Parameter(1 + 0.1 * torch.randn(width))

    def normed(self, x: Tensor) -> Tensor:
        """Rounded after the division, and after the weight."""
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * self.norm

    def chosen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.router(self.normed(x)).topk(2, dim=-1)

    def forward(self, x: Tensor) -> Tensor:
        top, chosen = self.chosen(x)
        mixed = torch.einsum("nkij,nj->nki", self.weights[chosen], x)
        return x + (mixed * top.softmax(-1)[..., None]).sum(1)


class Reordered(Experts):
    """The same, rounded after the weight and then after the division: as exact, and other ties go the other way."""

    def normed(self, x: Tensor) -> Tensor:
        return x * self.norm * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()


def with_class(model: nn.Module, kind: type[nn.Module]) -> nn.Module:
    twin = kind()
    twin.to(next(model.parameters()).dtype).load_state_dict(model.state_dict())
    return twin.eval()


@pytest.fixture(scope="module")
def made() -> Reference:
    torch.manual_seed(0)
    model = Experts().to(torch.bfloat16).eval()
    reference = take_reference(model, Inputs((torch.randn(512, 32, dtype=torch.bfloat16),)))
    call_referee(reference)
    assert reference.referee.precision == "float64"
    return reference


def compared(made: Reference, change: Callable[[Tensor], Tensor], kind: type[nn.Module] = Experts) -> Checked:
    model = with_class(made.model, kind)
    return made.compare(lambda x: change(model(x)), model)


def test_ties_that_flip_are_no_fault(made: Reference) -> None:
    checked = compared(made, lambda y: y, Reordered)
    assert not checked.difference.is_acceptable  # some tokens went to another expert
    assert checked.is_right
    assert checked.referee.endswith(("both are as near", "the original is the one that is off"))


def _one_row_of_another(y: Tensor) -> Tensor:
    """Every 40th token has the result of its neighbour: as many rows as ties make, and further off."""
    return torch.cat([y[1:2] if row % 40 == 0 else y[row : row + 1] for row in range(len(y))])


FAULTS: dict[str, Callable[[Tensor], Tensor]] = {
    "a factor": lambda y: (y.float() * 1.01).to(y.dtype),
    "a constant": lambda y: (y.float() + 0.01).to(y.dtype),
    "one column": lambda y: torch.cat([y[:, :1] * 0.5, y[:, 1:]], 1),
    "rows": _one_row_of_another,
    "one element": lambda y: y.index_put((torch.tensor([3]), torch.tensor([3])), torch.tensor(20.0, dtype=y.dtype)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_same_with_a_fault_is_wrong(made: Reference, fault: str) -> None:
    checked = compared(made, FAULTS[fault], Reordered)
    assert not checked.is_right, checked
    assert "against float64" in checked.reason


class Choosing(Experts):
    """A head that gives places, not values."""

    def forward(self, x: Tensor) -> Tensor:
        return self.chosen(x)[1]


class ChoosingReordered(Reordered):
    forward = Choosing.forward


def test_choices_may_miss_the_truth_as_often_as_the_original() -> None:
    torch.manual_seed(0)
    model = Choosing().to(torch.bfloat16).eval()
    made = take_reference(model, Inputs((torch.randn(512, 32, dtype=torch.bfloat16),)))
    call_referee(made)
    truth = with_class(model, Choosing).double()
    exact = made.compare(lambda x: truth(x.double()), model)  # the truth itself misses nothing
    assert exact.is_right and "misses no more of float64's choices" in exact.referee
    shifted = with_class(model, ChoosingReordered)
    assert made.compare(lambda x: (shifted(x) + 1) % 64, model).reason == "output 0 is not what it was"
    # An original that meets no tie allows no miss.
    few = take_reference(model, Inputs((torch.eye(32, dtype=torch.bfloat16)[:4],)), fresh_sets=0)
    call_referee(few)
    assert not few.compare(lambda x: torch.roll(model(x), 1, 0), model).is_right
