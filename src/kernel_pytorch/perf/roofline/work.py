"""How much an operator has to do: FLOPs, and bytes that must cross the memory interface at least once.

A multiply-add counts as two FLOPs. Bytes count every input once and every output once, which is what a perfect kernel
with unlimited cache would move: the figure a roofline is drawn with. Operators that are not modelled give None and are
reported as such.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kernel_pytorch.perf.roofline.forms import Form
from kernel_pytorch.perf.trace.recording import Signature

Model = Callable[[Signature], "Work | None"]


@dataclass(frozen=True)
class Work:
    """The work of one call. `arithmetic` names the peak to compare with; `matrix` whether matrix units may do it.

    `form` is what an expected time needs besides; it does not make two amounts of work different.
    """

    flops: int
    bytes: int
    arithmetic: str
    matrix: bool = False
    form: Form | None = field(default=None, compare=False)

    @property
    def intensity(self) -> float:
        """FLOPs per byte."""
        return self.flops / self.bytes if self.bytes else 0.0


def work_of(signature: Signature) -> Work | None:
    """The work of an operator called with these shapes; None where it is not modelled or shapes are missing."""
    model = _model(signature.name)
    if model is None or not signature.dims:
        return None
    try:
        return model(signature)
    except (IndexError, KeyError, TypeError, ValueError):
        return None  # a call form this model does not know: "not modelled" is the honest answer


def _model(name: str) -> Model | None:
    from kernel_pytorch.perf.roofline import (
        attention,
        collectives,
        convolution,
        experts,
        matmul,
        movement,
        norms,
        pointwise,
        serving,
    )

    operator = name.removeprefix("aten::")
    for table in (matmul, convolution, attention, norms, movement, collectives):
        models: dict[str, Model] = table.MODELS
        if operator in models:
            return models[operator]
    return serving.model(operator) or experts.model(operator) or pointwise.model(operator)
