"""Applying one rewrite to a model, so that it can be switched off for a comparison and taken back whole."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kernel_pytorch.models.check.proof import Proof
from kernel_pytorch.models.fx.forwards import (
    Key,
    RewrittenForward,
    Variant,
    current_forward,
    set_forward,
    signature_of,
)
from kernel_pytorch.models.fx.live_values import facts_of
from kernel_pytorch.models.fx.rewrite import Change, Job, Rewrite
from kernel_pytorch.models.fx.trace import (
    TracedForward,
    Untraceable,
    evaluate,
    function_of,
    shared_storages,
    trace,
)
from kernel_pytorch.models.fx.unused_outputs import unused_outputs


@dataclass
class Step:
    """What one rewrite did to a model."""

    changes: list[Change] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    """Places that looked like ones to rewrite, and why they were left alone."""
    untraceable: list[tuple[str, str]] = field(default_factory=list)
    """Modules whose forward no rewrite can see into, and why."""
    forwards: list[tuple[Any, Any, Any]] = field(default_factory=list)
    """Module, the forward put on it before, the forward put on it now."""

    def switch(self, on: bool) -> None:
        """Turn the step off or on, where both states compute the same and only the time differs."""
        for module, before, after in self.forwards:
            set_forward(module, after if on else before)
        for change in self.changes:
            if change.switch is not None:
                change.switch(on)

    def undo(self) -> None:
        """Take everything back, last first."""
        for module, before, _ in reversed(self.forwards):
            set_forward(module, before)
        for change in reversed(self.changes):
            if change.undo is not None:
                change.undo()


def apply_to_model(rewrite: Rewrite, model: Any, job: Job) -> Step:
    """A rewrite of the model as a whole. Raises NotApplicable."""
    assert rewrite.apply is not None
    return Step(changes=rewrite.apply(model, job))


def edit_forwards(rewrite: Rewrite, model: Any, proof: Proof) -> Step:
    """Run the model on the example once, and edit the forward of each module as its call comes by."""
    step, recorders = Step(), []
    shared = shared_storages(model)
    unused = unused_outputs(model, proof) if rewrite.drops_unused_outputs else {}
    names = {module: name for name, module in reversed(list(model.named_modules(remove_duplicate=False)))}
    for module, name in names.items():
        forward = current_forward(module)
        if not _has_code_of_its_own(module):
            continue
        if forward is not None and not isinstance(forward, RewrittenForward):
            step.untraceable.append((name or "the model", "another library's forward is on this module"))
            continue
        recorders.append(_Recorder(rewrite, module, name, forward, shared, unused.get(module, frozenset()), step))
    try:
        with _placed(recorders):
            proof.run(gradients=False)
    except Exception:
        step.undo()
        raise
    for recorder in recorders:
        if recorder.result is not recorder.before:
            step.forwards.append((recorder.module, recorder.before, recorder.result))
            set_forward(recorder.module, recorder.result)
    return step


def edit_without_example(rewrite: Rewrite, model: Any) -> Step:
    """Exact rewrites of plain Sequentials, whose calls are known without seeing one: one tensor, nothing else."""
    from torch import nn

    step = Step()
    key = ("tuple", ("tuple", ("tensor",)), ("dict",))
    for name, module in model.named_modules():
        before = current_forward(module)
        if type(module) is not nn.Sequential or (before is not None and not isinstance(before, RewrittenForward)):
            continue
        try:
            variant, changes = _edited(rewrite, module, name, before, key, None, step, frozenset(), frozenset())
        except Untraceable as reason:
            step.untraceable.append((name or "the model", str(reason)))
            continue
        if variant is not None:
            after = (before or RewrittenForward(module)).with_variant(variant)
            set_forward(module, after)
            step.forwards.append((module, before, after))
            step.changes += changes
    return step


class _Recorder:
    """Stands in for a module's forward during one run of the example."""

    def __init__(
        self,
        rewrite: Rewrite,
        module: Any,
        name: str,
        before: Any,
        shared: frozenset[int],
        unused: frozenset[int],
        step: Step,
    ) -> None:
        self.rewrite, self.module, self.name, self.before = rewrite, module, name, before
        self.shared, self.unused, self.step = shared, unused, step
        self.result = before
        self._seen: set[tuple[bool, Key]] = set()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        tensors: list[Any] = []
        key = signature_of((args, kwargs), tensors)
        kind = (self.module.training, key)
        if kind in self._seen:
            return self._original(*args, **kwargs)
        self._seen.add(kind)
        versions = [_version(item) for item in tensors]
        try:
            # A cache is written to by the call: what is traced gets one of its own.
            example = [item if isinstance(item, torch.Tensor) else copy.deepcopy(item) for item in tensors]
        except Exception as error:
            self._refuse(f"an argument cannot be copied: {error}")
            return self._original(*args, **kwargs)
        # First as it is: the modules below see their calls before this one is traced.
        result = self._original(*args, **kwargs)
        if [_version(item) for item in tensors] != versions:
            self._refuse("its forward writes into its inputs")
            return result
        try:
            variant, changes = _edited(
                self.rewrite, self.module, self.name, self.result, key, example, self.step, self.shared, self.unused
            )
        except Untraceable as reason:
            self._refuse(str(reason))
            return result
        if variant is not None:
            self.result = (self.result or RewrittenForward(self.module)).with_variant(variant)
            self.step.changes += changes
        return result

    def _original(self, *args: Any, **kwargs: Any) -> Any:
        if self.before is not None:
            return self.before(*args, **kwargs)
        return type(self.module).forward(self.module, *args, **kwargs)

    def _refuse(self, reason: str) -> None:
        self.step.untraceable.append((self.name or "the model", reason))


