"""Does a changed model compute what the original did? On inputs nobody has seen, with a referee in double precision.

Two correct orders of the same sums differ; by how much is known per type (`models.precision`). The referee has two more
words: a larger difference is no fault where the candidate is as near to the truth as the original (`nearness`); and a
candidate within tolerance that has lost precision against the original is refused. Running a model for a check leaves
nothing behind: random state, buffers and plain attributes are put back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.errors import AMDOptimizationError
from kernel_pytorch.models.check.conditions import IN_EVAL, WITH_DROPOUT, under
from kernel_pytorch.models.check.fresh import fresh_inputs
from kernel_pytorch.models.check.higher_precision import Referee, hear_referee
from kernel_pytorch.models.check.in_training import Place, Run, Truths, touched, truths_in_training
from kernel_pytorch.models.check.nearness import Answers, Nearness, misses_no_more, nearness, off_one_way
from kernel_pytorch.models.comparison import Difference, distance, tensors_in, worse
from kernel_pytorch.models.inputs import Inputs, copied_inputs
from kernel_pytorch.models.precision import FP64_TOLERANCE, TOLERANCES, narrowest
from kernel_pytorch.models.undisturbed import undisturbed

if TYPE_CHECKING:
    from torch import Tensor, nn

FRESH_SETS = 2
SEED = 20_240
TF32 = "tf32"
"""Permission to compute fp32 products in TF32/XF32: outputs may then be as far off as ten bits explain."""
# How much less exact than the original a candidate may be, and the relative rms error that is never held against it.
_LESS_EXACT = 2.0
_ALWAYS_ALLOWED = {"fp32": 1e-5, "fp16": 5e-4, "bf16": 4e-3}


class Uncheckable(AMDOptimizationError):
    """The model cannot be compared with itself on these inputs; the message says why."""


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
    """The original's results: outputs, and for a model in train mode gradients, under one or more conditions."""

    model: nn.Module
    inputs: Inputs
    allow: frozenset[str] = frozenset()
    conditions: str = WITH_DROPOUT
    """Those of a comparison that names no others."""
    sets: tuple[Inputs, ...] = ()
    runs: dict[str, tuple[Run, ...]] = field(default_factory=dict)
    """By conditions: what the original gave for each of the sets."""
    referee: Referee = field(default_factory=Referee)
    stays: bool = False
    """Nobody changes the model while candidates are compared: in train mode the referee is made of it when needed."""
    truths: dict[tuple[str, int], Truths] = field(default_factory=dict)
    """In train mode: what the referee was asked for, by conditions and set."""
    precision: str = "fp32"
    notes: list[str] = field(default_factory=list)

    @property
    def training(self) -> bool:
        """Forward and backward are compared and measured."""
        return bool(self.model.training)

    @property
    def expected(self) -> tuple[Run, ...]:
        return self.runs[self.conditions]

    @property
    def tolerance(self) -> tuple[float, float]:
        """Relative and absolute."""
        return TOLERANCES.get(self._precision_allowed, FP64_TOLERANCE)

    def run(
        self,
        function: Callable[..., Any],
        inputs: Inputs,
        owner: nn.Module | None = None,
        *,
        conditions: str | None = None,
        seed: int = SEED,
    ) -> Run:
        """One call, always from the same random state; nothing is left behind. `owner` has the parameters."""
        import torch

        model = self.model if owner is None else owner
        chosen = under(conditions or self.conditions, model)
        with undisturbed(self.model), chosen, torch.set_grad_enabled(self.training):
            torch.manual_seed(seed)
            outputs = tuple(tensors_in(copied_inputs(inputs).call(function)))
            gradients = _gradients(model, outputs) if self.training else {}
            return Run(tuple(item.detach().clone() for item in outputs), gradients)

    def note(self, conditions: str) -> None:
        """Keep what the model gives under other conditions as well, before a change that has to be compared so."""
        if conditions in self.runs:
            return
        if any(module.training for module in self.model.modules()):
            self.runs[conditions] = tuple(self.run(self.model, one, conditions=conditions) for one in self.sets)
        else:
            self.runs[conditions] = self.expected  # in eval mode all conditions are the same

    def compare(
        self,
        function: Callable[..., Any],
        owner: nn.Module,
        *,
        conditions: str | None = None,
        exact: bool = False,
    ) -> Checked:
        """The candidate on every set of inputs; an exact one may differ in nothing. Raises what it raises."""
        worst, words = Difference(0.0, 0.0, "outputs"), ""
        doubtful: dict[int, Difference] = {}
        answers: dict[int, list[Answers]] = defaultdict(list)
        for number, (inputs, old) in enumerate(zip(self.sets, self.runs[conditions or self.conditions], strict=True)):
            new = self.run(function, inputs, owner, conditions=conditions)
            if len(new.outputs) != len(old.outputs):
                text = f"{len(old.outputs)} output tensors became {len(new.outputs)}"
                return Checked(text, Difference(float("inf"), 0.0, "the number of outputs"))
            late: dict[Place, Difference] = {}
            for difference, place in _differences(old, new, (0.0, 0.0) if exact else self.tolerance):
                truth = None if exact else self._truth(number, place)
                worst = worse(worst, difference)
                if isinstance(place, int) and truth is not None:
                    answers[place].append(Answers(old.outputs[place], new.outputs[place], truth))
                    if not difference.is_acceptable:
                        doubtful[place] = worse(doubtful.get(place, difference), difference)
                        continue
                    reason, heard = self._within_tolerance(difference, answers[place][-1])
                    words = heard or words
                elif self.training and self.stays and not exact and not difference.is_acceptable and difference.limit:
                    late[place] = difference
                    continue
                else:
                    reason, heard = self._without_referee(difference, asked=isinstance(place, int)), ""
                if reason:
                    return Checked(reason, difference, heard)
            weighed = self._weighed(number, inputs, old, new, late, conditions or self.conditions)
            if not weighed.is_right:
                return weighed
            words = weighed.referee or words
        # How many ties are met is a matter of chance: all sets together say more than one.
        for output, difference in doubtful.items():
            reason, words = self._beyond_tolerance(difference, answers[output], self.referee.precision)
            if reason:
                return Checked(reason, difference, words)
        return Checked("", worst, words)

    def still_right(self) -> bool:
        """Does the original still give what it gave? A change of another tree must not change it."""
        return self._same(self.expected[0], self.run(self.model, self.sets[0]))

    def _same(self, one: Run, other: Run) -> bool:
        if len(one.outputs) != len(other.outputs):
            return False
        return all(difference.is_acceptable for difference, _ in _differences(one, other, self.tolerance))

    def _without_referee(self, difference: Difference, asked: bool) -> str:
        """The reason to refuse, where only the original is there to compare with."""
        if difference.is_acceptable:
            return ""
        if difference.limit == 0.0 and difference.error == float("inf"):
            return f"{difference.where} is not what it was"
        unheard = self.referee.why_none if asked else ""
        return _far(difference) + (f" (no referee: {unheard})" if unheard else "")

    def _within_tolerance(self, difference: Difference, answers: Answers) -> tuple[str, str]:
        """The reason to refuse a candidate that lost precision, and the referee's words."""
        found = nearness([answers])
        if found is None:
            return "", ""
        words = _words(found, self.referee.precision)
        lost = found.after > _LESS_EXACT * found.before + _ALWAYS_ALLOWED.get(self._precision_allowed, 1e-11)
        return (f"{difference.where} lost precision: {words}" if lost else ""), words

    def _beyond_tolerance(self, difference: Difference, answers: list[Answers], precision: str) -> tuple[str, str]:
        """The reason to refuse, and the referee's words, where candidate and original are far apart."""
        found = nearness(answers)
        if found is None:
            if misses_no_more(answers):
                return "", f"it misses no more of {precision}'s choices than the original"
            return self._without_referee(difference, asked=False), ""
        words = _words(found, precision)
        if found.is_nearer:
            return "", f"{words}: the original is the one that is off"
        if not found.is_about_as_near:
            worst = f"their worst elements by {found.worst_before:.2g} and {found.worst_after:.2g}"
            return f"{_far(difference)}; {words}, {worst}", words
        one_way = off_one_way(answers)
        return (f"{_far(difference)}; {words}: {one_way}", words) if one_way else ("", f"{words}: both are as near")

    @property
    def _precision_allowed(self) -> str:
        return "fp16" if self.precision == "fp32" and TF32 in self.allow else self.precision

    def _truth(self, number: int, place: Place) -> Tensor | None:
        """What the referee computed for an output of a set; None where it was not heard."""
        if isinstance(place, str) or not self.referee.outputs or place >= len(self.referee.outputs[number]):
            return None
        truth: Tensor = self.referee.outputs[number][place]
        return truth

    def _weighed(
        self, number: int, inputs: Inputs, old: Run, new: Run, late: Mapping[Place, Difference], conditions: str
    ) -> Checked:
        """In train mode: what the referee says of the differences that are too large."""
        words = ""
        known = self.truths.get((conditions, number), Truths())
        if not known.why_none and not known.values.keys() >= late.keys():
            wanted = tuple(dict.fromkeys((*known.values, *late)))
            known = truths_in_training(
                self.model, inputs, wanted, old,
                lambda twin, given: self.run(twin, given, twin, conditions=conditions),
            )  # fmt: skip
            self.truths[conditions, number] = known
        for place, difference in late.items():
            truth, before, after = known.values.get(place), old.at(place), new.at(place)
            if truth is None or before is None or after is None:
                why_none = known.why_none or "one of the two has no such gradient"
                return Checked(f"{_far(difference)} (no referee: {why_none})", difference)
            reason, words = self._beyond_tolerance(difference, [touched(before, after, truth)], known.precision)
            if reason:
                return Checked(reason, difference, words)
        return Checked("", Difference(0.0, 0.0, "outputs"), words)


