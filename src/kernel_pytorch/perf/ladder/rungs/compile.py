"""torch.compile: of the whole model, with settings that are safe on ROCm and only where they differ.

The options of every rung in the compile slot have one form, so that a later rung adds to what an earlier one had:

    inductor  {"coordinate_descent_tuning": True}   Inductor's options for this compile alone
    dynamo    {"capture_scalar_outputs": True}      Dynamo's settings, in force during calls, restored after each
    passes    ["one row", "one kernel"]             our own passes over Inductor's graph
    dynamic   [["x", 1]]                            sizes that vary between calls: argument (place or name), axis
    on_new_shape  "compile" (default), "eager", "fail"   what a call does that would compile again
    enable    ["layers.0"]                          modules whose torch.compiler.disable is passed over
    matmul_precision  "high"                        TF32 (XF32 on gfx942) for fp32 matrix products during calls
    blas      "hipblaslt"                           the preferred BLAS library during calls
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.advice.rules import LAUNCH_GAPS
from kernel_pytorch.perf.ladder.rung import Options, Prediction, Recipe, WrapRung

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.perf.profile import Profile

SLOT = "compile"
OPTIONS = frozenset({"inductor", "dynamo", "passes", "dynamic", "on_new_shape", "enable", "matmul_precision", "blas"})
STANCES = {"eager": "eager_on_recompile", "fail": "fail_on_recompile"}


@dataclass(frozen=True)
class CompiledCall:
    """A compiled module. Keeps what it was made from, so that it can be made again with more settings."""

    module: nn.Module
    options: Options
    call: Callable[..., Any]

    @property
    def _orig_mod(self) -> nn.Module:
        """As torch's own wrapper has it: graph capture and others look through it."""
        return self.module

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def with_inductor(self, **settings: Any) -> CompiledCall:
        """The same module compiled again with more of Inductor's options."""
        inductor = {**self.options.get("inductor", {}), **settings}
        return compiled(self.module, {**self.options, "inductor": inductor})


def compiled(module: nn.Module, options: Options) -> CompiledCall:
    """The module compiled with `options` (see the top of this file). Nothing is compiled before the first call."""
    import torch

    unknown = set(options) - OPTIONS
    if unknown:
        raise ValueError(f"no compile option {sorted(unknown)[0]!r}; there are {', '.join(sorted(OPTIONS))}")
    tree = module
    if options.get("enable"):
        from kernel_pytorch.perf.ladder.rungs.graph_breaks import with_enabled

        tree = with_enabled(module, options["enable"])
    call: Callable[..., Any] = torch.compile(tree, **compile_arguments(options))
    if options.get("dynamic"):
        call = _marked(call, options["dynamic"])
    around = _Around(
        dict(options.get("dynamo", {})),
        STANCES.get(options.get("on_new_shape", "compile")),
        options.get("matmul_precision"),
        options.get("blas"),
    )
    if around != _Around({}):
        call = _surrounded(call, around)
    return CompiledCall(module, dict(options), call)


def compile_arguments(options: Options) -> dict[str, Any]:
    """torch.compile's keyword arguments: ROCm's settings where this torch differs from them, then the given ones."""
    import torch

    from kernel_pytorch.backends.amd.compile_settings import rocm_compile_arguments
    from kernel_pytorch.core.platform import is_rocm

    arguments = rocm_compile_arguments(None) if is_rocm(torch) else {}
    inductor = {**arguments.get("options", {}), **options.get("inductor", {}), **_passes(options.get("passes", ()))}
    if inductor:
        arguments["options"] = inductor
    if "recompile_limit" in arguments and "recompile_limit" not in inspect.signature(torch.compile).parameters:
        del arguments["recompile_limit"]
    return arguments


def _passes(names: Any) -> dict[str, Any]:
    if not names:
        return {}
    from kernel_pytorch.perf.ladder.inductor_passes import pass_named

    return {"post_grad_custom_post_pass": pass_named(tuple(names))}


