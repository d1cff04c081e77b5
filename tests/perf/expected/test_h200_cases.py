"""What benchmarks/h200_times.py measures: the split between fit and test, and that every call can be made."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from h200_cases import FIT, LANGUAGES, PICTURES, TEST, TOKENS, cases  # noqa: E402

CLASSES = (
    "GEMM", "GEMM fp8", "GEMM fp32", "attention", "decode attention", "convolution", "elementwise", "copies", "norms",
    "reductions", "host copies", "compiled",
)  # fmt: skip


def test_no_call_is_on_both_sides_or_there_twice() -> None:
    keys = Counter(case.key for case in cases())
    assert max(keys.values()) == 1
    sides = {side: {case.model for case in cases() if case.side == side} - {"sizes"} for side in (FIT, TEST)}
    assert not sides[FIT] & sides[TEST]
    assert not set(TOKENS[FIT]) & set(TOKENS[TEST]) - {1}


@pytest.mark.parametrize("category", CLASSES)
def test_every_class_is_on_both_sides(category: str) -> None:
    counts = Counter(case.side for case in cases() if case.category == category)
    assert min(counts[FIT], counts[TEST]) >= 8


def test_every_model_has_a_side_of_its_own_and_all_of_them_are_measured() -> None:
    named = {model.name: model.side for model in LANGUAGES} | {name: side for name, side, _, _ in PICTURES}
    measured = {case.model: case.side for case in cases()}
    assert named.items() <= measured.items()


def test_both_sides_lose_alike_where_time_runs_out() -> None:
    """The order is mixed, and the same each time."""
    found = cases()
    assert found == cases()
    half = Counter(case.side for case in found[: len(found) // 2])
    whole = Counter(case.side for case in found)
    assert all(abs(half[side] / whole[side] - 0.5) < 0.1 for side in (FIT, TEST))


def test_there_is_a_builder_for_each_call_and_no_other() -> None:
    tree = ast.parse((BENCHMARKS / "h200_calls.py").read_text(encoding="utf-8"))
    table = next(node for node in tree.body if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict))
    assert isinstance(table.value, ast.Dict)
    named = {ast.literal_eval(key) for key in table.value.keys if key is not None}
    assert named == {case.call for case in cases()}


def test_without_a_gpu_it_lists_the_calls_and_measures_nothing() -> None:
    answer = subprocess.run(
        [sys.executable, str(BENCHMARKS / "h200_times.py"), "--dry"], capture_output=True, text=True, check=True
    )
    lines = answer.stdout.splitlines()
    assert lines[-1] == f"{len(cases())} calls; nothing was measured"
    assert [line for line in lines if line.startswith((FIT, TEST))] == list(map(str, cases()))
