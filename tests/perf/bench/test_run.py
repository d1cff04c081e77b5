"""The measuring itself, with clocks and sensors that the test holds in its hand."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from itertools import chain, pairwise, repeat
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import from_json, to_json
from kernel_pytorch.models.clock import rounds
from kernel_pytorch.models.clock.device import Device, Sample
from kernel_pytorch.models.clock.rotated import rotated_calls
from kernel_pytorch.models.clock.rounds import Sampling, in_turn
from kernel_pytorch.models.clock.sensors import Sensors
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.bench import run as bench_run
from kernel_pytorch.perf.bench.causes import Counters, likely_causes
from kernel_pytorch.perf.bench.compare import compare
from kernel_pytorch.perf.bench.history import append, load_result
from kernel_pytorch.perf.bench.result import BenchReport, TargetResult
from kernel_pytorch.perf.bench.run import input_notes, measure
from kernel_pytorch.perf.bench.target import Target, as_target, load_target, looks_like_target

CPU = Device("cpu", "a processor", "cpu")
QUICK = Sampling(seconds=0.05, warmup_seconds=0.05, least_warmup_seconds=0.0, least_seconds=0.0)


class MadeUpTimer:
    """A machine whose times the test decides: `call()` returns milliseconds, with drift that hits whoever runs."""

    def __init__(self, device: Device, cold_cache: bool = False) -> None:
        self.chance = random.Random(4)
        self.count = 0

    def sample(self, call: Callable[[], Any], calls: int = 1) -> Sample:
        self.count += 1
        drift = 1 + 0.3 * math.sin(self.count / 40)
        return Sample(call() * drift * (1 + self.chance.gauss(0, 0.003)), None)

    def wait(self) -> None:
        return None


class MadeUpTime:
    """Stands in for the module `time`: a look at the clock takes 20 us, on a busy machine too."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        self.now += 20e-6
        return self.now


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_run, "Timer", MadeUpTimer)
    monkeypatch.setattr(rounds, "time", MadeUpTime())


def taking(milliseconds: float, name: str) -> Target:
    return Target(name, lambda: milliseconds)


@pytest.mark.usefixtures("made_up")
@pytest.mark.parametrize(("other", "wanted"), [(10.0, "same"), (10.2, "slower"), (8.0, "faster")])
def test_a_drifting_machine_does_not_fool_it(other: float, wanted: str) -> None:
    """The clock swings by 30 %; measured in turns the ratio stays."""
    settings = Sampling(seconds=0.3, warmup_seconds=0.01, least_warmup_seconds=0.0, least_seconds=0.0)
    results, (verdict,) = measure([taking(10.0, "a"), taking(other, "b")], CPU, Sensors(), settings)
    assert verdict.verdict == wanted
    assert verdict.ratio == pytest.approx(other / 10.0, rel=0.006)
    assert results[0].time.samples == results[1].time.samples == verdict.rounds


@pytest.mark.usefixtures("made_up")
def test_throttled_rounds_are_dropped_and_counted() -> None:
    answers = chain([False, True, True], repeat(False))
    (result,), _ = measure([taking(10.0, "a")], CPU, Sensors(throttled=lambda: next(answers)), QUICK)
    assert result.dropped_throttled == 2
    assert result.time.samples >= 10


@pytest.mark.usefixtures("made_up")
def test_a_device_that_only_throttles_gives_no_figure() -> None:
    with pytest.raises(UsageError, match="while the device throttled"):
        measure([taking(10.0, "a")], CPU, Sensors(throttled=lambda: True), QUICK)


def test_the_first_call_is_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def slow_first() -> None:
        calls.append(1)
        if len(calls) == 1:
            sum(range(3_000_000))

    (result,), _ = measure([Target("f", slow_first)], CPU, Sensors(), QUICK)
    assert result.first_call_ms > 10 * result.time.mean_ms
    assert result.warmup_calls >= 3
    assert result.calls_per_sample > 1  # a call of nanoseconds is measured in bunches
    assert result.device == "cpu" and result.peak_memory_bytes is None and result.joules_per_call is None


@pytest.mark.parametrize("energy_seconds", [0.001, 1e-12], ids=["usual", "over-before-the-first-call"])
def test_throughput_and_energy(monkeypatch: pytest.MonkeyPatch, energy_seconds: float) -> None:
    monkeypatch.setattr(bench_run, "Timer", MadeUpTimer)
    joules = iter(float(i) for i in range(10_000))
    settings = Sampling(
        seconds=0.02, warmup_seconds=0.01, energy_seconds=energy_seconds, least_seconds=0, least_warmup_seconds=0
    )
    target = Target("f", lambda: 10.0, samples=4, tokens=400)
    (result,), _ = measure([target], CPU, Sensors(joules=lambda: next(joules)), settings)
    assert result.samples_per_second == pytest.approx(4e3 / result.time.mean_ms)
    assert result.tokens_per_second == pytest.approx(400e3 / result.time.mean_ms)
    assert result.joules_per_call is not None and 0 < result.joules_per_call <= 1


def test_causes_are_what_was_seen() -> None:
    calm = Counters(5, 0, 10, 3, 0)
    noise = [1.0, 1.4] * 10
    assert likely_causes(calm, Counters(7, 0, 10, 3, 0), noise, noisy=False) == (
        "torch.compile compiled 2 frames again while measuring: shapes or guards change",
    )
    found = " ".join(likely_causes(calm, Counters(5, 4, 90, 6, 1), noise, noisy=True))
    for word in ("4 graph breaks", "3 new device allocations", "allocator ran out", "garbage collector ran 80"):
        assert word in found
    assert "two groups of times" in found
    assert likely_causes(calm, calm, noise, noisy=False) == ()


