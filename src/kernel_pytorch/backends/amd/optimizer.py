"""AMDOptimizer: rewrites a model step by step, and keeps a step only if the model still computes the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kernel_pytorch.backends.amd.rewrites import ALL_REWRITES, Job, NotApplicable, Rewrite
from kernel_pytorch.backends.amd.rewrites.timing import Timing, compare
from kernel_pytorch.backends.found_devices import find_devices
from kernel_pytorch.backends.precision import choose_precision, fitted_config, known_target
from kernel_pytorch.backends.prepare import preparation_of
from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.config import OPTIMIZATION_LEVELS, AMDConfig, KernelPyTorchConfig
from kernel_pytorch.core.errors import AMDBackendError, AMDOptimizationError
from kernel_pytorch.core.platform import is_rocm
from kernel_pytorch.models.check.example import example_for, split_example
from kernel_pytorch.models.check.proof import Proof, Uncheckable
from kernel_pytorch.models.comparison import Difference
from kernel_pytorch.models.fx.edit import Step, apply_to_model, edit_forwards, edit_without_example
from kernel_pytorch.models.rewrites.norm_folding import forget_folded_weights
from kernel_pytorch.models.undisturbed import undisturbed


@dataclass
class _Record:
    """What happened in one `optimize`."""

    level: str
    applied: list[dict[str, Any]] = field(default_factory=list)
    undone: list[dict[str, Any]] = field(default_factory=list)
    not_applied: list[dict[str, Any]] = field(default_factory=list)
    fused: list[str] = field(default_factory=list)
    steps: list[tuple[Rewrite, Step]] = field(default_factory=list)
    checked_with: str = "nothing was optimised yet"
    mixed_precision: bool | None = None


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
        self._precision = choose_precision(options, row)
        self._record = _Record(options.optimization_level)

    def optimize(
        self,
        model: Any,
        level: str | None = None,
        example_inputs: Any = None,
        *,
        compile: bool | str | None = None,
        measure: bool | None = None,
        gradient_checkpointing: bool | str = False,
        graphs: bool = True,
    ) -> Any:
        """Optimise `model` in place for the mode it is in (train or eval), and give it back.

        `example_inputs` is a tensor, a tuple of arguments or a dict of keyword arguments, as the model will see
        them. Without it, one is made where the first layer leaves no choice; where it does, only rewrites that need
        no proof are applied. `compile`: None compiles on a GPU only; True, False or a mode of torch.compile decide.
        `measure`: None measures each step on a GPU. `gradient_checkpointing`: True, False, or "auto" (in training,
        when a step with the example does not fit in max_memory_fraction of the GPU). `graphs`: False leaves graph
        capture out of level aggressive.

        Raises AMDOptimizationError for what cannot be done; the model is then as it was.
        """
        chosen = self._check_request(model, level, gradient_checkpointing)
        record = _Record(chosen)
        forget_folded_weights()
        reason = _already_compiled(model)
        if reason:
            record.checked_with = "nothing"
            record.not_applied.append({"name": "all rewrites", "where": "the model", "reason": reason})
            self._record = record
            return model
        prepared = preparation_of(model)
        if prepared is not None:
            record.mixed_precision = prepared.precision.mixed
        proof = self._proof(model, example_inputs, record)
        device = next((item.device for item in model.parameters()), None)
        on_gpu = device is not None and device.type == "cuda"
        job = Job(
            self.config,
            chosen,
            has_example=proof is not None,
            measures=proof is not None and device is not None and (on_gpu if measure is None else measure),
            is_rocm=is_rocm(),
            compile=compile,
            gradient_checkpointing=_checkpointing(gradient_checkpointing, model, proof, self.config, device),
            graphs=graphs,
        )
        for rewrite in self.rewrites:
            if _rank(rewrite.level) <= _rank(chosen):
                self._try(rewrite, model, job, proof, record, device)
        self._record = record
        return model

    def get_optimization_summary(self) -> dict[str, Any]:
        """What the last `optimize` did: applied with its effect, undone and not applied with the reason."""
        record = self._record
        return {
            "architecture": self.config.architecture.value,
            "optimization_level": record.level,
            "matrix_cores_enabled": self.config.enable_matrix_cores,
            "mixed_precision": self._precision.mixed if record.mixed_precision is None else record.mixed_precision,
            "operator_fusion": self.config.enable_operator_fusion,
            "fused_operations": list(record.fused),
            "optimizations_applied": [dict(item) for item in record.applied],
            "optimizations_undone": [dict(item) for item in record.undone],
            "optimizations_not_applied": [dict(item) for item in record.not_applied],
            "checked_with": record.checked_with,
        }

    def _check_request(self, model: Any, level: str | None, checkpointing: bool | str) -> str:
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

    def _proof(self, model: Any, example_inputs: Any, record: _Record) -> Proof | None:
        made = example_inputs is None
        example = example_for(model) if made else split_example(example_inputs)
        if example is None:
            record.checked_with = (
                "nothing: without example_inputs only rewrites that need no proof are applied, and the first layer "
                "does not say what the model's inputs are"
            )
            return None
        try:
            proof = Proof(model, *example)
        except Uncheckable as reason:
            record.checked_with = f"nothing: {reason}"
            return None
        except Exception as error:
            if made:
                record.checked_with = f"nothing: an input made from the first layer does not run ({error})"
                return None
            raise AMDOptimizationError(
                f"the model does not run on example_inputs: {error}", {"cause": type(error).__name__}
            ) from error
        record.checked_with = "an input made from the first layer" if made else "the given example_inputs"
        return proof

    def _try(self, rewrite: Rewrite, model: Any, job: Job, proof: Proof | None, record: _Record, device: Any) -> None:
        reason = self._obstacle(rewrite, model, job)
        if reason is not None:
            record.not_applied.append({"name": rewrite.name, "where": "the model", "reason": reason})
            return
        try:
            if proof is not None:
                proof.note(rewrite.compared)
            step = _take(rewrite, model, job, proof)
        except NotApplicable as why:
            record.not_applied.append({"name": rewrite.name, "where": "the model", "reason": str(why)})
            return
        except Exception as error:
            record.undone.append(_undone(rewrite, ["the model"], f"it failed: {_in_short(error)}"))
            return
        record.not_applied += _distinct(rewrite.name, step.refusals)
        known = [(item["where"], item["reason"]) for item in record.not_applied]
        record.not_applied += _distinct("tracing", [item for item in step.untraceable if item not in known])
        if step.changes:
            self._judge(rewrite, step, job, proof, record, device)

    def _obstacle(self, rewrite: Rewrite, model: Any, job: Job) -> str | None:
        if rewrite.is_fusion and not self.config.enable_operator_fusion:
            return "enable_operator_fusion is False"
        if rewrite.only_if_faster and not job.measures:
            return "kept only where a measurement shows that it pays, and nothing is measured here (measure=True)"
        if not job.has_example and not rewrite.is_exact:
            return "needs example_inputs to be checked by"
        return rewrite.available(model, job)

    def _judge(self, rewrite: Rewrite, step: Step, job: Job, proof: Proof | None, record: _Record, device: Any) -> None:
        places = [change.where for change in step.changes]
        difference: Difference | None = None
        timing: Timing | None = None
        try:
            if proof is not None:
                difference = proof.difference(rewrite.compared, is_exact=rewrite.is_exact)
                without_effect = [change.trouble() for change in step.changes if change.trouble is not None]
                if any(without_effect):
                    step.undo()
                    record.undone.append(_undone(rewrite, places, f"without effect: {'; '.join(without_effect)}"))
                    return
                if difference.is_acceptable and job.measures:
                    with undisturbed(proof.model):
                        timing = compare(proof.call, step.switch, device)
        except Exception as error:
            step.undo()
            record.undone.append(_undone(rewrite, places, f"the model fails with it: {_in_short(error)}"))
            return
        if difference is not None and not difference.is_acceptable:
            step.undo()
            reason = f"{difference.where} differs by {difference.error:.3g}, allowed is {difference.limit:.3g}"
            record.undone.append(_undone(rewrite, places, reason))
            return
        slower = timing is not None and rewrite.judged_by_time and timing.is_slower
        if timing is not None and (slower or (rewrite.only_if_faster and not timing.is_faster)):
            step.undo()
            word = "slower" if slower else "not faster beyond the noise"
            record.undone.append(_undone(rewrite, places, f"{word}: {timing.in_words(str(device))}"))
            return
        effect = timing.in_words(str(device)) if timing is not None else rewrite.effect
        record.applied.append(
            {
                "name": rewrite.name,
                "what": _summed(change.what for change in step.changes),
                "where": places,
                "effect": effect,
                "effect_is": "measured" if timing is not None else "expected",
                "largest_difference": difference.error if difference is not None else None,
                "checked": difference is not None,
            }
        )
        if rewrite.is_fusion:
            record.fused += [f"{rewrite.name}: {place}" for place in places]
        if rewrite.reconsiders and proof is not None and timing is not None:
            _reconsider(record, rewrite, proof, device)
        record.steps.append((rewrite, step))


def _reconsider(record: _Record, latest: Rewrite, proof: Proof, device: Any) -> None:
    """Take the earlier steps back, all of them, if the model is slower with them now than without.

    Inductor does some of what they do, and does it better where it sees the original."""
    earlier = record.steps
    if not earlier or not all(rewrite.judged_by_time for rewrite, _ in earlier):
        return  # a checkpointed forward encloses what it found: it cannot be switched from below

    def switch(on: bool) -> None:
        for _, step in earlier if on else reversed(earlier):
            step.switch(on)

    try:
        with undisturbed(proof.model):
            timing = compare(proof.call, switch, device)
    except Exception as error:
        switch(True)
        reason = f"the steps before it could not be measured again: {_in_short(error)}"
        record.not_applied.append({"name": latest.name, "where": "the model", "reason": reason})
        return
    if not timing.is_slower:
        return
    for rewrite, step in reversed(earlier):
        step.undo()
        places = [change.where for change in step.changes]
        reason = f"slower with {latest.name}, all steps before it together: {timing.in_words(str(device))}"
        record.undone.append(_undone(rewrite, places, reason))
    gone = {rewrite.name for rewrite, _ in earlier}
    record.applied = [item for item in record.applied if item["name"] not in gone]
    record.fused = [item for item in record.fused if item.split(":")[0] not in gone]
    record.steps = []


def _take(rewrite: Rewrite, model: Any, job: Job, proof: Proof | None) -> Step:
    if rewrite.apply is not None:
        return apply_to_model(rewrite, model, job)
    if proof is None:
        return edit_without_example(rewrite, model)
    return edit_forwards(rewrite, model, proof)


def _undone(rewrite: Rewrite, places: list[str], reason: str) -> dict[str, Any]:
    return {"name": rewrite.name, "where": places, "reason": reason}


def _distinct(name: str, refusals: list[tuple[str, str]]) -> list[dict[str, Any]]:
    return [{"name": name, "where": where, "reason": reason} for where, reason in dict.fromkeys(refusals)]


def _summed(texts: Any) -> list[str]:
    counts: dict[str, int] = {}
    for text in texts:
        counts[text] = counts.get(text, 0) + 1
    return [text if count == 1 else f"{count} x {text}" for text, count in counts.items()]


def _in_short(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:300]}"


def _rank(level: str) -> int:
    return OPTIMIZATION_LEVELS.index(level)


def _already_compiled(model: Any) -> str:
    compiled = any(module.__dict__.get("_compiled_call_impl") is not None for module in model.modules())
    if compiled or hasattr(model, "_orig_mod"):
        return "the model is compiled already: optimize it first, then compile"
    return ""


def _checkpointing(asked: bool | str, model: Any, proof: Proof | None, config: AMDConfig, device: Any) -> bool | str:
    from kernel_pytorch.backends.amd.rewrites.memory_demand import step_does_not_fit

    if asked != "auto":
        return asked
    return proof is not None and model.training and step_does_not_fit(proof, config.max_memory_fraction, device)
