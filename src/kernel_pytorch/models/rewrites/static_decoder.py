"""Decoding with a static cache: every step has the same shapes, so that it compiles once and can be captured.

    decoder = static_decoder(model, prompt, length=1024)
    logits = decoder.prefill(prompt)
    logits = decoder(token, position)          # (batch, 1) and (1,): both on the device

A step may be run again with the same arguments; it then computes the same.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import Tensor, arange, nn, no_grad, zeros

from kernel_pytorch.models.comparison import Difference, distance, tensors_in, worse
from kernel_pytorch.models.fx.edit import edit_forwards
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.precision import tolerance_of
from kernel_pytorch.models.rewrites.cached_attention import STORE, rewrite_for
from kernel_pytorch.models.rewrites.key_values import KeyValueStore
from kernel_pytorch.models.tree import shallow_tree

# A number of tokens that is seldom the size of anything else in a model.
_TOKENS = 11

# How a model that takes a cache wants its mask; "" for a model that takes none.
BOOL, ADDITIVE = "bool", "additive"
BOOL_BY_TYPE, ADDITIVE_BY_TYPE = "bool by layer type", "additive by layer type"


class StaticDecoder(nn.Module):  # type: ignore[misc]
    """A model that sees new tokens at given positions, and what it saw before."""

    def __init__(self, model: nn.Module, store: KeyValueStore, call: str) -> None:
        super().__init__()
        self.model = model
        self.store = store
        self.call = call
        self.training = model.training
        device = next(model.parameters()).device
        self.register_buffer("places", arange(store.length, device=device), persistent=False)

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        """Logits of `tokens` (batch, n) at the positions (n,)."""
        self.store.position = position
        self.store.seen = self.places[None, :] <= position[:, None]
        if self.call == "":
            logits = _logits(self.model(tokens))
            if not self.store.keys:
                raise RuntimeError(
                    "this decoder was saved and loaded, which keeps no forwards: call static_decoder again"
                )
            return logits
        masks = self._masks(self.store.seen)
        return _logits(
            self.model(
                input_ids=tokens,
                position_ids=position[None, :],
                attention_mask=masks,
                past_key_values=self.store,
                use_cache=True,
            )
        )

    def prefill(self, tokens: Tensor) -> Tensor:
        """The same for a prompt, from position 0."""
        result: Tensor = self(tokens, self.places[: tokens.shape[1]])
        return result

    def _masks(self, seen: Tensor) -> Any:
        mask = seen[None, None]
        by_type = {"full_attention": mask}
        if self.call in (BOOL_BY_TYPE, ADDITIVE_BY_TYPE):
            window: int = self.model.config.sliding_window
            by_type["sliding_attention"] = mask & (self.places[None, :] > self.store.position[:, None] - window)
        if self.call in (ADDITIVE, ADDITIVE_BY_TYPE):
            weight = next(self.model.parameters())
            by_type = {kind: _additive(item, weight) for kind, item in by_type.items()}
        return by_type if len(by_type) > 1 else by_type["full_attention"]

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        result = super()._apply(fn, recurse)
        self.store.forget()
        return result


def static_decoder(model: nn.Module, tokens: Tensor, length: int) -> StaticDecoder:
    """A decoder over the parameters of `model`, for the batch size of `tokens` and up to `length` tokens.

    `tokens` is an example of what the model reads, (batch, 12 or more). Its logits token by token are compared with
    those of the model for all tokens at once. Raises NotApplicable where they differ or the model is no decoder.
    """
    if tokens.dim() != 2 or tokens.shape[1] <= _TOKENS or length <= _TOKENS:
        raise NotApplicable(f"a static cache is made with an example of more than {_TOKENS} tokens, as (batch, tokens)")
    tokens = tokens[:, : _TOKENS + 4]
    takes_cache = {"past_key_values", "position_ids", "attention_mask"} <= set(
        inspect.signature(model.forward).parameters
    )
    makers: list[Callable[[], StaticDecoder]] = []
    if takes_cache:
        makers = [_with_cache(model, length, form) for form in _forms(model)]
    else:
        makers = [lambda: _without_cache(model, tokens, length)]
    reasons = []
    for make in makers:
        try:
            decoder = make()
            difference = _difference(model, decoder, tokens)
        except NotApplicable:
            raise
        except Exception as error:
            reasons.append(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}")
            continue
        if difference.is_acceptable:
            return decoder
        reasons.append(f"{difference.where} differs by {difference.error:.3g}; allowed is {difference.limit:.3g}")
    raise NotApplicable(f"token by token the model computes something else: {'; '.join(dict.fromkeys(reasons))}")


def _forms(model: nn.Module) -> tuple[str, ...]:
    kinds = getattr(getattr(model, "config", None), "layer_types", None) or ()
    return (BOOL_BY_TYPE, ADDITIVE_BY_TYPE) if set(kinds) - {"full_attention"} else (BOOL, ADDITIVE)


def _with_cache(model: nn.Module, length: int, form: str) -> Callable[[], StaticDecoder]:
    return lambda: StaticDecoder(shallow_tree(model), KeyValueStore(length), form)


def _without_cache(model: nn.Module, tokens: Tensor, length: int) -> StaticDecoder:
    store = KeyValueStore(length)
    decoder = StaticDecoder(shallow_tree(model), store, "")
    step = edit_forwards(rewrite_for(_TOKENS), decoder.model, Inputs((tokens[:, :_TOKENS],)))
    if not any("static cache" in change.what for change in step.changes):
        unseen = [*step.refusals, *step.untraceable]
        reasons = "; ".join(f"{where}: {reason}" for where, reason in unseen[:3])
        raise NotApplicable(f"no causal attention found to give a cache to{': ' if reasons else ''}{reasons}")
    for module, _, _ in step.forwards:
        module.__dict__[STORE] = store
    return decoder


def _difference(model: nn.Module, decoder: StaticDecoder, tokens: Tensor) -> Difference:
    """Token by token against all at once."""
    relative, absolute = tolerance_of(item.dtype for item in model.parameters())
    worst = Difference(0.0, 0.0, "logits")
    with no_grad():
        expected = _logits(model(tokens))
        start = tokens.shape[1] // 2
        got = [decoder.prefill(tokens[:, :start])]
        got += [
            decoder(tokens[:, place : place + 1], decoder.places[place : place + 1])
            for place in range(start, tokens.shape[1])
        ]
    done = 0
    for part in got:
        wanted = expected[:, done : done + part.shape[1]]
        worst = worse(worst, distance(wanted, part, relative, absolute, f"the logits from token {done} on"))
        done += part.shape[1]
    return worst


def _logits(output: Any) -> Tensor:
    logits = getattr(output, "logits", None)
    found = logits if isinstance(logits, Tensor) else next(tensors_in(output), None)
    if not isinstance(found, Tensor):
        raise NotApplicable("the model's output holds no tensor")
    return found


def _additive(mask: Tensor, like: Tensor) -> Tensor:
    from torch import finfo

    return zeros(mask.shape, dtype=like.dtype, device=mask.device).masked_fill(~mask, finfo(like.dtype).min)
