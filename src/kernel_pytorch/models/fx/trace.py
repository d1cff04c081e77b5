"""The graph of one module's own forward, with its submodules as single nodes, and what each node's value is.

One level at a time: a model whose outer forward cannot be traced still has blocks that can, and a rewrite changes
the forward of one module only.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.forwards import Key, arguments_of
from kernel_pytorch.models.fx.live_values import FREE, LiveValues, live_proxy_class, untyped_proxy_class

if TYPE_CHECKING:
    from torch import fx, nn

# torch.fx does not see these when they are called with sizes, and would store what they give as a constant.
_FACTORIES = ("ones", "zeros", "full", "empty", "arange", "eye", "rand", "randn", "linspace", "tensor")


class Untraceable(Exception):
    """The forward cannot be written as a graph; the message says why."""


@dataclass(frozen=True)
class Value:
    """What a node gave on the example: a tensor's shape and dtype, or a number."""

    shape: tuple[int, ...] | None = None
    dtype: Any = None
    number: float | None = None

    @property
    def is_tensor(self) -> bool:
        return self.shape is not None


@dataclass
class TracedForward:
    """A module's forward as a graph that a rewrite may edit. `values` is empty where there is no example."""

    module: nn.Module
    where: str
    graph: fx.Graph
    values: dict[Any, Value] = field(default_factory=dict)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    shared_storages: frozenset[int] = frozenset()
    """Addresses of storages that more than one tensor of the whole model lies in."""
    unused_outputs: frozenset[int] = frozenset()
    """Places of the returned tuple that no caller used on the example."""
    example: tuple[Any, ...] | None = None
    """The tensors of the example's call."""
    dependence: int = FREE
    """What the graph depends on: see `live_values`. An edit may raise it."""

    def value(self, node: Any) -> Value:
        """What is known of a node's value; of a plain number in its place, the number."""
        if isinstance(node, (int, float)) and not isinstance(node, bool):
            return Value(number=float(node))
        try:
            return self.values.get(node, Value())
        except TypeError:
            return Value()

    def submodule(self, node: Any) -> Any:
        """The submodule a node calls, or None."""
        return self.module.get_submodule(node.target) if getattr(node, "op", "") == "call_module" else None

    def place(self, name: str) -> str:
        """The name of a submodule as the whole model has it."""
        return f"{self.where}.{name}" if self.where else name

    def refuse(self, where: str, reason: str) -> None:
        """Note a place that looked like one to rewrite and was left alone."""
        self.refusals.append((where, reason))


def trace(module: nn.Module, key: Key, example: list[Any] | None = None) -> TracedForward:
    """The graph of type(module).forward for one kind of call. Raises Untraceable; the module is as it was.

    With an example the forward may branch on shapes and dtypes; the example is run on the way."""
    forward = type(module).forward
    if getattr(forward, "__wrapped__", None) is not None:
        raise Untraceable(f"{type(module).__name__}.forward is decorated, which a graph would lose")
    state = _plain_state(module)
    live = LiveValues(module, example) if example is not None else None
    try:
        with _factories_recorded() as calls:
            tracer = _tracer_class()(module, key, calls, live)
            graph = tracer.trace(module)
    except Exception as error:
        # fx raises whatever the forward does with a value that is not there: TypeError, TraceError, NameError ...
        raise Untraceable(f"{type(module).__name__}.forward cannot be traced: {_first_line(error)}") from error
    finally:
        changed = _restore(module, state)
    if changed:
        raise Untraceable(f"{type(module).__name__}.forward changes its own attribute {changed!r}")
    traced = TracedForward(module, "", graph)
    if live is not None:
        traced.values = {node: known_of(value) for node, value in live.values.items()}
        traced.dependence, traced.example = live.dependence, tuple(example or ())
    return traced


def known_of(result: Any) -> Value:
    """What is kept of a value."""
    import torch

    if isinstance(result, torch.Tensor):
        return Value(shape=tuple(result.shape), dtype=result.dtype)
    if isinstance(result, (int, float)) and not isinstance(result, bool):
        return Value(number=float(result))
    return Value()


