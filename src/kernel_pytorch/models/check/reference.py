"""Does a candidate compute what the original does? On inputs nobody has seen, with a referee in double precision.

Two correct orders of the same sums differ; by how much is known per type (backends.base.TOLERANCES). The referee has
two more words: where the candidate is nearer to the truth than the original, a larger difference is the original's;
and where it is within tolerance but has lost precision against the original, it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.errors import AMDOptimizationError
from kernel_pytorch.models.check.fresh import fresh_inputs
from kernel_pytorch.models.check.higher_precision import Referee, finite_pair, hear_referee, rms
from kernel_pytorch.models.comparison import Difference, distance, tensors_in, worse
from kernel_pytorch.models.inputs import Inputs, copied_inputs
from kernel_pytorch.models.precision import TOLERANCES, precision_name
from kernel_pytorch.models.undisturbed import undisturbed

if TYPE_CHECKING:
    from torch import nn

FRESH_SETS = 2
SEED = 20_240
TF32 = "tf32"
"""Permission to compute fp32 products in TF32/XF32: outputs may then be as far off as ten bits explain."""
_FP64_TOLERANCE = (1e-9, 1e-10)
# How much less exact than the original a candidate may be, and the relative rms error that is never held against it.
_LESS_EXACT = 2.0
_ALWAYS_ALLOWED = {"fp32": 1e-5, "fp16": 5e-4, "bf16": 4e-3}


@dataclass(frozen=True)
class Checked:
    """What the comparison found. `reason` is empty where the candidate is right."""

    reason: str
    difference: Difference
    referee: str = ""

    @property
    def is_right(self) -> bool:
        return not self.reason


@dataclass
class Reference:
    """The original's results, taken once: outputs, and for a model in train mode gradients."""

    model: nn.Module
    inputs: Inputs
    allow: frozenset[str] = frozenset()
    sets: tuple[Inputs, ...] = ()
    expected: tuple[tuple[Any, ...], ...] = ()
    referee: Referee = field(default_factory=Referee)
    relative: float = 0.0
    absolute: float = 0.0
    precision: str = "fp32"
    in_eval: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def training(self) -> bool:
        """Forward and backward are compared and measured."""
        return bool(self.model.training)

    def run(
        self, function: Callable[..., Any], inputs: Inputs, parameters: nn.Module | None = None, seed: int = SEED
    ) -> tuple[Any, ...]:
        """Outputs (and gradients) of one call, always from the same random state; nothing is left behind."""
        import torch

        owner = self.model if parameters is None else parameters
        with undisturbed(self.model), _mode(owner, self.in_eval), torch.set_grad_enabled(self.training):
            torch.manual_seed(seed)
            outputs = tuple(tensors_in(copied_inputs(inputs).call(function)))
            gradients = _gradients(owner, outputs) if self.training else ()
            return (*(item.detach().clone() for item in outputs), *gradients)

    def compare(self, function: Callable[..., Any], parameters: nn.Module) -> Checked:
        """The candidate on every set of inputs. Raises what the candidate raises."""
        worst = Difference(0.0, 0.0, "outputs")
        words = ""
        for number, inputs in enumerate(self.sets):
            found = self.run(function, inputs, parameters)
            if len(found) != len(self.expected[number]):
                text = f"{len(self.expected[number])} output tensors became {len(found)}"
                return Checked(text, Difference(float("inf"), 0.0, "the number of outputs"))
            for place, (old, new) in enumerate(zip(self.expected[number], found, strict=True)):
                difference = distance(old, new, self.relative, self.absolute, f"output {place}")
                reason, said = self._judge(difference, old, new, number, place)
                worst, words = worse(worst, difference), said or words
                if reason:
                    return Checked(reason, difference, said)
        return Checked("", worst, words)

    def still_right(self) -> bool:
        """Does the original still give what it gave? A rung must not change it."""
        return _same(self, self.expected[0], self.run(self.model, self.sets[0]))

    def _judge(self, difference: Difference, old: Any, new: Any, number: int, place: int) -> tuple[str, str]:
        """The reason to refuse, and what the referee said; both may be empty."""
        apart = f"{difference.where} differs by {difference.error:.3g}, allowed is {difference.limit:.3g}"
        truth = self._truth(old, new, number, place)
        if truth is None:
            if difference.is_acceptable:
                return "", ""
            if difference.limit == 0.0 and difference.error == float("inf"):
                return f"{difference.where} is not what it was", ""
            return apart + (f" (no referee: {self.referee.why_none})" if self.referee.why_none else ""), ""
        before, after = truth
        words = f"against {self.referee.precision} the original is off by {before:.2g}, this by {after:.2g}"
        if not difference.is_acceptable and after <= before:
            return "", f"{words}: the original is the one that is off"
        if not difference.is_acceptable:
            return f"{apart}; {words}", words
        if after > _LESS_EXACT * before + self._always_allowed:
            return f"{difference.where} lost precision: {words}", words
        return "", words

    @property
    def _always_allowed(self) -> float:
        name = "fp16" if self.precision == "fp32" and TF32 in self.allow else self.precision
        return _ALWAYS_ALLOWED.get(name, 1e-11)

    def _truth(self, old: Any, new: Any, number: int, place: int) -> tuple[float, float] | None:
        """Relative rms errors of the original and of the candidate, where the referee has a word."""
        import torch

        if not self.referee.outputs or place >= len(self.referee.outputs[number]):
            return None
        truth = self.referee.outputs[number][place]
        if not old.is_floating_point() or old.shape != new.shape or old.dtype != new.dtype or truth.shape != old.shape:
            return None
        if not torch.equal(torch.isfinite(old), torch.isfinite(new)):
            return None
        known, true = finite_pair(old, truth)
        size = rms(true)
        if not size:
            return None
        candidate, again = finite_pair(new, truth)
        return rms(known - true) / size, rms(candidate - again) / size


