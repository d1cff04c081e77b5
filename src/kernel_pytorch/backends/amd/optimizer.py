"""AMDOptimizer: a fixed recipe of rewrites, each kept only if the model still computes the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kernel_pytorch.backends.amd.rewrites import ALL_REWRITES, Job, Rewrite
from kernel_pytorch.backends.amd.rewrites.checkpointing import wanted_by_memory
from kernel_pytorch.backends.found_devices import find_devices
from kernel_pytorch.backends.precision import choose_precision, fitted_config, known_target
from kernel_pytorch.backends.prepare import preparation_of
from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.config import OPTIMIZATION_LEVELS, AMDConfig, KernelPyTorchConfig
from kernel_pytorch.core.errors import AMDBackendError, AMDOptimizationError
from kernel_pytorch.core.platform import is_rocm
from kernel_pytorch.models.check.conditions import WITHOUT_DROPOUT
from kernel_pytorch.models.check.random_inputs import made_inputs
from kernel_pytorch.models.check.reference import FRESH_SETS, Reference, Uncheckable, call_referee, take_reference
from kernel_pytorch.models.in_place import APPLIED, LEFT_ALONE, THE_MODEL, UNDONE, InPlace, Outcome
from kernel_pytorch.models.inputs import Inputs, as_inputs
from kernel_pytorch.models.rewrites.norm_folding import forget_folded_weights

if TYPE_CHECKING:
    from torch import nn

_BY_PARTS = "random data of each rewritten part's own shapes: the model's inputs are not known without example_inputs"


class AMDOptimizer:
    """Makes a model faster without changing what it computes.

    Every step is compared with the original on an example, and taken back when the outputs (in train mode also the
    gradients) differ by more than the precision explains, or when a measurement shows it to be slower. The model is
    changed in place: same class, same parameters, same state dict. `rewrites` replaces the list of steps.
    """

    def __init__(
        self,
        config: AMDConfig | KernelPyTorchConfig | None = None,
        *,
        rewrites: Sequence[Rewrite] = ALL_REWRITES,
    ) -> None:
        options = config.amd if isinstance(config, KernelPyTorchConfig) else config or AMDConfig()
        if not isinstance(options, AMDConfig):
            raise AMDBackendError(f"AMDOptimizer takes an AMDConfig, not {type(options).__name__}")
        found = find_devices("amd")
        index = options.device_id if options.device_id < len(found.devices) else 0
        row = known_target(found.devices[index].target) if found.devices else None
        if row is not None and options.architecture is AMDArchitecture.AUTO:
            options = fitted_config(options, row.amd_architecture)
        self.config = options
        self.rewrites = tuple(rewrites)
        self._chosen_mixed = self._mixed = choose_precision(options, row).mixed
        self._level = options.optimization_level
        self._outcomes: list[Outcome] = []
        self._checked_with = "nothing was optimised yet"

    def optimize(
        self,
        model: nn.Module,
        level: str | None = None,
        example_inputs: Any = None,
        *,
        compile: bool | str | None = None,
        measure: bool | None = None,
        gradient_checkpointing: bool | str = False,
        graphs: bool = True,
    ) -> nn.Module:
        """Optimise `model` in place for the mode it is in (train or eval), and give it back.

        `example_inputs` is a tensor, a tuple of arguments or a dict of keyword arguments, as the model will see
        them. Without it, one is made where the first layer leaves no choice; where it does, steps are applied that can
        be proven part by part (dropout removal, batch norm folding, projection fusion). `compile`: None compiles on a
        GPU only; True, False or a mode of torch.compile decide. `measure`: None measures each step on a GPU.
        `gradient_checkpointing`: True, False, or "auto" (in training, when a step with the example does not fit in
        max_memory_fraction of the GPU). `graphs`: False leaves graph capture out of level aggressive.

        Raises AMDOptimizationError for what cannot be done; the model is then as it was.
        """
        chosen = self._check_request(model, level, gradient_checkpointing)
        forget_folded_weights()
        self._level, self._outcomes = chosen, []
        reason = _already_compiled(model)
        if reason:
            self._checked_with = "nothing"
            self._outcomes = [Outcome("all rewrites", LEFT_ALONE, (THE_MODEL,), reason)]
            return model
        prepared = preparation_of(model)
        self._mixed = self._chosen_mixed if prepared is None else prepared.precision.mixed
        try:
            reference = self._reference(model, example_inputs)
        except Uncheckable as reason:
            self._checked_with = f"nothing: {reason}"
            return model
        device = next((item.device for item in model.parameters()), None)
        on_gpu = device is not None and device.type == "cuda"
        if gradient_checkpointing == "auto":
            gradient_checkpointing = wanted_by_memory(reference, self.config.max_memory_fraction, device)
        job = Job(
            chosen,
            reference.inputs if reference is not None else None,
            measures=reference is not None and device is not None and (on_gpu if measure is None else measure),
            is_rocm=is_rocm(),
            compile=compile,
            gradient_checkpointing=gradient_checkpointing,
            graphs=graphs,
        )
        trial = InPlace(model, job, reference)
        for rewrite in self.rewrites:
            if OPTIMIZATION_LEVELS.index(rewrite.level) > OPTIMIZATION_LEVELS.index(chosen):
                continue
            if rewrite.is_fusion and not self.config.enable_operator_fusion:
                trial.leave(rewrite.name, THE_MODEL, "enable_operator_fusion is False")
            else:
                trial.attempt(rewrite)
        self._outcomes = trial.outcomes
        return model

    def get_optimization_summary(self) -> dict[str, Any]:
        """What the last `optimize` did: applied with its effect, undone and not applied with the reason."""
        applied = [one for one in self._outcomes if one.outcome == APPLIED]
        return {
            "architecture": self.config.architecture.value,
            "optimization_level": self._level,
            "matrix_cores_enabled": self.config.enable_matrix_cores,
            "mixed_precision": self._mixed,
            "operator_fusion": self.config.enable_operator_fusion,
            "fused_operations": [f"{one.name}: {place}" for one in applied if one.is_fusion for place in one.where],
            "optimizations_applied": [
                {
                    "name": one.name,
                    "what": list(one.what),
                    "where": list(one.where),
                    "effect": one.effect,
                    "effect_is": "expected" if one.comparison is None else "measured",
                    "largest_difference": one.difference,
                    "checked": True,
                }
                for one in applied
            ],
            "optimizations_undone": [
                {"name": one.name, "where": list(one.where), "reason": one.reason}
                for one in self._outcomes
                if one.outcome == UNDONE
            ],
            "optimizations_not_applied": [
                {"name": one.name, "where": one.where[0], "reason": one.reason}
                for one in self._outcomes
                if one.outcome == LEFT_ALONE
            ],
            "checked_with": self._checked_with,
        }

    def _check_request(self, model: nn.Module, level: str | None, checkpointing: bool | str) -> str:
        import torch

        if not isinstance(model, torch.nn.Module):
            raise AMDOptimizationError(f"optimize takes a torch.nn.Module, not {type(model).__name__}")
        chosen = self.config.optimization_level if level is None else level
        if chosen not in OPTIMIZATION_LEVELS:
            raise AMDOptimizationError(f"level={chosen!r} is not one of {', '.join(OPTIMIZATION_LEVELS)}")
        if checkpointing not in (True, False, "auto"):
            raise AMDOptimizationError(f"gradient_checkpointing={checkpointing!r} is not True, False or 'auto'")
        if checkpointing and chosen != "aggressive":
            raise AMDOptimizationError(f"gradient checkpointing belongs to level 'aggressive', not {chosen!r}")
        return chosen

    def _reference(self, model: nn.Module, example_inputs: Any) -> Reference | None:
        """The original's outputs to compare with; None where there is no example. Says what is checked with."""
        made = example_inputs is None
        inputs = made_inputs(model) if made else _given(example_inputs)
        self._checked_with = _BY_PARTS
        if inputs is None:
            return None
        prepared = preparation_of(model)
        try:
            reference = take_reference(
                model,
                inputs,
                conditions=WITHOUT_DROPOUT,
                # In training every set keeps a gradient of every parameter.
                fresh_sets=0 if model.training else FRESH_SETS,
                computes_in=prepared.precision.dtype if prepared is not None else None,
            )
        except Uncheckable:
            raise
        except Exception as error:
            if made:
                return None
            raise AMDOptimizationError(
                f"the model does not run on example_inputs: {error}", {"cause": type(error).__name__}
            ) from error
        call_referee(reference)
        self._checked_with = "an input made from the first layer" if made else "the given example_inputs"
        return reference


def _given(example_inputs: Any) -> Inputs:
    import torch

    if not isinstance(example_inputs, (torch.Tensor, tuple, list, dict)):
        raise AMDOptimizationError(
            f"example_inputs is a {type(example_inputs).__name__}: pass a tensor, a tuple of arguments or a dict of "
            "keywords"
        )
    return as_inputs(example_inputs)


def _already_compiled(model: nn.Module) -> str:
    compiled = any(module.__dict__.get("_compiled_call_impl") is not None for module in model.modules())
    if compiled or hasattr(model, "_orig_mod"):
        return "the model is compiled already: optimize it first, then compile"
    return ""