def function_of(graph: fx.Graph) -> Callable[..., Any]:
    """The graph as a Python function of the module and the tensors of the call.

    Blocks that are alike get the same function: Dynamo, which goes by it, then compiles them once."""
    graph.lint()
    code = graph.python_code(root_module="self")
    names = tuple(sorted((name, id(value)) for name, value in code.globals.items()))
    if (code.src, names) not in _functions:
        scope = dict(code.globals)
        exec(compile(code.src, "<rewritten forward>", "exec"), scope)
        _functions[code.src, names] = scope["forward"]
    return _functions[code.src, names]


# The functions hold on to what their names stand for, so that an id is not used twice.
_functions: dict[tuple[str, tuple[tuple[str, int], ...]], Callable[..., Any]] = {}


def evaluate(module: nn.Module, graph: fx.Graph, tensors: list[Any]) -> dict[Any, Value]:
    """Run the graph on real tensors: the value of each node."""
    values: dict[Any, Value] = {}
    _interpreter_class()(module, values, graph).run(*tensors, enable_io_processing=False)
    return values


def mutates(traced: TracedForward, nodes: Iterator[Any]) -> bool:
    """Does one of these nodes write into a tensor that others may read?"""
    for node in nodes:
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        if node.op in ("call_method", "call_function") and name.endswith("_") and not name.endswith("__"):
            return True
        if node.op == "call_function" and node.target in _IN_PLACE_OPERATORS:
            return True
        if "out" in node.kwargs or node.kwargs.get("inplace") is True:
            return True
        if node.op == "call_module" and getattr(traced.submodule(node), "inplace", False):
            return True
    return False


_IN_PLACE_OPERATORS = (operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.setitem)


def between(first: Any, last: Any) -> Iterator[Any]:
    """The nodes after `first` and before `last`."""
    node = first.next
    while node is not last and node.op != "root":
        yield node
        node = node.next


@lru_cache(maxsize=1)
def _tracer_class() -> type:
    import torch
    from torch import fx

    class OneLevelTracer(fx.Tracer):  # type: ignore[misc]
        """Submodules are leaves; arguments that are no tensors keep their values; no constant is put on the model."""

        proxy_buffer_attributes = True

        def __init__(self, module: nn.Module, key: Key, calls: list[Any], live: LiveValues | None) -> None:
            super().__init__(autowrap_modules=(math,))
            self._call_key = key
            self._known = {id(tensor) for _, tensor in (*module.named_parameters(), *module.named_buffers())}
            self._attributes = _plain_tensors(module)
            self.live = live
            self._modes = _modes()
            calls.append(self)

        @property
        def is_running_example(self) -> bool:
            return self.live is not None and self.live.is_running

        def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
            return True

        def proxy(self, node: fx.Node) -> Any:
            return live_proxy_class()(node, self) if self.live is not None else untyped_proxy_class()(node, self)

        def create_proxy(self, *args: Any, **kwargs: Any) -> Any:
            made = super().create_proxy(*args, **kwargs)
            if self.live is not None:
                self.live.run(made.node)
            elif _modes() != self._modes:
                raise Untraceable("it switches gradients or autocast, which a graph would lose: it needs an example")
            return made

        def call_module(self, m: nn.Module, forward: Any, args: Any, kwargs: Any) -> Any:
            return (
                forward(*args, **kwargs) if self.is_running_example else super().call_module(m, forward, args, kwargs)
            )

        def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: Any) -> Any:
            return attr_val if self.is_running_example else super().getattr(attr, attr_val, parameter_proxy_cache)

        def to_bool(self, obj: Any) -> bool:
            if self.live is None:
                return bool(super().to_bool(obj))
            return bool(self.live.known(obj.node, "the truth"))

        def iter(self, obj: Any) -> Any:
            if self.live is None:
                return super().iter(obj)
            return iter([obj[place] for place in range(self.live.length(obj.node))])

        def create_args_for_root(self, root_fn: Any, is_module: bool, concrete_args: Any = None) -> Any:
            proxies: list[Any] = []

            def placeholder(key: Key) -> None:
                if key[0] in ("tensor", "object"):
                    proxies.append(self.create_proxy("placeholder", f"input_{len(proxies)}", (), {}))
                elif key[0] == "dict":
                    for _, item in key[1:]:
                        placeholder(item)
                elif key[0] != "constant":
                    for item in key[1:]:
                        placeholder(item)

            placeholder(self._call_key)
            args, kwargs = arguments_of(self._call_key, proxies)

            def call() -> Any:
                return root_fn(self.root, *args, **kwargs)

            return call, []

        def create_arg(self, a: Any) -> Any:
            if isinstance(a, torch.Tensor) and id(a) not in self._known:
                if id(a) in self._attributes:
                    return self.create_node("get_attr", self._attributes[id(a)], (), {})
                raise Untraceable("it uses a tensor that is neither a parameter nor a buffer")
            return super().create_arg(a)

    return OneLevelTracer


