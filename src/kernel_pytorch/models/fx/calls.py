"""How the modules of a model will be called, read off the code alone: for a model without an example.

The model itself is taken to be called with one tensor for each argument that has no default; what it calls is in its
graph. A graph that is made without an example cannot be compared with the forward as a whole, so a forward is refused
that might do something else with a tensor than with what stands for it in a trace.
"""

from __future__ import annotations

import dis
import inspect
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.forwards import Key, signature_of
from kernel_pytorch.models.fx.trace import Untraceable, trace

if TYPE_CHECKING:
    from torch import fx, nn

# Questions about a value's type that a trace cannot answer, or not as a call would be answered.
_ASKS_FOR_TYPES = frozenset({"type", "hasattr", "is_tensor", "is_tensor_like"})
_BLOCKS = frozenset({"SETUP_FINALLY", "SETUP_WITH", "BEFORE_WITH", "PUSH_EXC_INFO", "LOAD_SPECIAL"})


@dataclass(frozen=True)
class KnownCalls:
    """Modules with the kinds of their calls, outermost first, and those that could not be looked into."""

    kinds: tuple[tuple[nn.Module, Key], ...]
    untraceable: tuple[tuple[str, str], ...]


def known_calls(model: nn.Module) -> KnownCalls:
    """Every call that the code shows. Nothing is run, and the model is as it was."""
    names = {module: name for name, module in reversed(list(model.named_modules(remove_duplicate=False)))}
    kinds: dict[tuple[nn.Module, Key], None] = {}
    untraceable: dict[nn.Module, str] = {}
    waiting: list[tuple[nn.Module, Key | None]] = [(model, None)]
    while waiting:
        module, key = waiting.pop(0)
        if not has_code_of_its_own(module):
            waiting += [(child, None) for child in module.children()]
            continue
        try:
            key = key or _key_by_signature(module)
            if (module, key) in kinds:
                continue
            graph = _sure_graph(module, key)
        except Untraceable as reason:
            untraceable[module] = str(reason)
            waiting += [(child, None) for child in module.children()]
            continue
        kinds[module, key] = None
        waiting += [(module.get_submodule(node.target), _key_of(node)) for node in graph.nodes if _calls(node)]
    return KnownCalls(tuple(kinds), tuple((names[module] or "the model", why) for module, why in untraceable.items()))


def has_code_of_its_own(module: nn.Module) -> bool:
    """Layers of torch are nodes of the forward that calls them; only Sequential is looked into."""
    import torch
    from torch import nn

    if isinstance(module, (torch.jit.ScriptModule, torch.fx.GraphModule)):
        return False
    if type(module) is nn.Sequential:
        return True
    own = not type(module).__module__.startswith(("torch.", "kernel_pytorch.models."))
    return own and type(module).forward is not nn.Module.forward


def _key_by_signature(module: nn.Module) -> Key:
    """One tensor for each argument without a default."""
    forward: Any = type(module).forward
    parameters = list(inspect.signature(forward).parameters.values())[1:]
    required = [one for one in parameters if one.default is one.empty]
    if any(one.kind not in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) for one in required):
        raise Untraceable(f"{type(module).__name__}.forward does not say what it is called with")
    return ("tuple", ("tuple", *[("tensor",)] * len(required)), ("dict",))


def _key_of(node: fx.Node) -> Key:
    """The kind of call that a node makes: what is computed is a tensor, and what is not stands there."""
    from torch import fx

    class Computed:
        """Stands for a node, which `signature_of` takes for an object."""

    def stand_in(value: Any) -> Any:
        if isinstance(value, fx.Node):
            return Computed()
        if isinstance(value, (tuple, list)):
            return type(value)(stand_in(item) for item in value)
        return {name: stand_in(item) for name, item in value.items()} if isinstance(value, dict) else value

    def as_tensors(key: Any) -> Any:
        if isinstance(key, tuple):
            return ("tensor",) if key == ("object", Computed) else tuple(as_tensors(item) for item in key)
        return key

    args = tuple(stand_in(item) for item in node.args)
    key: Key = as_tensors(signature_of((args, {name: stand_in(item) for name, item in node.kwargs.items()}), []))
    return key


def _calls(node: fx.Node) -> bool:
    return bool(node.op == "call_module")


def _sure_graph(module: nn.Module, key: Key) -> Any:
    """The graph of a forward, where nothing in it can depend on more than a trace shows. Raises Untraceable."""
    forward: Any = type(module).forward
    name = type(module).__name__
    code = getattr(forward, "__code__", None)
    if code is None:
        raise Untraceable(f"{name}.forward is no Python function")
    if type(module).__module__.partition(".")[0] != "torch":
        asked = _ASKS_FOR_TYPES.intersection(code.co_names)
        if asked:
            raise Untraceable(f"{name}.forward asks for types ({', '.join(sorted(asked))}): it needs an example")
        if any(item.opname in _BLOCKS for item in dis.get_instructions(code)):
            raise Untraceable(f"{name}.forward has a `with` or a `try`, which a graph would lose: it needs an example")
    state = random.getstate()
    graph, again = trace(module, key).graph, trace(module, key).graph
    if random.getstate() != state:
        random.setstate(state)
        raise Untraceable(f"{name}.forward draws random numbers")
    if str(graph) != str(again):
        raise Untraceable(f"{name}.forward does something else each time it is called")
    return graph