def _edited(
    rewrite: Rewrite,
    module: Any,
    name: str,
    before: RewrittenForward | None,
    key: Key,
    example: list[Any] | None,
    step: Step,
    shared: frozenset[int],
    unused: frozenset[int],
) -> tuple[Variant | None, list[Change]]:
    """The forward for one kind of call with the rewrite's edits, or None where it had nothing to edit."""
    assert rewrite.edit is not None
    known = before.variant_for(module.training, key, example or []) if before is not None else None
    if known is None:
        traced = trace(module, key, example)
    else:
        traced = TracedForward(module, name, copy.deepcopy(known.graph), dependence=known.dependence)
        if example is not None:
            try:
                traced.values = evaluate(module, traced.graph, example)
            except Exception as error:
                raise Untraceable(f"its graph does not run: {error}") from error
            traced.example = tuple(example)
    traced.where, traced.shared_storages, traced.unused_outputs = name, shared, unused
    changes = rewrite.edit(traced)
    step.refusals += traced.refusals
    if not changes:
        return None, []
    guards = known.only_while_eval if known is not None else ()
    variant = Variant(
        module.training,
        key,
        function_of(traced.graph),
        traced.graph,
        only_while_eval=(*guards, *[item for change in changes for item in change.only_while_eval]),
        facts=facts_of(example or [], traced.dependence),
        dependence=traced.dependence,
        only_without_hooks=(known is not None and known.only_without_hooks)
        or any(change.drops_output for change in changes),
    )
    return variant, changes


def _has_code_of_its_own(module: Any) -> bool:
    """Layers of torch are nodes of the forward that calls them; only Sequential is looked into."""
    import torch
    from torch import nn

    if isinstance(module, (torch.jit.ScriptModule, torch.fx.GraphModule)):
        return False
    if type(module) is nn.Sequential:
        return True
    own = not type(module).__module__.startswith(("torch.", "kernel_pytorch.models."))
    return own and type(module).forward is not nn.Module.forward


@contextmanager
def _placed(recorders: list[_Recorder]) -> Iterator[None]:
    for recorder in recorders:
        set_forward(recorder.module, recorder)
    try:
        yield
    finally:
        for recorder in recorders:
            set_forward(recorder.module, recorder.before)


def _version(item: Any) -> int:
    import torch

    return 0 if not isinstance(item, torch.Tensor) or item.is_inference() else int(item._version)
