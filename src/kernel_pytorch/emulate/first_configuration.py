"""On an emulated GPU there are no times to choose by: of several configurations the first that fits is taken.

These functions stand in for those of Triton and of Inductor that would measure every one. They run in the emulated
program, and need the standard library alone.
"""

from __future__ import annotations

import functools
import inspect
import math
import time
import warnings
from collections.abc import Callable
from typing import Any


def run_first_that_fits(self: Any, *args: Any, **kwargs: Any) -> Any:
    """In place of triton.runtime.autotuner.Autotuner.run."""
    from triton.runtime.errors import OutOfResources

    self.nargs = dict(zip(self.arg_names, args, strict=False))
    refused: Exception | None = None
    for config in self.prune_configs(kwargs) if len(self.configs) > 1 else self.configs:
        self.best_config = config  # wrappers read it after the launch
        full = {**self.nargs, **kwargs, **config.all_kwargs()}
        if config.pre_hook is not None:
            config.pre_hook(full)
        self.pre_hook(full, reset_only=True)
        try:
            return self.fn.run(*args, **kwargs, **config.all_kwargs())
        except OutOfResources as error:
            refused = error
    raise refused or ValueError(f"{self.base_fn.__name__}: no configuration to run")


def compile_first_that_fits(compile_all: Callable[[Any], None], self: Any) -> None:
    """In place of Inductor's CachingAutotuner._precompile_worker, which compiles every configuration."""
    configs = list(self.configs or ())
    if self.compile_results or len(configs) < 2:
        compile_all(self)
        return
    for number, config in enumerate(configs):
        self.configs = [config]
        try:
            compile_all(self)
            return
        except Exception:
            # Inductor has a type for "none of them fits", and it moved between versions.
            if number == len(configs) - 1:
                raise


def time_first_that_fits(time_all: Callable[..., dict[Any, float]]) -> Callable[..., dict[Any, float]]:
    """In place of Inductor's AlgorithmSelectorCache.benchmark_choices (max-autotune), which runs every choice.

    Inductor's own kernels come first: they run as machine code, and ATen's function would be the CPU's.
    """

    def time_one(cls: Any, choices: Any, *rest: Any, **named: Any) -> dict[Any, float]:
        from torch._inductor.select_algorithm import TritonTemplateCaller

        times = dict.fromkeys(choices, float("inf"))
        for choice in sorted(times, key=lambda one: not isinstance(one, TritonTemplateCaller)):
            times.update(time_all(cls, [choice], *rest, **named))
            if math.isfinite(times[choice]):
                break
        return times

    return time_one


def one_run_as(original: Callable[..., Any]) -> Callable[..., Any]:
    """`one_run` in the place of a function of Triton's. It refuses the arguments that Triton's own would refuse."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def run(*arguments: Any, **keywords: Any) -> Any:
        return one_run(**signature.bind(*arguments, **keywords).arguments)

    return run


def one_run(
    fn: Callable[[], Any],
    warmup: Any = None,
    rep: Any = None,
    grad_to_none: Any = None,
    quantiles: Any = None,
    return_mode: str = "mean",
    **_: Any,
) -> Any:
    """In place of triton.testing.do_bench and its like: one run, timed by the clock of this CPU."""
    warnings.warn(
        "the GPU is emulated: a benchmark runs once, and its time is this CPU's. It says nothing about a GPU.",
        RuntimeWarning,
        stacklevel=3,
    )
    started = time.perf_counter()
    fn()
    milliseconds = (time.perf_counter() - started) * 1e3
    if quantiles is not None:
        return [milliseconds] * len(quantiles) if len(quantiles) > 1 else milliseconds
    return [milliseconds] if return_mode == "all" else milliseconds
