"""Without times to choose by, the first configuration that fits is taken."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kernel_pytorch.emulate.first_configuration import compile_first_that_fits, one_run, one_run_as


def test_a_benchmark_refuses_what_triton_refuses() -> None:
    def do_bench(fn: object, warmup: int = 25, quantiles: object = None) -> None: ...

    with pytest.warns(RuntimeWarning, match="emulated"):
        assert len(one_run_as(do_bench)(lambda: None, 1, quantiles=(0.5, 0.2))) == 2
    with pytest.raises(TypeError, match="unexpected keyword argument 'percentiles'"):
        one_run_as(do_bench)(lambda: None, percentiles=(0.5, 0.2))


def test_a_benchmark_is_one_run_and_says_so() -> None:
    calls: list[int] = []
    with pytest.warns(RuntimeWarning, match="says nothing about a GPU"):
        assert one_run(lambda: calls.append(1)) > 0
    with pytest.warns(RuntimeWarning):
        assert len(one_run(lambda: calls.append(1), quantiles=(0.5, 0.2, 0.8))) == 3
    with pytest.warns(RuntimeWarning):
        assert len(one_run(lambda: calls.append(1), return_mode="all")) == 1
    assert len(calls) == 3


def test_inductor_compiles_until_one_configuration_fits() -> None:
    tried: list[str] = []

    def compile_all(tuner: Any) -> None:
        (config,) = tuner.configs
        tried.append(config)
        if config == "too large":
            raise RuntimeError("no valid configuration")

    compile_first_that_fits(compile_all, SimpleNamespace(compile_results=[], configs=["too large", "fits", "never"]))
    assert tried == ["too large", "fits"]
    with pytest.raises(RuntimeError, match="no valid"):
        compile_first_that_fits(compile_all, SimpleNamespace(compile_results=[], configs=["too large", "too large"]))
