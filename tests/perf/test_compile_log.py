"""Inductor's log: parsed from text of several versions, and recorded live."""

# ruff: noqa: E501 - names and logs as the tools write them
from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.compile_log import parse_log, parse_log_text

NEW = """\
V0215 10:00:00.000000 123 torch/_dynamo/symbolic_convert.py:600] [0/0] [__graph_breaks] Graph break in user code at /home/me/model.py:12
V0215 10:00:00.000000 123 torch/_dynamo/symbolic_convert.py:600] [0/0] [__graph_breaks] Graph Break Reason: Encountered graph break when attempting to trace CALL:
V0215 10:00:00.000000 123 torch/_dynamo/symbolic_convert.py:600] [0/0] [__graph_breaks]   Explanation: Dynamo does not support tracing `Tensor.item()`
V0215 10:00:00.000000 123 torch/_dynamo/symbolic_convert.py:600] [0/0] [__graph_breaks] User code traceback:
V0215 10:00:00.000000 123 torch/_dynamo/symbolic_convert.py:600] [0/0] [__graph_breaks]   File "/home/me/model.py", line 12, in forward
V0215 10:00:00.000000 123 torch/_dynamo/symbolic_convert.py:600] [0/0] [__graph_breaks]     if x.sum().item() > 0:
V0215 10:00:01.000000 123 torch/_dynamo/symbolic_convert.py:600] [0/1] [__graph_breaks] Graph break (user stack suppressed due to duplicate graph break) in user code at /home/me/model.py:12
V0215 10:00:01.000000 123 torch/_dynamo/symbolic_convert.py:600] [0/1] [__graph_breaks]   Explanation: Dynamo does not support tracing `Tensor.item()`
V0215 10:00:02.000000 123 torch/_dynamo/guards.py:3000] [0/1] [__recompiles] Recompiling function forward in /home/me/model.py:9
V0215 10:00:02.000000 123 torch/_dynamo/guards.py:3000] [0/1] [__recompiles]     triggered by the following guard failure(s):
V0215 10:00:02.000000 123 torch/_dynamo/guards.py:3000] [0/1] [__recompiles]     - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 5
"""
OLD = """\
Graph break in user code at /home/me/old.py:3
Reason: Unsupported: call_function BuiltinVariable(print) [ConstantVariable()] {}
User code traceback:
  File "/home/me/old.py", line 3, in forward
    print("x")
"""


def test_breaks_and_recompilations_with_place_code_and_fix() -> None:
    report = parse_log_text(NEW)
    (one,) = report.breaks
    assert (one.place, one.code, one.count) == ("/home/me/model.py:12", "if x.sum().item() > 0:", 2)
    assert "Tensor.item()" in one.reason and "keep the value a tensor" in one.fix
    (again,) = report.recompiles
    assert again.function == "forward in /home/me/model.py:9"
    assert "size mismatch" in again.reason and "mark_dynamic" in again.fix


def test_an_older_log() -> None:
    (one,) = parse_log_text(OLD).breaks
    assert one.place == "/home/me/old.py:3"
    assert "print" in one.reason and "drop the print" in one.fix


def test_a_file_that_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("nothing to see")
    with pytest.raises(UsageError, match="TORCH_LOGS"):
        parse_log(path)
    with pytest.raises(UsageError, match="cannot be read"):
        parse_log(tmp_path / "none")


def test_a_live_recording_counts_graphs_nodes_and_operators() -> None:
    torch = pytest.importorskip("torch")
    import torch._inductor.compile_fx as inductor

    from kernel_pytorch.perf.compile_log import watch

    original = inductor.compile_fx

    def stand_in(model, example_inputs, *args, **kwargs):  # type: ignore[no-untyped-def]
        return model  # no C++ compiler is wanted here: what is watched is what Dynamo hands over

    def function(x):  # type: ignore[no-untyped-def]
        y = x.sin() + x.cos()
        torch._dynamo.graph_break()
        return y.tanh()

    inductor.compile_fx = stand_in
    try:
        torch._dynamo.reset()
        with watch() as seen:
            compiled = torch.compile(function, backend=lambda model, inputs: inductor.compile_fx(model, inputs))
            compiled(torch.ones(3))
            compiled(torch.ones(3, dtype=torch.float64))
        report = seen.report()
    finally:
        inductor.compile_fx = original
        torch._dynamo.reset()
    assert inductor.compile_fx is original
    assert [graph.operators for graph in report.graphs[:2]] == [{"sin": 1, "cos": 1, "add": 1}, {"tanh": 1}]
    assert len(report.graphs) == 4 and report.seconds >= 0
    assert report.breaks and "test_compile_log.py" in report.breaks[0].place
    assert any("dtype" in one.reason for one in report.recompiles)