def take_reference(model: nn.Module, inputs: Inputs, allow: frozenset[str] = frozenset()) -> Reference:
    """The original's results on given and on fresh inputs. Raises AMDOptimizationError where nothing can be checked."""
    reference = Reference(model, inputs, allow)
    try:
        given = reference.run(model, inputs)
    except Exception as error:
        raise AMDOptimizationError(f"the model does not run on its inputs: {type(error).__name__}: {error}") from error
    if not given:
        raise AMDOptimizationError("the model's output holds no tensor: nothing a rung does could be checked")
    reference.precision, (reference.relative, reference.absolute) = _tolerance(model, given, allow)
    if not _same(reference, given, reference.run(model, inputs)):
        raise AMDOptimizationError(
            "the model gives other outputs when called twice on the same inputs with the same random seed: no rung "
            "can be checked against it"
        )
    if not _same(reference, given, reference.run(model, inputs, seed=SEED + 1)):
        if reference.training:
            reference.in_eval = True
            given = reference.run(model, inputs)
            reference.notes.append("random in train mode (dropout): outputs and gradients are compared in eval mode")
        else:
            reference.notes.append(
                "the model draws random numbers: torch.compile draws others from the same seed, which counts as wrong "
                "unless torch._inductor.config.fallback_random is set"
            )
    reference.sets, reference.expected = _fresh_sets(reference, given)
    return reference


def call_referee(reference: Reference) -> None:
    """Let the referee see the sets. Apart from `take_reference`, since it may take long and can be left out."""
    if reference.training:
        reference.referee = Referee(why_none="the model is in train mode")
        return
    reference.referee = hear_referee(
        reference.model, reference.sets, lambda twin, inputs: reference.run(twin, inputs), reference.expected
    )


def _fresh_sets(reference: Reference, given: tuple[Any, ...]) -> tuple[tuple[Inputs, ...], tuple[tuple[Any, ...], ...]]:
    """The fresh sets first, the user's own last; only the latter where the model does not take others."""
    import torch

    sets: list[Inputs] = []
    expected: list[tuple[Any, ...]] = []
    for seed in range(1, FRESH_SETS + 1):
        fresh = fresh_inputs(reference.inputs, seed)
        try:
            outputs = reference.run(reference.model, fresh)
        except Exception as error:
            reference.notes.append(f"checked on the given inputs only: it fails on others ({type(error).__name__})")
            break
        if all(not bool(torch.isfinite(item).any()) for item in outputs if item.is_floating_point()) and any(
            bool(torch.isfinite(item).any()) for item in given if item.is_floating_point()
        ):
            reference.notes.append("checked on the given inputs only: others give nothing but NaN or infinity")
            break
        sets.append(fresh)
        expected.append(outputs)
    for number, other in enumerate(reference.inputs.others, start=1):
        try:
            expected.append(reference.run(reference.model, other))
        except Exception as error:
            raise AMDOptimizationError(
                f"the model does not run on the other inputs, set {number}: {type(error).__name__}: {error}"
            ) from error
        sets.append(other)
    return (*sets, reference.inputs), (*expected, given)


def _same(reference: Reference, one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    if len(one) != len(other):
        return False
    pairs = zip(one, other, strict=True)
    return all(distance(old, new, reference.relative, reference.absolute, "").is_acceptable for old, new in pairs)


def _tolerance(model: nn.Module, outputs: tuple[Any, ...], allow: frozenset[str]) -> tuple[str, tuple[float, float]]:
    """By the narrowest type that takes part: a bf16 model with fp32 logits computes in bf16."""
    import torch

    names = {precision_name(item.dtype) for item in (*model.parameters(), *outputs) if item.is_floating_point()}
    if torch.is_autocast_enabled():
        names.add(precision_name(torch.get_autocast_dtype("cuda")))
    known = [name for name in ("bf16", "fp16", "fp32") if name in names]
    if not known:
        return "fp64", _FP64_TOLERANCE
    return known[0], TOLERANCES["fp16" if known[0] == "fp32" and TF32 in allow else known[0]]


@contextmanager
def _mode(model: nn.Module, in_eval: bool) -> Iterator[None]:
    if not in_eval:
        yield
        return
    modes = [(module, module.training) for module in model.modules()]
    for module, _ in modes:
        module.training = False
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def _gradients(model: nn.Module, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Of every parameter in the order of the names, so that another tree with the same names gives the same order."""
    import torch

    usable = [item for item in outputs if item.requires_grad]
    named = [parameter for _, parameter in sorted(model.named_parameters()) if parameter.requires_grad]
    if not usable or not named:
        return ()
    # Weights of every size and sign, without drawing random numbers: a plain sum hides errors that cancel.
    loss = sum((item.float() * _weights(item)).sum() for item in usable)
    found = torch.autograd.grad(loss, named, allow_unused=True)
    return tuple(torch.zeros_like(one) if value is None else value for one, value in zip(named, found, strict=True))


def _weights(item: Any) -> Any:
    import torch

    return torch.arange(item.numel(), device=item.device, dtype=torch.float32).mul(0.7).cos().view(item.shape)
