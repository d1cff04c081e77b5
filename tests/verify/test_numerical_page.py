"""The numerical level: where it is run from does not matter, and what it saw is on the page, escaped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("jinja2")

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.findings import CheckResult, Patch, Status
from kernel_pytorch.jobs.verify import Verification
from kernel_pytorch.report.verify_page import verify_page
from kernel_pytorch.verify.golden.check import Culprit, EventResult, GoldenCheck
from kernel_pytorch.verify.golden.observe import Event
from kernel_pytorch.verify.kernels.record_comparison import BufferResult, KernelComparison, LaunchResult
from kernel_pytorch.verify.levels import LevelResult, Pyramid
from kernel_pytorch.verify.numerical_level import Numbers

EVIL = "<script>alert(1)</script>"
MACHINE = {"device": "cpu", "device_name": EVIL, "hip": ""}
MODEL = """
import torch
def make():
    torch.manual_seed(0)
    print("words that a model says while it is built")
    return torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), (torch.ones(2, 8),)
"""


def replay(mode: str, machine: dict[str, str] | None = None) -> GoldenCheck:
    events = tuple(
        EventResult(Event(f"layer{i}{EVIL}", 0, "out"), error, 1e-6, error < 1e-6)
        for i, error in enumerate((0.0, 1e-8, 1e-2, float("inf")))
    )
    culprits = (
        Culprit("layer2", f"its own code {EVIL}", "scale", "off by one factor", "the codes differ"),
        Culprit("layer3", "its own code", "noise", "", "", follows="layer2"),
    )
    return GoldenCheck(mode, "t", MACHINE, machine or MACHINE, events, (), culprits)


def compared(*launches: LaunchResult) -> KernelComparison:
    return KernelComparison("program", "NVIDIA H200", "emulated MI300X (gfx942, wave 64)", launches)


def launch(number: int, status: str = "same", kind: str = "") -> LaunchResult:
    ok = status == "same"
    buffer = BufferResult(
        "#1", "after", (0,), "float32", "its values", 64, 60, 1e-8, 1e-6, ok, kind, EVIL if kind else ""
    )
    return LaunchResult(number, f"kernel{EVIL}", status, "", "name", (buffer,))


def done(numbers: Numbers, *patches: Patch) -> Verification:
    check = CheckResult("a record", Status.FAIL, "differs")
    pyramid = Pyramid("p", ("gfx942",), (LevelResult("numerical", (check,)),), {})
    return Verification(pyramid, (), None, (), patches, (), numbers)


def test_the_plots_are_on_the_page_and_escaped() -> None:
    program = compared(launch(0), launch(1), launch(2, "differs", "lanes"), launch(3))
    text = verify_page(done(Numbers((replay("strict"), replay("production")), (program,))))
    assert text.count("<svg") == 2 * 3 and text.count("<circle") == 2 * (4 + 4 + 4)  # for a desk and for a phone
    assert EVIL not in text and "alert(1)" in text
    assert "first: layer2" in text and "worst: layer3" in text
    assert "The same places as in the strict replay" in text and "1 more place differs" in text
    assert "0 to 1" in text and "120 of 128 elements are equal bit for bit" in text  # two launches, one row
    assert "Checks that did not pass: 1" in text


def test_the_closing_sentence_is_true() -> None:
    amd = {"device": "cuda:0", "device_name": "AMD Instinct MI300X", "hip": "7.1"}
    assert done(Numbers()).where_it_ran.startswith("Nothing here ran on an AMD GPU: it was built, emulated, or run")
    assert "On an AMD GPU (AMD Instinct MI300X)" in done(Numbers((replay("strict", amd),))).where_it_ran


def test_large_new_files_and_bytes_are_not_spelt_out() -> None:
    text = verify_page(done(Numbers(), Patch("a.bin", None, b"\0" * 5000), Patch("b.py", None, b"x = 1\n" * 900)))
    assert "not text: 5,000 bytes" in text and "more lines of a new file" in text
    assert text.count("x = 1") == 200


def test_a_relative_path_finds_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "model.py").write_text(MODEL)
    (project / "pyproject.toml").write_text(
        '[tool.kernel_pytorch.verify]\ngolden = ["model:make = golden/one", "nothing.cu = golden/two"]\n'
    )
    record = ["golden", "record", f"{project / 'model.py'}:make", "--out", str(project / "golden/one")]
    assert main([*record, "--repeats", "1"]) == 0
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    words = ["verify", "project", "--level", "numerical", "--arch", "gfx942", "--html", str(page), "--json"]
    assert main(words) == 0
    model, program = json.loads(capsys.readouterr().out)["levels"][0]["checks"]
    assert model["status"] == "pass" and "same in strict, production" in model["detail"]
    assert program["status"] == "not_run" and "golden record" in program["detail"]
    assert page.read_text().count("<svg") == 2 * 2
