"""Rewrites of forwards, applied to a new tree in place of the model itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.edit import edit_forwards
from kernel_pytorch.models.fx.rewrite import Applied, NotApplicable, Rewrite
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.tree import shallow_tree

if TYPE_CHECKING:
    from torch import nn


def rewritten(model: nn.Module, inputs: Inputs, *rewrites: Rewrite, nothing: str) -> tuple[nn.Module, str]:
    """A tree with every forward edited that the rewrites have something to edit in, and what was changed, in words.

    Raises NotApplicable where the last of them has nothing; those before it prepare for it."""
    tree = shallow_tree(model)
    applied = [edit_forwards(rewrite, tree, inputs) for rewrite in rewrites]
    if not applied[-1].changes:
        raise NotApplicable(_reason(applied[-1], nothing))
    return tree, "; ".join(text for one in applied for text in one.in_words())


def _reason(applied: Applied, nothing: str) -> str:
    refusals = dict.fromkeys(f"{where}: {reason}" for where, reason in applied.refusals)
    if refusals:
        return "; ".join(list(refusals)[:3])
    unseen = {where for where, _ in applied.untraceable}
    return f"{nothing} (not looked into: {', '.join(sorted(unseen)[:5])})" if unseen else nothing
