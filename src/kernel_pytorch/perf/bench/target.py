"""Loads what is to be measured: `module:function` or `file.py:function`.

The function returns (model, inputs), a callable, or a dictionary with `model`, `inputs` and, for throughput, `samples`
and `tokens` per call; `other_inputs` is a list of further calls, for `kpt optimize`, where sizes vary between calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernel_pytorch.core.entry_point import blaming, load_function
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.inputs import Inputs


@dataclass(frozen=True)
class Target:
    """Something to call. `arguments` are positional, `keywords` by name; both may hold tensors."""

    name: str
    call: Callable[..., object]
    arguments: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    samples: float | None = None
    tokens: float | None = None
    other_inputs: tuple[object, ...] = ()

    @property
    def inputs(self) -> Inputs:
        """The arguments of one call."""
        return Inputs(self.arguments, self.keywords)

    @property
    def is_module(self) -> bool:
        """A torch.nn.Module, as opposed to a function."""
        return hasattr(self.call, "parameters") and hasattr(self.call, "forward")


def looks_like_target(text: str) -> bool:
    """`package.module:function` or `path/file.py:function`, and not an existing file."""
    place, separator, name = text.rpartition(":")
    return bool(separator) and name.isidentifier() and bool(place) and not Path(text).exists()


def load_target(text: str) -> Target:
    """Import the module, call the function, and take what it returns. Raises UsageError naming what is wrong."""
    function = load_function(text)
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise UsageError(f"{text}: the function must take no arguments and return (model, inputs): {error}") from error
    with blaming(text):
        made = function()
    return as_target(text, made)


def as_target(name: str, made: object) -> Target:
    """What a target function returned, in one form."""
    samples = tokens = None
    inputs: object = ()
    others: Sequence[object] = ()
    arguments: tuple[object, ...]
    if isinstance(made, Mapping):
        if "model" not in made:
            raise UsageError(f"{name}: the dictionary it returns has no 'model' (keys: {', '.join(map(str, made))})")
        model, inputs = made["model"], made.get("inputs", ())
        samples, tokens, others = made.get("samples"), made.get("tokens"), made.get("other_inputs", ())
        if not isinstance(others, (tuple, list)):
            raise UsageError(f"{name}: 'other_inputs' is a {type(others).__name__}; expected a list, an entry per call")
    elif isinstance(made, tuple) and len(made) == 2 and callable(made[0]):
        model, inputs = made
    else:
        model = made
    if not callable(model):
        raise UsageError(
            f"{name}: returned {type(made).__name__}; expected (model, inputs), a callable or a dictionary"
        )
    if isinstance(inputs, Mapping):
        arguments, keywords = (), {str(key): value for key, value in inputs.items()}
    elif isinstance(inputs, (tuple, list)):
        arguments, keywords = tuple(inputs), {}
    else:
        arguments, keywords = (inputs,), {}
    return Target(name, model, arguments, keywords, samples, tokens, tuple(others))
