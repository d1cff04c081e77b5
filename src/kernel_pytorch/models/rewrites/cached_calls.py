"""A decoder that is called again and again with one token more, as in a loop that generates text, with a static cache.

The tokens of the last call are kept: a call that begins with them computes only what is new; any other call starts
anew. Found in a run of the example, where the module that contains the loop is the model.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.example_run import run_once
from kernel_pytorch.models.fx.forwards import current_forward, set_forward
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.tree import shallow_tree

if TYPE_CHECKING:
    from torch import Tensor, nn

    from kernel_pytorch.models.rewrites.static_decoder import StaticDecoder

# Fewer calls than this are no loop.
_FEWEST_CALLS = 3


@dataclass(frozen=True)
class Loop:
    """The decoder that is called, and with how many tokens."""

    name: str
    lengths: tuple[int, ...]
    tokens: Any

    @property
    def longest(self) -> int:
        return self.lengths[-1]


class CachedCalls:
    """A forward that computes the logits of new tokens only."""

    def __init__(self, module: nn.Module, inner: Any, decoder: StaticDecoder | None) -> None:
        self.module, self.inner, self.decoder = module, inner, decoder
        self.seen: Any = None
        self.logits: Any = None
        self.weights: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import torch

        if (
            self.decoder is None
            or torch.compiler.is_compiling()  # comparing tokens would break the graph
            or torch.is_grad_enabled()
            or self.module.training
            or kwargs
            or len(args) != 1
            or args[0].dim() != 2
            or args[0].shape[1] > self.decoder.store.length
        ):
            return self._original(*args, **kwargs)
        tokens, weights = args[0], _stamp(self.module)
        if self.seen is not None and (self.seen.shape[0] != tokens.shape[0] or self.weights != weights):
            self.decoder.store.forget()
            self.seen = None
        self.weights = weights
        known = 0 if self.seen is None else self.seen.shape[1]
        if known >= tokens.shape[1] or not known or not torch.equal(tokens[:, :known], self.seen):
            known = 0
        new = self.decoder(tokens[:, known:], self.decoder.places[known : tokens.shape[1]])
        self.logits = new if not known else torch.cat((self.logits, new), dim=1)
        self.seen = tokens.clone()
        # The caller may write into what it gets.
        return self.logits.clone()

    def _original(self, *args: Any, **kwargs: Any) -> Any:
        if self.inner is not None:
            return self.inner(*args, **kwargs)
        return type(self.module).forward(self.module, *args, **kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> CachedCalls:
        module, inner, decoder = (copy.deepcopy(item, memo) for item in (self.module, self.inner, self.decoder))
        return CachedCalls(module, inner, decoder)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "decoder": None, "seen": None, "logits": None}


def find(model: nn.Module, inputs: Inputs) -> Loop:
    """The outermost module that is called with one token more each time. Raises NotApplicable."""
    from torch import Tensor

    tree = shallow_tree(model)
    names = {module: name for name, module in tree.named_modules() if name}
    calls: dict[str, list[Any]] = {}

    def before(module: nn.Module, args: Any, kwargs: Any) -> None:
        if module in names:
            alone = len(args) == 1 and not kwargs and isinstance(args[0], Tensor)
            calls.setdefault(names[module], []).append(args[0].clone() if alone and _are_tokens(args[0]) else None)

    run_once(tree, inputs, before=before)
    for name, tokens in calls.items():
        if len(tokens) >= _FEWEST_CALLS and _grow(tokens) and list(model.get_submodule(name).children()):
            return Loop(name, tuple(item.shape[1] for item in tokens), tokens[-1])
    raise NotApplicable("no decoder is called again and again with one token more")


def cache(model: nn.Module, loop: Loop) -> nn.Module:
    """A new tree in which the decoder has a cache. Raises NotApplicable where it cannot have one."""
    tree = shallow_tree(model)
    module = tree.get_submodule(loop.name)
    from kernel_pytorch.models.rewrites.static_decoder import static_decoder

    decoder = static_decoder(module, loop.tokens, loop.longest)
    set_forward(module, CachedCalls(module, current_forward(module), decoder))
    return tree


def _stamp(module: nn.Module) -> list[tuple[int, int]]:
    """Changes when a weight is moved or written to: what was computed with it is then of no use."""
    return [(item.data_ptr(), 0 if item.is_inference() else item._version) for item in module.parameters()]


def _are_tokens(tensor: Tensor) -> bool:
    return bool(tensor.dim() == 2 and not tensor.is_floating_point())


def _grow(tokens: list[Any]) -> bool:
    import torch

    if any(item is None for item in tokens):
        return False
    pairs = itertools.pairwise(tokens)
    return all(new.shape[1] == old.shape[1] + 1 and torch.equal(new[:, : old.shape[1]], old) for old, new in pairs)
