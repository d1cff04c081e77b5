"""Does the model still compute the same? Outputs, and in train mode gradients, against the original's.

Running a model for a check leaves nothing behind: random state, buffers and plain attributes are put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kernel_pytorch.backends.prepare import preparation_of
from kernel_pytorch.models.comparison import Difference, distance, tensors_in, worse
from kernel_pytorch.models.precision import TOLERANCES, precision_name
from kernel_pytorch.models.undisturbed import cuda_devices, undisturbed

# fp64 models are held to what fp64 can do; an exact rewrite may differ in nothing.
_FP64_TOLERANCE = (1e-9, 1e-10)

# How a step is compared. Fused attention draws its random numbers in another order, so that outputs with dropout
# cannot be compared; torch.compile neither, nor does it see what hides dropout from us; checkpointing runs again in the
# backward pass, where dropout cannot be hidden, but draws the same numbers.
WITHOUT_DROPOUT, IN_EVAL, WITH_DROPOUT = "without dropout", "in eval mode", "with dropout"


@dataclass(frozen=True)
class Run:
    """What one run gave: the tensors of the output, and in train mode the gradients of the parameters."""

    outputs: tuple[Any, ...]
    gradients: Mapping[str, Any]


class Uncheckable(Exception):
    """The example cannot serve as a proof; the message says why."""


class Proof:
    """The original's outputs on an example, kept to compare with."""

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        import torch

        self.model, self.args, self.kwargs = model, args, dict(kwargs)
        self._random = (
            torch.get_rng_state(),
            [(device, torch.cuda.get_rng_state(device)) for device in cuda_devices(model)],
        )
        self._relative, self._absolute = _tolerance(model)
        self._references = {WITHOUT_DROPOUT: self.run()}
        if not self._references[WITHOUT_DROPOUT].outputs:
            raise Uncheckable("the model's output holds no tensor to compare")
        again = self.difference()
        if not again.is_acceptable:
            raise Uncheckable(f"the model differs from itself by {again.error:.3g} on the same input ({again.where})")

    def run(self, conditions: str = WITHOUT_DROPOUT, *, gradients: bool | None = None) -> Run:
        """The model on the example, always from the same random state."""
        import torch

        wants_gradients = self.model.training and conditions != IN_EVAL if gradients is None else gradients
        with ExitStack() as stack:
            stack.enter_context(undisturbed(self.model))
            stack.enter_context(torch.set_grad_enabled(wants_gradients))
            if conditions == IN_EVAL:
                stack.enter_context(_in_eval(self.model))
            elif conditions == WITHOUT_DROPOUT:
                stack.enter_context(_mode_without_dropout()())
            self._set_random_state()
            args, kwargs = _fresh((self.args, self.kwargs))
            outputs = tuple(tensors_in(self.model(*args, **kwargs)))
            found = _gradients(self.model, outputs) if wants_gradients else {}
        return Run(tuple(item.detach() for item in outputs), found)

    def watch(self, mode: Any, look: Callable[[], None]) -> None:
        """Run the example under a torch function mode; `look` is called while the output is still there."""
        import torch

        with ExitStack() as stack:
            stack.enter_context(undisturbed(self.model))
            stack.enter_context(torch.no_grad())
            stack.enter_context(_mode_without_dropout()())
            self._set_random_state()
            args, kwargs = _fresh((self.args, self.kwargs))
            with mode:
                outputs = self.model(*args, **kwargs)
            look()
            del outputs

    def note(self, conditions: str) -> None:
        """Keep the outputs under other conditions as well, for a step that has to be compared under them."""
        if conditions != WITHOUT_DROPOUT:
            self._references[conditions] = self.run(conditions)

    def difference(self, conditions: str = WITHOUT_DROPOUT, *, is_exact: bool = False) -> Difference:
        """How far the model as it is now is from what was kept. Raises what the model raises."""
        return self._compare(self._references[conditions], self.run(conditions), is_exact)

    def call(self) -> None:
        """The model as in use, for timing: a forward pass, in train mode with its backward pass."""
        import torch

        with torch.set_grad_enabled(self.model.training):
            outputs = tuple(tensors_in(self.model(*self.args, **self.kwargs)))
            if self.model.training:
                _gradients(self.model, outputs)

    def _compare(self, reference: Run, run: Run, is_exact: bool) -> Difference:
        relative, absolute = (0.0, 0.0) if is_exact else (self._relative, self._absolute)
        if len(run.outputs) != len(reference.outputs):
            return Difference(float("inf"), 0.0, "the number of outputs")
        worst = Difference(0.0, 0.0, "outputs")
        for index, (old, new) in enumerate(zip(reference.outputs, run.outputs, strict=True)):
            worst = worse(worst, distance(old, new, relative, absolute, f"output {index}"))
        if reference.gradients.keys() != run.gradients.keys():
            odd = sorted(reference.gradients.keys() ^ run.gradients.keys())
            return Difference(float("inf"), 0.0, f"the gradient of {odd[0]} is there in one and not in the other")
        # Some gradients are zero but for rounding (a key projection's bias): measured against the largest of all.
        largest = max((item.abs().max().item() for item in reference.gradients.values() if item.numel()), default=0.0)
        for name, old in reference.gradients.items():
            floor = absolute * max(largest, 1e-30)
            worst = worse(worst, distance(old, run.gradients[name], relative, floor, f"gradient of {name}"))
        return worst

    def _set_random_state(self) -> None:
        import torch

        host, devices = self._random
        torch.set_rng_state(host)
        for device, state in devices:
            torch.cuda.set_rng_state(state, device)