def _marked(call: Callable[..., Any], sizes: Any) -> Callable[..., Any]:
    """The first call tells Dynamo which sizes will vary; the graph it makes then serves them all."""
    state = {"marked": False}

    def run(*args: Any, **kwargs: Any) -> Any:
        if not state["marked"]:
            import torch._dynamo

            for place, axis in sizes:
                torch._dynamo.mark_dynamic(kwargs[place] if isinstance(place, str) else args[place], axis)
            state["marked"] = True
        return call(*args, **kwargs)

    return run


@dataclass(frozen=True)
class _Around:
    """What is in force during a call, and as before after it."""

    dynamo: dict[str, Any]
    stance: str | None = None
    matmul_precision: str | None = None
    blas: str | None = None


def _surrounded(call: Callable[..., Any], around: _Around) -> Callable[..., Any]:
    state = {"compiled": False}

    def run(*args: Any, **kwargs: Any) -> Any:
        stance = around.stance if state["compiled"] else None
        with (
            dynamo_settings(around.dynamo),
            _stance(stance),
            _matmul_precision(around.matmul_precision),
            _preferred_blas(around.blas),
        ):
            result = call(*args, **kwargs)
        state["compiled"] = True
        return result

    return run


@contextmanager
def _matmul_precision(wanted: str | None) -> Iterator[None]:
    import torch

    before = torch.get_float32_matmul_precision()
    if wanted is None or wanted == before:
        yield
        return
    torch.set_float32_matmul_precision(wanted)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def _preferred_blas(wanted: str | None) -> Iterator[None]:
    import torch

    if wanted is None:
        yield
        return
    before = torch.backends.cuda.preferred_blas_library()
    torch.backends.cuda.preferred_blas_library(wanted)
    try:
        yield
    finally:
        torch.backends.cuda.preferred_blas_library(before)


@contextmanager
def dynamo_settings(wanted: Mapping[str, Any]) -> Iterator[None]:
    """Those of Dynamo's settings that differ, set inside the block and as before after it."""
    import torch._dynamo

    config = torch._dynamo.config
    resolved = {name: _resolved(name, value) for name, value in wanted.items()}
    different = {name: value for name, value in resolved.items() if getattr(config, name) != value}
    with ExitStack() as stack:
        if different:
            stack.enter_context(config.patch(different))
        yield


def _resolved(name: str, value: Any) -> Any:
    """Functions are written by name, since options are JSON."""
    import logging
    import warnings

    import torch._dynamo

    functions = {"print": print, "warnings.warn": warnings.warn}
    if name == "reorderable_logging_functions":
        return {*torch._dynamo.config.reorderable_logging_functions, *(functions[one] for one in value)}
    if name == "ignore_logger_methods":
        methods = (logging.Logger.debug, logging.Logger.info, logging.Logger.warning, logging.Logger.error)
        return {*torch._dynamo.config.ignore_logger_methods, *methods}
    return value


@contextmanager
def _stance(name: str | None) -> Iterator[None]:
    import torch

    with ExitStack() as stack:
        if name is not None:
            stack.enter_context(torch.compiler.set_stance(name))
        yield


def varying_sizes(sets: list[Inputs]) -> list[list[Any]]:
    """Which axes of which arguments differ between sets of inputs: the option "dynamic" for them."""
    import torch

    first = sets[0]
    found: list[list[Any]] = []
    named: list[tuple[Any, Any]] = [*enumerate(first.args), *first.kwargs.items()]
    for place, value in named:
        if not isinstance(value, torch.Tensor):
            continue
        others = [(one.kwargs[place] if isinstance(place, str) else one.args[place]).shape for one in sets[1:]]
        if any(len(shape) != value.dim() for shape in others):
            raise NotApplicable(f"argument {place} has another number of axes in another call")
        found += [[place, axis] for axis in range(value.dim()) if any(s[axis] != value.shape[axis] for s in others)]
    return found


def sizes_option(inputs: Inputs) -> Options:
    """The options for inputs whose sizes vary between calls: one graph for all of them."""
    sizes = varying_sizes([inputs, *inputs.others]) if inputs.others else []
    return {"dynamic": sizes} if sizes else {}