def test_inputs_are_copied_and_rotated() -> None:
    torch = pytest.importorskip("torch")
    seen: list[int] = []
    x = torch.ones(8)
    target = Target("f", lambda x, mask: seen.append((x.data_ptr(), mask.data_ptr())), (x,), {"mask": torch.zeros(4)})
    for call in rotated_calls(target.call, target.inputs, 0):
        call()
    assert len(set(seen)) == len(seen) == 2
    assert seen[0][0] == x.data_ptr()
    assert input_notes(target) == ["input mask is all zeros: GPUs clock higher on zeros, and some kernels skip them"]
    assert len(rotated_calls(lambda: None, Inputs(), 0)) == 1


def a_result(name: str, milliseconds: float, **changes: Any) -> TargetResult:
    from dataclasses import replace

    (result,), _ = measure([Target(name, lambda: None)], CPU, Sensors(), QUICK)
    chance = random.Random(name)
    samples = tuple(milliseconds * (1 + chance.gauss(0, 0.004)) for _ in range(60))
    return replace(result, samples_ms=samples, **changes)


def test_history_and_comparison_of_saved_runs(tmp_path: Path) -> None:
    path = tmp_path / "h" / "bench.jsonl"
    for when, milliseconds in (("1", 10.0), ("2", 10.02), ("3", 11.0)):
        append(BenchReport(when, {}, (a_result(f"t{when}", milliseconds), a_result("other", 1.0))), path)
    old, middle, new = (load_result(f"{path}#{i}") for i in (-3, 1, -1))
    assert load_result(str(path)) == new and load_result(f"{path}#0:other").name == "other"
    assert compare(old, middle).verdict == "same"
    slower = compare(old, new)
    assert (slower.verdict, slower.interleaved) == ("slower", False)
    assert slower.ratio == pytest.approx(1.1, rel=0.01)
    for text, words in (
        (f"{path}#7", "has 3 entries"),
        (f"{path}#x", "not a number"),
        (f"{path}#-1:nobody", "no target 'nobody'"),
        (str(tmp_path / "none"), "cannot be read"),
    ):
        with pytest.raises(UsageError, match=words):
            load_result(text)
    (tmp_path / "bad").write_text('{"a": 1}')
    with pytest.raises(UsageError, match="not a benchmark"):
        load_result(str(tmp_path / "bad"))
    with pytest.raises(UsageError, match="not a regression test"):
        compare(old, a_result("gpu", 1.0, device="gpu"))
    with pytest.raises(UsageError, match="cold cache"):
        compare(old, a_result("cold", 1.0, cold_cache=True))


def test_a_report_survives_json() -> None:
    report = BenchReport("now", {"torch": "2"}, (a_result("a", 1.0),))
    assert from_json(BenchReport, to_json(report)) == report


def test_targets_in_every_form(tmp_path: Path) -> None:
    def function() -> None:
        return None

    assert as_target("t", (function, (1, 2))).arguments == (1, 2)
    assert as_target("t", (function, {"x": 1})).keywords == {"x": 1}
    assert as_target("t", (function, 5)).arguments == (5,)
    assert as_target("t", function).call is function
    made = as_target("t", {"model": function, "inputs": (1,), "tokens": 7})
    assert (made.arguments, made.tokens) == ((1,), 7)
    for wrong, words in ((5, "returned int"), ({"net": function}, "no 'model'")):
        with pytest.raises(UsageError, match=words):
            as_target("t", wrong)
    path = tmp_path / "my_targets.py"
    path.write_text("def good():\n    return lambda: 1\ndef needs(x):\n    return x\nVALUE = 3\n")
    assert load_target(f"{path}:good").call() == 1
    (tmp_path / "not_text.py").write_bytes(b"a\0b")
    for text, words in (
        (f"{path}:bad", "it defines these: good, needs"),
        (f"{path}:needs", "must take no arguments"),
        (f"{path}:VALUE", "not a function"),
        ("nowhere_at_all:f", "no module"),
        ("just_a_word", "names no function"),
        (f"{tmp_path}/none.py:f", "no such file"),
        (f"{tmp_path}/not_text.py:f", r"not_text\.py: not a Python source file"),
    ):
        with pytest.raises(UsageError, match=words):
            load_target(text)
    assert looks_like_target("a.b:c") and not looks_like_target(str(path)) and not looks_like_target("C:/x.json")


@pytest.mark.parametrize("count", [2, 3, 6])
def test_every_target_comes_after_every_other_as_often(count: int) -> None:
    names = list(range(count))
    rounds = [in_turn(names, number) for number in range(1200)]
    assert all(sorted(one) == names for one in rounds)
    flat = [name for one in rounds for name in one]
    pairs = Counter(pairwise(flat))
    after_itself = [pairs[one, one] for one in names]  # at the border of two rounds
    after_others = [pairs[a, b] for a in names for b in names if a != b]
    for found in (after_itself, after_others):
        mean = sum(found) / len(found)
        assert all(abs(one - mean) <= 0.25 * mean + 3 for one in found)
    assert in_turn(names, 7) == in_turn(names, 7)