@contextmanager
def _in_eval(model: Any) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@lru_cache(maxsize=1)
def _mode_without_dropout() -> Any:
    """Attention kernels draw random numbers in another order than F.dropout: without any, both can be compared."""
    from torch import fx
    from torch.nn import functional
    from torch.overrides import TorchFunctionMode

    plain = {
        function
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
        if (function := getattr(functional, name, None)) is not None
    }

    class WithoutDropout(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if any(issubclass(kind, fx.Proxy) for kind in types):
                return func(*args, **kwargs)  # being traced: the graph must not lose its dropout
            if func in plain:
                return args[0] if args else kwargs["input"]
            if func is functional.scaled_dot_product_attention:
                args = (*args[:4], 0.0, *args[5:]) if len(args) > 4 else args
                kwargs = {**kwargs, "dropout_p": 0.0} if "dropout_p" in kwargs else kwargs
            return func(*args, **kwargs)

    return WithoutDropout


def _gradients(model: Any, outputs: tuple[Any, ...]) -> dict[str, Any]:
    import torch

    usable = [item for item in outputs if item.requires_grad]
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    if not usable or not named:
        return {}
    # Weights of every size and sign, without drawing random numbers: a plain sum hides errors that cancel.
    loss = sum((item.float() * _weights(item)).sum() for item in usable)
    found = torch.autograd.grad(loss, [parameter for _, parameter in named], allow_unused=True)
    return {name: value for (name, _), value in zip(named, found, strict=True) if value is not None}


def _weights(item: Any) -> Any:
    import torch

    return torch.arange(item.numel(), device=item.device, dtype=torch.float32).mul(0.7).cos().view(item.shape)


def _tolerance(model: Any) -> tuple[float, float]:
    import torch

    names = {precision_name(item.dtype) for item in model.parameters() if item.is_floating_point()}
    preparation = preparation_of(model)
    if preparation is not None:
        names.add(preparation.precision.name)
    if torch.is_autocast_enabled():
        names.add(precision_name(torch.get_autocast_dtype("cuda")))
    known = [TOLERANCES[name] for name in names if name in TOLERANCES]
    if not known:
        wide = any(item.dtype == torch.float64 for item in model.parameters())
        return _FP64_TOLERANCE if wide else TOLERANCES["fp32"]
    return max(known)


def _fresh(values: Any) -> Any:
    import copy

    import torch
    from torch.utils import _pytree

    def copied(leaf: Any) -> Any:
        # A cache of keys and values grows with every call.
        return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else copy.deepcopy(leaf)

    return _pytree.tree_map(copied, values)
