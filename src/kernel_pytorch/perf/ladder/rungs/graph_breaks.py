"""Graph breaks: found by tracing, repaired where the pattern is known, otherwise shown with what repairs them.

| pattern | repaired by |
|---|---|
| a tensor's value becomes a Python number (`.item()`, `int(x)`) | Dynamo's capture_scalar_outputs |
| a shape that depends on values (`nonzero`, masks as indices) | Dynamo's capture_dynamic_output_shape_ops |
| `print`, `warnings.warn`, logging inside the model | moved behind the graph |
| a module's forward under torch.compiler.disable | the forward beneath it |
| a vendor's Python wrapper, an extension without a fake kernel | shown: call torch.ops..., or torch.library.custom_op |
| a branch on a tensor's value | shown: torch.where or torch.cond |
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.tree import shallow_tree
from kernel_pytorch.perf.ladder.breaks import tracing_only
from kernel_pytorch.perf.ladder.rung import Options, Recipe, WrapRung
from kernel_pytorch.perf.ladder.rungs.compile import SLOT, compiled, kept_compile, predict_compile, why_not_compiled

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import GraphBreak

# By a word in Dynamo's reason or in the line of code: the settings that make it trace on.
REPAIRS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("capture_scalar_outputs", ".item", "tensor.item", "aten._local_scalar_dense"), {"capture_scalar_outputs": True}),
    (
        ("capture_dynamic_output_shape_ops", "dynamic shape operator", "nonzero", "masked_select"),
        {"capture_dynamic_output_shape_ops": True},
    ),
    (("print(", "builtin print", "`print`"), {"reorderable_logging_functions": ["print"]}),
    (("warnings.warn", "warn("), {"reorderable_logging_functions": ["warnings.warn"]}),
    (("logger.", "logging."), {"ignore_logger_methods": ["logging.Logger"]}),
)
DISABLED = ("disable", "skipped")


def breaks_of(model: nn.Module, inputs: Inputs) -> tuple[GraphBreak, ...]:
    """The breaks that compiling would meet, with places and what usually helps. Nothing is compiled."""
    import torch

    from kernel_pytorch.models.undisturbed import undisturbed
    from kernel_pytorch.perf.compile_log import watch

    torch._dynamo.reset_code_caches() if hasattr(torch._dynamo, "reset_code_caches") else torch._dynamo.reset()
    with watch() as seen, undisturbed(model), torch.no_grad():
        inputs.call(torch.compile(model, backend=tracing_only()))
    return seen.report().breaks


def repairs_for(breaks: tuple[GraphBreak, ...]) -> tuple[dict[str, Any], list[GraphBreak]]:
    """Dynamo's settings for those that a setting repairs, and the others."""
    settings: dict[str, Any] = {}
    others = []
    for one in breaks:
        text = f"{one.reason} {one.code}"
        fix = next((fix for words, fix in REPAIRS if any(word in text for word in words)), None)
        if fix is None:
            others.append(one)
            continue
        for name, value in fix.items():
            settings[name] = sorted({*settings.get(name, ()), *value}) if isinstance(value, list) else value
    return settings, others


def disabled_forwards(model: nn.Module) -> list[str]:
    """Modules whose forward torch.compiler.disable wraps."""
    return [path for path, module in model.named_modules() if _beneath(module) is not None]


def _beneath(module: Any) -> Callable[..., Any] | None:
    forward = getattr(module.forward, "__func__", module.forward)
    if not getattr(forward, "_torchdynamo_disable", False):
        return None
    found: Callable[..., Any] | None = getattr(forward, "_torchdynamo_orig_callable", None)
    return found


def in_words(one: GraphBreak) -> str:
    """Where, why and what to do."""
    code = f" ({one.code})" if one.code else ""
    return f"{one.place or 'place not given'}{code}: {one.reason}; fix: {one.fix}"


def _plan(model: nn.Module, inputs: Inputs) -> tuple[dict[str, Any], list[str], list[GraphBreak], int]:
    found = breaks_of(model, inputs)
    if not found:
        raise NotApplicable("no graph breaks")
    settings, others = repairs_for(found)
    forwards = disabled_forwards(model)
    if forwards:
        others = [one for one in others if not any(word in one.reason for word in DISABLED)]
    return settings, forwards, others, len(found)


def _find(model: nn.Module, inputs: Inputs) -> str:
    why_not_compiled(model)
    settings, forwards, others, count = _plan(model, inputs)
    shown = "; ".join(in_words(one) for one in others)
    if not settings and not forwards:
        raise NotApplicable(f"{count} graph breaks, none of which can be repaired from outside: {shown}")
    what = [*settings, *(f"the forward of {path or 'the model'} without torch.compiler.disable" for path in forwards)]
    left = f"; left to do by hand: {shown}" if others else ""
    return f"{count - len(others)} of {count} graph breaks repaired by {', '.join(what)}{left}"


def _choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    settings, forwards, _, _ = _plan(model, inputs)
    options = kept_compile(kept) or {}
    if settings:
        options["dynamo"] = {**options.get("dynamo", {}), **settings}
    if forwards:
        options["enable"] = forwards
    return (options,)


def _wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    return compiled(function, options)


def with_enabled(model: nn.Module, paths: list[str]) -> nn.Module:
    """A new tree whose modules at these paths run the forward beneath torch.compiler.disable."""
    tree = shallow_tree(model)
    for path in paths:
        module = tree.get_submodule(path)
        beneath = _beneath(module)
        if beneath is None:
            raise NotApplicable("torch.compiler.disable is no longer on the module")
        module.__dict__["forward"] = types.MethodType(beneath, module)
    return tree


GRAPH_BREAKS = WrapRung(
    "graph_breaks", 2, "torch.compile with graph breaks repaired", SLOT, _find, _wrap, predict_compile, _choices
)

RUNGS = (GRAPH_BREAKS,)