def take_reference(
    model: nn.Module,
    inputs: Inputs,
    allow: frozenset[str] = frozenset(),
    *,
    conditions: str = WITH_DROPOUT,
    fresh_sets: int = FRESH_SETS,
    computes_in: Any = None,
) -> Reference:
    """The original's results on given and on fresh inputs. Raises Uncheckable, or what the model raises on `inputs`.

    `computes_in`: a dtype that takes part although neither parameters nor outputs have it."""
    reference = Reference(model, inputs, allow, conditions)
    given = reference.run(model, inputs)
    if not given.outputs:
        raise Uncheckable("the model's output holds no tensor: nothing that is done to it could be checked")
    reference.precision = _precision(model, given.outputs, computes_in)
    if not reference._same(given, reference.run(model, inputs)):
        raise Uncheckable(
            "the model differs from itself when it is called twice on the same inputs with the same random seed: "
            "nothing can be checked against it"
        )
    if conditions == WITH_DROPOUT and not reference._same(given, reference.run(model, inputs, seed=SEED + 1)):
        if reference.training:
            reference.conditions = IN_EVAL
            given = reference.run(model, inputs)
            reference.notes.append("random in train mode (dropout): outputs and gradients are compared in eval mode")
        else:
            reference.notes.append(
                "the model draws random numbers: torch.compile draws others from the same seed, which counts as wrong "
                "unless torch._inductor.config.fallback_random is set"
            )
    reference.sets, reference.runs[reference.conditions] = _fresh_sets(reference, given, fresh_sets)
    return reference


