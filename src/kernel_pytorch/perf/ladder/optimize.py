"""`optimize(model, inputs)`: the ladder as a library call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.models.inputs import as_inputs
from kernel_pytorch.perf.ladder.climb import climb
from kernel_pytorch.perf.ladder.explain import explain, speedup
from kernel_pytorch.perf.ladder.generate import write_result
from kernel_pytorch.perf.ladder.identity import identity_of, source_of
from kernel_pytorch.perf.ladder.ledger import FILE, Ledger, load, refuse_other
from kernel_pytorch.perf.ladder.measuring import Measure, measure_in_turns
from kernel_pytorch.perf.ladder.rung import REDUCE_OVERHEAD, Recipe, Rung
from kernel_pytorch.perf.ladder.rungs import rung_named, rungs
from kernel_pytorch.perf.ladder.state import BUDGET_S, LEVELS, MEASURE_S, Event, Rules, TryEnvironment

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Optimized:
    """The result. Call it in place of the model; `model` is the rewritten tree without the wrappers.

    `model` shares its parameters with the original and has the same state_dict: train it, save it, wrap it in DDP.
    Compiled code and graphs are made for the inputs' shapes; others compile again or run as they are.
    """

    model: nn.Module
    function: Callable[..., Any]
    ledger: Ledger
    recipe: Recipe
    known: tuple[Rung, ...]
    restart_with: dict[str, str]
    """Variables under which `kpt optimize` has to go on in a new process; empty for a library call."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One call of the fastest that was found to be right."""
        return self.function(*args, **kwargs)

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the original; None where nothing helped."""
        return speedup(self.ledger)

    def explain(self) -> str:
        """What was kept, what was not, and why."""
        return explain(self.ledger)

    def write(self, folder: Path | str) -> tuple[Path, Path]:
        """Write the module that does the same again, and the environment block, to a folder."""
        return write_result(self.ledger, self.recipe, self.known, Path(folder))


def optimize(
    model: nn.Module,
    inputs: Any,
    *,
    others: Iterable[Any] = (),
    budget_s: float = BUDGET_S,
    levels: Iterable[int] = LEVELS,
    allow: Iterable[str] | None = None,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    folder: Path | str | None = None,
    resume: bool = False,
    target: str = "",
    ladder: Iterable[Rung] | None = None,
    measure: Measure = measure_in_turns,
    measure_s: float = MEASURE_S,
    say: Callable[[Event], None] = lambda event: None,
    try_environment: TryEnvironment | None = None,
) -> Optimized:
    """Try each rung on `model` with `inputs`. Keep what is right and faster by more than the noise.

    `model` is not changed. In eval mode inference is optimised, in train mode forward and backward. `others` are the
    inputs of further calls, where sizes vary: what is kept is right on them too, compiled once for all sizes, and timed
    as all these calls together. `budget_s` bounds
    the whole climb in seconds. `allow` names what needs permission: "reduce-overhead" (Inductor records graphs; allowed
    by default, but not on ROCm), "tf32", "freezing". With `folder` the ledger is written there after every rung, and
    `resume` goes on with it. Levels are 1 environment (only by `kpt optimize TARGET`), 2 compile and graphs, 3 surgery,
    4 kernels and Inductor tuning, 5 vendor kernels.
    """
    import torch

    if not isinstance(model, torch.nn.Module):
        raise UsageError(
            f"the ladder needs a torch.nn.Module, not a {type(model).__name__}: put the call into the forward of one"
        )
    known = tuple(ladder) if ladder is not None else rungs()
    permitted = allowed_by_default() if allow is None else frozenset(allow)
    rules = _rules(known, budget_s, levels, permitted, tuple(only), tuple(skip), measure_s)
    given = replace(as_inputs(inputs), others=tuple(as_inputs(one) for one in others))
    name = target or type(model).__qualname__
    identity = identity_of(model, given, name, source_of(target) if target else ())
    path = Path(folder) / FILE if folder is not None else None
    ledger = _start(path, resume, name, identity)
    climbed = climb(
        model, given, known, ledger, rules, path=path, measure=measure, say=say, try_environment=try_environment
    )
    recipe = climbed.ledger.recipe(known)
    return Optimized(climbed.model, climbed.function, climbed.ledger, recipe, known, climbed.restart_with)


def allowed_by_default() -> frozenset[str]:
    """Inductor's own graphs, except on ROCm, where they are avoided until they are proven (KP601)."""
    import torch

    from kernel_pytorch.core.platform import is_rocm

    return frozenset() if is_rocm(torch) else frozenset({REDUCE_OVERHEAD})


def _start(path: Path | None, resume: bool, name: str, identity: dict[str, str]) -> Ledger:
    from kernel_pytorch.models.clock.device import current_device
    from kernel_pytorch.perf.bench.environment import environment

    if resume and path is None:
        raise UsageError("resume needs the folder that holds the ledger")
    if resume and path is not None:
        if not path.exists():
            raise UsageError(f"{path}: there is no ledger to resume; leave --resume out to begin one")
        ledger = load(path)
        refuse_other(ledger, identity, path)
        return ledger
    device = current_device(force_cpu=identity["device"].startswith("cpu"))
    return Ledger(name, identity, environment(device))


def _rules(
    known: tuple[Rung, ...],
    budget_s: float,
    levels: Iterable[int],
    allow: Iterable[str],
    only: Iterable[str],
    skip: Iterable[str],
    measure_s: float,
) -> Rules:
    if not budget_s > 0:
        raise UsageError(f"a budget of {budget_s:g} seconds: must be more than 0")
    wanted = frozenset(levels)
    if not wanted or not wanted <= LEVELS:
        raise UsageError(f"levels {sorted(wanted)}: there are {min(LEVELS)} to {max(LEVELS)}")
    for name in (*only, *skip):
        rung_named(name, known)
    return Rules(budget_s, wanted, frozenset(allow), frozenset(only), frozenset(skip), measure_s)