@lru_cache(maxsize=1)
def _interpreter_class() -> type:
    from torch import fx

    class ValueInterpreter(fx.Interpreter):  # type: ignore[misc]
        def __init__(self, module: nn.Module, values: dict[Any, Value], graph: fx.Graph) -> None:
            super().__init__(module, graph=graph)
            self._values = values

        def run_node(self, n: Any) -> Any:
            result = super().run_node(n)
            self._values[n] = known_of(result)
            return result

    return ValueInterpreter


@contextmanager
def _factories_recorded() -> Iterator[list[Any]]:
    """While tracing, torch.ones(T, T) and its like become nodes, whether or not T is known."""
    import torch

    tracers: list[Any] = []
    originals = {name: getattr(torch, name) for name in _FACTORIES}

    def recorded(original: Any) -> Any:
        def factory(*args: Any, **kwargs: Any) -> Any:
            if not tracers or tracers[0].is_running_example:
                return original(*args, **kwargs)
            return tracers[0].create_proxy("call_function", original, args, kwargs)

        return factory

    try:
        for name, original in originals.items():
            setattr(torch, name, recorded(original))
        yield tracers
    finally:
        for name, original in originals.items():
            setattr(torch, name, original)


def _modes() -> tuple[bool, ...]:
    import torch

    return (
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cuda"),
        torch.is_autocast_enabled("cpu"),
    )  # fmt: skip


def _plain_tensors(module: nn.Module) -> dict[int, str]:
    """Tensors that are plain attributes (a table of angles), by identity: read anew in every call."""
    import torch

    return {
        id(value): f"{name}.{attribute}" if name else attribute
        for name, child in module.named_modules()
        for attribute, value in child.__dict__.items()
        if isinstance(value, torch.Tensor)
    }


def _plain_state(module: nn.Module) -> dict[str, tuple[Any, Any]]:
    return {name: (value, _contents(value)) for name, value in module.__dict__.items()}


def _contents(value: Any) -> Any:
    return value.copy() if isinstance(value, (list, dict, set)) else None


def _restore(module: nn.Module, state: dict[str, tuple[Any, Any]]) -> str:
    """Put attributes back as they were; the name of one that had changed."""
    changed = ""
    for name in [name for name in module.__dict__ if name not in state]:
        del module.__dict__[name]
        changed = name
    for name, (value, contents) in state.items():
        if module.__dict__.get(name, state) is not value:
            module.__dict__[name] = value
            changed = name
        if contents is not None and _differs(value, contents):
            value.clear()
            (value.extend if isinstance(value, list) else value.update)(contents)
            changed = name
    return changed


def _differs(value: Any, contents: Any) -> bool:
    # By identity: comparing tensors with == would give tensors.
    if isinstance(value, dict):
        return [(key, id(item)) for key, item in value.items()] != [(key, id(item)) for key, item in contents.items()]
    if isinstance(value, set):
        return bool(value != contents)
    return [id(item) for item in value] != [id(item) for item in contents]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def shared_storages(model: nn.Module) -> frozenset[int]:
    """Addresses of storages that two or more different parameters or buffers of the model lie in."""
    seen: dict[int, int] = {}
    for tensor in {id(item): item for item in (*model.parameters(), *model.buffers())}.values():
        if type(tensor).__module__.startswith("torch.distributed"):
            continue
        address = tensor.untyped_storage().data_ptr()
        seen[address] = seen.get(address, 0) + 1
    return frozenset(address for address, count in seen.items() if address and count > 1)