def call_referee(reference: Reference, *, stays: bool = False) -> None:
    """Let the referee see the sets. Apart from `take_reference`, since it may take long and can be left out.

    In train mode it is only asked where a difference is too large, of a model that `stays` as it is until then."""
    if reference.training:
        reference.stays = stays
        reference.referee = Referee(why_none="" if stays else "the model is in train mode")
        return
    reference.referee = hear_referee(
        reference.model,
        reference.sets,
        lambda twin, inputs: reference.run(twin, inputs, twin).outputs,
        tuple(run.outputs for run in reference.expected),
    )


def _fresh_sets(reference: Reference, given: Run, count: int) -> tuple[tuple[Inputs, ...], tuple[Run, ...]]:
    """The fresh sets first, the user's own last; only the latter where the model does not take others."""
    import torch

    sets: list[Inputs] = []
    expected: list[Run] = []
    for seed in range(1, count + 1):
        fresh = fresh_inputs(reference.inputs, seed)
        try:
            run = reference.run(reference.model, fresh)
        except Exception as error:
            reference.notes.append(f"checked on the given inputs only: it fails on others ({type(error).__name__})")
            break
        if all(not bool(torch.isfinite(item).any()) for item in run.outputs if item.is_floating_point()) and any(
            bool(torch.isfinite(item).any()) for item in given.outputs if item.is_floating_point()
        ):
            reference.notes.append("checked on the given inputs only: others give nothing but NaN or infinity")
            break
        sets.append(fresh)
        expected.append(run)
    for number, other in enumerate(reference.inputs.others, start=1):
        try:
            expected.append(reference.run(reference.model, other))
        except Exception as error:
            raise AMDOptimizationError(
                f"the model does not run on the other inputs, set {number}: {type(error).__name__}: {error}"
            ) from error
        sets.append(other)
    return (*sets, reference.inputs), (*expected, given)


