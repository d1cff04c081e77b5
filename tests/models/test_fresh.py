"""Fresh inputs: other values, the same shapes, types and ranges; masks and positions as they were."""

from __future__ import annotations

import pytest
import torch

from kernel_pytorch.models.check.fresh import fresh_inputs, fresh_tensor
from kernel_pytorch.models.inputs import Inputs, copied_inputs


def test_floats_are_drawn_anew_within_their_range() -> None:
    torch.manual_seed(0)
    given = torch.rand(8, 32).to(torch.bfloat16).t()
    fresh = fresh_tensor(given, 1)
    assert fresh.shape == given.shape and fresh.dtype == given.dtype and fresh.stride() == given.stride()
    assert given.min() <= fresh.min() and fresh.max() <= given.max()
    assert not torch.equal(fresh, given)
    assert torch.equal(fresh, fresh_tensor(given, 1)) and not torch.equal(fresh, fresh_tensor(given, 2))


def test_token_numbers_stay_in_range() -> None:
    torch.manual_seed(0)
    given = torch.randint(5, 100, (4, 64))
    fresh = fresh_tensor(given, 1)
    assert not torch.equal(fresh, given) and fresh.dtype == given.dtype
    assert int(fresh.min()) >= int(given.min()) and int(fresh.max()) <= int(given.max())


def test_masks_positions_offsets_and_constants_stay() -> None:
    additive = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), float("-inf"))
    finite = torch.zeros(4, 4).masked_fill(torch.ones(4, 4).triu(1).bool(), torch.finfo(torch.float32).min)
    positions = torch.arange(6).expand(2, 6)
    for tensor in (
        additive, finite, positions, torch.tensor([0, 5, 9]), torch.tensor([[1, 1, 0], [1, 0, 0]]),
        torch.ones(3, 3).bool(), torch.ones(2, 8), torch.empty(0, 3), torch.tensor(7),
    ):  # fmt: skip
        assert torch.equal(fresh_tensor(tensor, 3), tensor)


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_masks_get_other_lengths_in_every_second_set(side: str, dtype: torch.dtype) -> None:
    right = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0]])
    mask = (right if side == "right" else right.flip(1)).to(dtype)
    assert torch.equal(fresh_inputs(Inputs((mask,)), 1).args[0], mask)
    found = {tuple(fresh_inputs(Inputs((mask,)), seed).args[0].flatten().tolist()) for seed in (2, 4, 6, 8)}
    assert len(found) > 1
    for row in torch.tensor(sorted(found)).view(-1, 3, 6):
        steps = row.long()[:, 1:] - row.long()[:, :-1]
        assert bool((steps <= 0).all() if side == "right" else (steps >= 0).all())
        assert bool((row.sum(1) >= 1).all()) and int(row.sum()) < row.numel()


def test_a_mask_without_padding_stays_without() -> None:
    for mask in (torch.ones(3, 5, dtype=torch.int64), torch.tensor([[1, 0, 1], [0, 1, 0]])):
        assert torch.equal(fresh_inputs(Inputs((mask,)), 2).args[0], mask)


def test_nested_inputs_keep_their_form_and_share_nothing() -> None:
    given = Inputs((torch.randn(4, 4), [torch.randn(4, 4), 3]), {"cache": {"key": torch.randn(4, 4)}, "flag": True})
    fresh, copied = fresh_inputs(given, 1), copied_inputs(given)
    for other in (fresh, copied):
        assert other.args[1][1] == 3 and other.kwargs["flag"] is True
        assert other.kwargs["cache"]["key"].data_ptr() != given.kwargs["cache"]["key"].data_ptr()
    assert torch.equal(copied.args[0], given.args[0]) and not torch.equal(fresh.args[0], given.args[0])


def test_gradients_stay_wanted() -> None:
    given = torch.randn(4, 4, requires_grad=True)
    assert fresh_tensor(given, 1).requires_grad
    assert copied_inputs(Inputs((given,))).args[0].is_leaf
