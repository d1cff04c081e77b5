"""Editing the forwards of a model by one rewrite, so that it can be switched off for a comparison and taken back."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.example_run import run_once
from kernel_pytorch.models.fx.calls import KnownCalls, has_code_of_its_own
from kernel_pytorch.models.fx.forwards import (
    Key,
    RewrittenForward,
    Variant,
    current_forward,
    set_forward,
    signature_of,
)
from kernel_pytorch.models.fx.live_values import facts_of
from kernel_pytorch.models.fx.rewrite import Applied, Rewrite
from kernel_pytorch.models.fx.trace import TracedForward, Untraceable, evaluate, function_of, shared_storages, trace
from kernel_pytorch.models.fx.unused_outputs import unused_outputs
from kernel_pytorch.models.inputs import Inputs

if TYPE_CHECKING:
    from torch import nn


def edit_forwards(rewrite: Rewrite, model: nn.Module, inputs: Inputs) -> Applied:
    """Run the model on the example once, and edit the forward of each module as its call comes by."""
    applied = Applied()
    unused = unused_outputs(model, inputs) if rewrite.drops_unused_outputs else {}
    editors = _editors(rewrite, model, applied, unused)
    try:
        with _recorded(editors):
            run_once(model, inputs)
    except Exception:
        applied.undo()
        raise
    return _placed(applied, editors)


def edit_without_example(rewrite: Rewrite, model: nn.Module, calls: KnownCalls) -> Applied:
    """The same for calls that are known from the code alone."""
    applied = Applied(untraceable=list(calls.untraceable))
    editors = {editor.module: editor for editor in _editors(rewrite, model, applied, {})}
    for module, key in calls.kinds:
        if module in editors:
            editors[module].edit(key, None)
    return _placed(applied, editors.values())


def _editors(
    rewrite: Rewrite, model: nn.Module, applied: Applied, unused: dict[nn.Module, frozenset[int]]
) -> list[_Editor]:
    editors = []
    shared = shared_storages(model)
    names = {module: name for name, module in reversed(list(model.named_modules(remove_duplicate=False)))}
    for module, name in names.items():
        forward = current_forward(module)
        if not has_code_of_its_own(module):
            continue
        if forward is not None and not isinstance(forward, RewrittenForward):
            applied.untraceable.append((name or "the model", "another library's forward is on this module"))
            continue
        editors.append(
            _Editor(rewrite, module, name, applied, forward, shared, unused.get(module, frozenset()), result=forward)
        )
    return editors


def _placed(applied: Applied, editors: Iterable[_Editor]) -> Applied:
    for editor in editors:
        if editor.result is not editor.before:
            applied.forwards.append((editor.module, editor.before, editor.result))
            set_forward(editor.module, editor.result)
    return applied


@dataclass
class _Editor:
    """Edits the forward of one module, one kind of call after the other.

    Called, it stands in for the module's forward during one run of the example."""

    rewrite: Rewrite
    module: nn.Module
    name: str
    applied: Applied
    before: RewrittenForward | None
    shared_storages: frozenset[int]
    unused_outputs: frozenset[int]
    result: RewrittenForward | None = None
    seen: set[tuple[bool, Key]] = field(default_factory=set)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        tensors: list[Any] = []
        key = signature_of((args, kwargs), tensors)
        kind = (self.module.training, key)
        if kind in self.seen:
            return self._original(*args, **kwargs)
        self.seen.add(kind)
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
        self.edit(key, example)
        return result

    def edit(self, key: Key, example: list[Any] | None) -> None:
        """Put the rewrite's edits into the forward for one kind of call, where it has something to edit."""
        assert self.rewrite.edit is not None
        before = self.result
        known = before.variant_for(self.module.training, key, example or []) if before is not None else None
        try:
            traced = self._traced(known, key, example)
        except Untraceable as reason:
            self._refuse(str(reason))
            return
        changes = self.rewrite.edit(traced)
        self.applied.refusals += traced.refusals
        if not changes:
            return
        guards = known.only_while_eval if known is not None else ()
        variant = Variant(
            self.module.training,
            key,
            function_of(traced.graph),
            traced.graph,
            only_while_eval=(*guards, *[item for change in changes for item in change.only_while_eval]),
            facts=facts_of(example or [], traced.dependence),
            dependence=traced.dependence,
            only_without_hooks=(known is not None and known.only_without_hooks)
            or any(change.drops_output for change in changes),
        )
        self.result = (before or RewrittenForward(self.module)).with_variant(variant)
        self.applied.changes += changes

    def _traced(self, known: Variant | None, key: Key, example: list[Any] | None) -> TracedForward:
        if known is None:
            traced = trace(self.module, key, example)
        else:
            traced = TracedForward(self.module, self.name, copy.deepcopy(known.graph), dependence=known.dependence)
            if example is not None:
                try:
                    traced.values = evaluate(self.module, traced.graph, example)
                except Exception as error:
                    raise Untraceable(f"its graph does not run: {error}") from error
                traced.example = tuple(example)
        traced.where, traced.shared_storages, traced.unused_outputs = (
            self.name, self.shared_storages, self.unused_outputs,
        )  # fmt: skip
        return traced

    def _original(self, *args: Any, **kwargs: Any) -> Any:
        if self.before is not None:
            return self.before(*args, **kwargs)
        return type(self.module).forward(self.module, *args, **kwargs)

    def _refuse(self, reason: str) -> None:
        self.applied.untraceable.append((self.name or "the model", reason))


@contextmanager
def _recorded(editors: list[_Editor]) -> Iterator[None]:
    for editor in editors:
        set_forward(editor.module, editor)
    try:
        yield
    finally:
        for editor in editors:
            set_forward(editor.module, editor.before)


def _version(item: Any) -> int:
    import torch

    return 0 if not isinstance(item, torch.Tensor) or item.is_inference() else int(item._version)