def _differences(old: Run, new: Run, tolerance: tuple[float, float]) -> list[tuple[Difference, Place]]:
    """Of every output, with its place, and of every gradient, with its parameter's name."""
    import torch

    relative, absolute = tolerance
    found: list[tuple[Difference, Place]] = [
        (distance(one, other, relative, absolute, f"output {place}"), place)
        for place, (one, other) in enumerate(zip(old.outputs, new.outputs, strict=True))
    ]
    # Some gradients are zero but for rounding (a key projection's bias): measured against the largest of all.
    largest = max((item.abs().max().item() for item in old.gradients.values() if item.numel()), default=0.0)
    for name in dict.fromkeys((*old.gradients, *new.gradients)):
        # A parameter that took no part has the gradient zero.
        one, other = old.gradients.get(name), new.gradients.get(name)
        one = torch.zeros_like(other) if one is None else one
        other = torch.zeros_like(one) if other is None else other
        found.append((distance(one, other, relative, absolute * max(largest, 1e-30), f"gradient of {name}"), name))
    return found


def _words(found: Nearness, precision: str) -> str:
    return f"against {precision} the original is off by {found.before:.2g}, this by {found.after:.2g}"


def _far(difference: Difference) -> str:
    return f"{difference.where} differs by {difference.error:.3g}, allowed is {difference.limit:.3g}"


def _precision(model: nn.Module, outputs: tuple[Tensor, ...], also: Any) -> str:
    """The narrowest type that takes part: a bf16 model with fp32 logits computes in bf16."""
    import torch

    dtypes = {also, *(item.dtype for item in (*model.parameters(), *outputs) if item.is_floating_point())}
    if torch.is_autocast_enabled():
        dtypes.add(torch.get_autocast_dtype("cuda"))
    return narrowest(dtypes)


def _gradients(model: nn.Module, outputs: tuple[Tensor, ...]) -> dict[str, Tensor]:
    import torch

    usable = [item for item in outputs if item.requires_grad]
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    if not usable or not named:
        return {}
    # Weights of every size and sign, without drawing random numbers: a plain sum hides errors that cancel.
    loss = sum((item.float() * _weights(item)).sum() for item in usable)
    found = torch.autograd.grad(loss, [parameter for _, parameter in named], allow_unused=True)
    return {name: value for (name, _), value in zip(named, found, strict=True) if value is not None}


def _weights(item: Tensor) -> Tensor:
    import torch

    return torch.arange(item.numel(), device=item.device, dtype=torch.float32).mul(0.7).cos().view(item.shape)
