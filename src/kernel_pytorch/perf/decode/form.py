"""What decoders differ in beyond their tensors: the gate of the MLP, a cap of scores, how heads are rotated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

SILU, GELU_TANH, GELU_ERF = GATES = ("silu", "gelu_tanh", "gelu_erf")
"""What multiplies the second half of an MLP, by the names of `models.kernels`."""


@dataclass(frozen=True)
class Form:
    """`norm_plus` is added to the weights of all norms (Gemma: 1). With `neighbours` the elements 2i and 2i + 1 of a
    head are rotated with each other, else those half of the rotated ones apart. Scores become cap * tanh(score / cap),
    if the cap is not 0."""

    gate: str = SILU
    cap: float = 0.0
    norm_plus: float = 0.0
    neighbours: bool = False


PLAIN = Form()


@dataclass(frozen=True)
class Extras:
    """What some decoders have and others have not. Lists are empty, or have for each layer three biases (of query, key,
    value), two norms of heads (query, key), two norms of what attention and the MLP add to the row. `local` are layers
    with angles and a mask of their own: `other` is cosine, sine and, where there are masks, the mask."""

    biases: list[Tensor]
    head_norms: list[Tensor]
    after_norms: list[Tensor]
    other: list[Tensor]
    local: list[int]
    form: Form = PLAIN

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing of all that."""
        return self == NO_EXTRAS

    @property
    def tensors(self) -> list[Tensor]:
        """Those that a layer has."""
        return [*self.biases, *self.head_norms, *self.after_norms]

    def seen_by(
        self, layer: int, bias: Tensor | None, cos: Tensor, sin: Tensor
    ) -> tuple[Tensor | None, Tensor, Tensor]:
        """Mask, cosine and sine of a layer, given those of most."""
        if layer not in self.local:
            return bias, cos, sin
        return (self.other[2] if len(self.other) > 2 else None), self.other[0], self.other[1]


NO_EXTRAS = Extras([], [], [], [], [])


def extras_of(
    biases: list[Tensor] | None = None,
    head_norms: list[Tensor] | None = None,
    after_norms: list[Tensor] | None = None,
    other: list[Tensor] | None = None,
    local: list[int] | None = None,
    gate: str = SILU,
    cap: float = 0.0,
    norm_plus: float = 0.0,
    neighbours: bool = False,
) -> Extras:
    """From the last arguments of the operator."""
    form = Form(gate, cap, norm_plus, neighbours)
    return Extras(biases or [], head_norms or [], after_norms or [], other or [], list(local or []), form)
