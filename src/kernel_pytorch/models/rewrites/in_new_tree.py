"""Rewrites of forwards, applied to a new tree in place of the model itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.models.check.proof import Proof, Uncheckable
from kernel_pytorch.models.fx.edit import Step, edit_forwards
from kernel_pytorch.models.fx.rewrite import NotApplicable, Rewrite
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.tree import shallow_tree

if TYPE_CHECKING:
    from torch import nn


def rewritten(model: nn.Module, inputs: Inputs, *rewrites: Rewrite, nothing: str) -> tuple[nn.Module, list[Step]]:
    """A tree with every forward edited that the rewrites have something to edit in.

    Raises NotApplicable where the last of them has nothing; those before it prepare for it."""
    tree = shallow_tree(model)
    try:
        proof = Proof(tree, inputs.args, inputs.kwargs)
    except Uncheckable as reason:
        raise NotApplicable(str(reason)) from None
    steps = []
    for rewrite in rewrites:
        step = edit_forwards(rewrite, tree, proof)
        found = proof.difference(is_exact=rewrite.is_exact) if step.changes else None
        if found is not None and not found.is_acceptable:
            step.undo()
            step.refusals.append(
                ("the model", f"with it, {found.where} differs by {found.error:.3g}; allowed is {found.limit:.3g}")
            )
            step.changes.clear()
        steps.append(step)
    if not steps[-1].changes:
        raise NotApplicable(_reason(steps[-1:], nothing))
    return tree, steps


def in_words(steps: list[Step]) -> str:
    """What was changed, and how often."""
    counts: dict[str, int] = {}
    for step in steps:
        for change in step.changes:
            counts[change.what] = counts.get(change.what, 0) + 1
    return "; ".join(what if count == 1 else f"{count} x {what}" for what, count in counts.items())


def _reason(steps: list[Step], nothing: str) -> str:
    refusals = dict.fromkeys(f"{where}: {reason}" for step in steps for where, reason in step.refusals)
    if refusals:
        return "; ".join(list(refusals)[:3])
    unseen = {where for step in steps for where, _ in step.untraceable}
    return f"{nothing} (not looked into: {', '.join(sorted(unseen)[:5])})" if unseen else nothing
