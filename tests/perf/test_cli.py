"""`kpt profile` and `kpt bench` as they are called: output, files, exit status, refusals."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from kernel_pytorch.cli.main import main

BF16 = "c10::BFloat16"
TARGETS = """
import torch
def model():
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.LayerNorm(64)).eval()
    return {"model": net, "inputs": (torch.randn(32, 64),), "samples": 32}
def twice():
    net, x = model()["model"], model()["inputs"][0]
    return (lambda x: net(net(net(net(x))))), (x,)
def broken():
    def call(x):
        raise RuntimeError("shape trouble")
    return call, (1,)
def raises():
    return {}["model"]
"""


@pytest.fixture
def trace(builder: Callable[..., Any]) -> Path:
    made = builder()
    dims, types = ((4096, 4096), (4096, 4096)), (BF16, BF16)
    for number in range(4):
        made.launch("aten::mm", "Cijk_x", 100.0 * number, 100.0 * number + 20, 60, dims=dims, types=types)
        made.launch("aten::mul", "mul<a & b>", 100.0 * number + 10, 100.0 * number + 80, 8, dims=dims, types=types)
    return made.write("trace.json.gz")


def test_text_names_time_roofline_and_advice(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(trace)]) == 0
    text = capsys.readouterr().out
    assert "GPU 0: 0.368 ms" in text
    assert re.search(r"GEMM +0\.240 +88\.2 %", text)
    assert "left in other: 0.00 %" in text
    assert "% of achievable" in text and "MI300X" in text
    assert "rung 2  launch gaps" in text


def test_saved_profiles_are_plotted_again_without_the_trace(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saved, first, second = tmp_path / "saved.json", tmp_path / "1.html", tmp_path / "2.html"
    assert main(["profile", str(trace), "--save", str(saved), "--html", str(first), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(saved.read_text())
    trace.unlink()
    assert main(["profile", str(saved), "--html", str(second)]) == 0
    assert first.read_text() == second.read_text()


def test_the_page_is_self_contained_and_its_drawings_are_well_formed(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    assert main(["profile", str(trace), "--html", str(page)]) == 0
    text = page.read_text()
    assert "<script" not in text and "src=" not in text and "@import" not in text
    assert [url for url in re.findall(r"https?://[^\"' <]+", text) if url != "http://www.w3.org/2000/svg"] == []
    assert "mul<a" not in text and "mul&lt;a &amp; b&gt;" in text
    drawings = re.findall(r"<svg .*?</svg>", text, re.DOTALL)
    drawn = [re.search(r'class="(\w+)" viewBox="0 0 (\d+)', one).groups() for one in drawings]  # type: ignore[union-attr]
    kinds = ("breakdown", "timeline", "roofline", "operators")
    assert drawn == [(kind, width) for kind in kinds for width in ("960", "380")]  # for a desk and for a phone
    for one in drawings:
        ElementTree.fromstring(one)


def test_a_picture_needs_matplotlib_and_says_so(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "p.png"
    status = main(["profile", str(trace), "--png", str(picture)])
    if status == 0:
        assert picture.read_bytes().startswith(b"\x89PNG")
    else:
        assert status == 2
        assert 'pip install "matplotlib>=3.8"' in capsys.readouterr().err


def test_diff_of_a_trace_and_a_saved_profile(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "saved.json"
    main(["profile", str(trace), "--save", str(saved)])
    capsys.readouterr()
    assert main(["profile", "compare", str(trace), str(saved)]) == 0
    text = capsys.readouterr().out
    assert re.search(r"total +0\.368 +0\.368 +\+0\.000 +1\.00", text)
    assert main(["profile", "diff", str(trace), str(saved), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["categories"][0]["a_ms"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["profile", "missing.json"], "no such file"),
        (["profile", "a", "b"], "one thing at a time"),
        (["profile", "diff", "a"], "takes two profiles"),
        (["profile", "{trace}", "--gpu", "mi3000"], "unknown GPU"),
        (["profile", "{cut}"], "cut off"),
        (["bench", "nowhere:f"], "no module"),
        (["bench", "{targets}:model", "--warmup", "0"], "--warmup 0: at least 3"),
        (["bench", "{targets}:model", "--iters", "1"], "--iters 1: at least 10"),
        (["bench", "{targets}:model", "--margin", "0"], "--margin 0"),
        (["bench", "{targets}:broken", "--smoke"], "t.py:11: RuntimeError: shape trouble"),
        (["bench", "{targets}:broken"], "t.py:11: RuntimeError: shape trouble"),
        (["bench", "{targets}:raises"], "t.py:14: KeyError"),
        (["bench", "{targets}:model", "--compile", "fastest"], "--compile fastest"),
        (["profile", "{targets}:broken"], "t.py:11: RuntimeError: shape trouble"),
        (["bench", "compare", "a"], "takes two saved benchmarks"),
        (["profile", "{targets}:model", "--warmup", "1"], "at least 3"),
    ],
)
def test_refusals(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    cut, targets = tmp_path / "cut.json", tmp_path / "t.py"
    cut.write_bytes(gzip.decompress(trace.read_bytes())[:3000])
    targets.write_text(TARGETS)
    filled = [word.format(trace=trace, cut=cut, targets=targets) for word in arguments]
    assert main(filled) == 2
    assert words in capsys.readouterr().err


def test_a_cut_off_trace_on_demand(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.json"
    cut.write_bytes(gzip.decompress(trace.read_bytes())[:3000])
    assert main(["profile", str(cut), "--allow-truncated"]) == 0
    assert "the trace is cut off" in capsys.readouterr().out


def test_smoke_prints_no_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    targets = tmp_path / "t.py"
    targets.write_text(TARGETS)
    assert main(["bench", f"{targets}:model", "--smoke", "--warmup", "0", "--iters", "1"]) == 0
    text = capsys.readouterr().out.replace(str(targets), "")
    assert "returned Tensor (32, 64); no timing was taken" in text
    assert not re.search(r"\d\s*(ms|us|s)\b", text)


def test_bench_compares_keeps_history_and_fails_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    targets, history = tmp_path / "t.py", tmp_path / "h.jsonl"
    targets.write_text(TARGETS)
    names = [f"{targets}:model", f"{targets}:twice"]
    main(["bench", *names, "--seconds", "1", "--history", str(history), "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["environment"]["device"].startswith("cpu: ")
    first, second = report["results"]
    assert first["device"] == "cpu" and first["samples_per_second"] > 0 and second["samples_per_second"] is None
    assert len(first["samples_ms"]) == first["time"]["samples"] >= 10
    (verdict,) = report["verdicts"]
    assert verdict["ratio"] > 1
    assert json.loads(history.read_text()) == report
    # What the verdict is depends on how busy this machine is; that it decides the exit status does not.
    status = main(["bench", "compare", f"{history}#-1:{names[0]}", f"{history}#-1:{names[1]}"])
    text = capsys.readouterr().out
    assert status == (1 if "SLOWER" in text else 0)
    assert "not measured in turns" in text


def test_profile_of_a_target_on_the_cpu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("a GPU is here: tests/hw covers it")
    targets, kept = tmp_path / "t.py", tmp_path / "kept.json"
    targets.write_text(TARGETS)
    assert main(["profile", f"{targets}:model", "--steps", "2", "--modules", "--trace", str(kept), "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)
    assert profile["device_kind"] == "cpu" and profile["steps"] == 2
    assert profile["unprofiled_ms"] > 0
    rows = {row["name"]: row for row in profile["operators"]}
    assert rows["aten::addmm"]["flops"] == 2 * 32 * 64 * 64 + 32 * 64
    assert rows["aten::addmm"]["calls"] == 2
    assert rows["aten::native_layer_norm"]["category"] == "norm"
    assert any(row["module"].startswith("Linear") for row in profile["modules"])
    assert json.loads(kept.read_text())["traceEvents"]