def kept_compile(kept: Recipe) -> Options | None:
    """The options of the compile step that was kept; None where the model is not compiled as a whole."""
    own = {"compile", "compile_in_graph", "graph_breaks", "tf32", "hipblaslt", "aiter_attention"} | TUNED
    return next((dict(step.options) for step in kept if step.rung in own), None)


# Names of the rungs that add Inductor settings; inductor_tuning.py checks that they are these.
TUNED = frozenset(
    {
        "coordinate_descent",
        "gemm_search",
        "kernel_search",
        "freezing",
        "one_row_kernels",
        "one_kernel_decoder",
        "few_row_kernels",
    }
)


def why_not_compiled(model: nn.Module) -> None:
    """Raises NotApplicable where torch.compile cannot serve."""
    import torch

    if isinstance(model, torch.jit.ScriptModule):
        raise NotApplicable("a scripted model is not compiled again")
    if next(iter(model.modules())).__class__.__name__ == "OptimizedModule":
        raise NotApplicable("the model is compiled already: give the one inside it")


def _find(model: nn.Module, inputs: Inputs) -> str:
    why_not_compiled(model)
    arguments = compile_arguments({})
    settings = ", ".join(f"{name}={value!r}" for name, value in arguments.get("options", {}).items())
    return f"the whole model by torch.compile with {settings or 'its own settings'}"


def _wrap(function: Callable[..., Any], inputs: Inputs, options: Options) -> Callable[..., Any]:
    return compiled(_module(function), options)


def _module(function: Any) -> nn.Module:
    import torch

    if not isinstance(function, torch.nn.Module):
        raise NotApplicable(f"torch.compile is tried on modules here, and this is a {type(function).__name__}")
    return function


def predict_compile(profile: Profile, inputs: Inputs) -> Prediction:
    """Unfused element-wise work, and half of the time the GPU waits for launches."""
    fused = sum(one.saving_ms for one in profile.advice if one.title == "unfused elementwise")
    gaps = sum(one.saving_ms for one in profile.advice if one.title == LAUNCH_GAPS)
    return Prediction(
        fused + gaps / 2, f"{fused:.3f} ms of unfused element-wise work, half of {gaps:.3f} ms of launch gaps"
    )


def _whole(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    if kept_compile(kept) is not None:
        raise NotApplicable("the whole model is compiled already, with more than the default settings")
    # Some models fix a size that we say will vary, and then torch refuses: left to itself it compiles again.
    varies = sizes_option(inputs)
    return (varies, {}) if varies else ({},)


COMPILE = WrapRung(
    "compile", 2, "torch.compile, default mode", SLOT, _find, _wrap, predict_compile, _whole, usual_share=0.3
)


def _not_yet(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    if any(step.rung == "regional_compile" for step in kept) or kept_compile(kept) is not None:
        raise NotApplicable("the model is compiled already")
    if not any(step.rung == "graph_capture" for step in kept):
        raise NotApplicable("it is not recorded as a graph: torch.compile was tried by itself")
    return (sizes_option(inputs),)


# Alone, a compiled small model can lose to eager on the host's part. Recorded as a graph there is none, and the same
# compile may win.
COMPILE_IN_GRAPH = replace(
    COMPILE, name="compile_in_graph", title="torch.compile inside the recorded graph", choices=_not_yet
)

TF32 = "tf32"
"""The permission for fp32 matrix products with fewer bits."""


def _find_tf32(model: nn.Module, inputs: Inputs) -> str:
    import torch

    why_not_compiled(model)
    if not any(item.device.type == "cuda" and item.dtype == torch.float32 for item in model.parameters()):
        raise NotApplicable("no fp32 weights on a GPU")
    return "fp32 matrix products in TF32 (XF32 on gfx942, whose error grows with the length of the sums)"


def _tf32_choices(model: nn.Module, inputs: Inputs, kept: Recipe) -> tuple[Options, ...]:
    return ({**(kept_compile(kept) or {}), "matmul_precision": "high"},)


TENSOR_FLOAT_32 = WrapRung(
    "tf32",
    2,
    "fp32 matrix products in TF32",
    SLOT,
    _find_tf32,
    _wrap,
    choices=_tf32_choices,
    needs=frozenset({TF32}),
)

RUNGS = (COMPILE, TENSOR_FLOAT_32)
