"""The pyramid: every level says what it saw or what it would take, and not run is never passed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.verify.levels import LEVELS, LevelResult, Pyramid
from kernel_pytorch.verify.run_level import run_level
from kernel_pytorch.verify.settings import VerifySettings, read_verify_settings

PASS, FAIL, NOT_RUN = (CheckResult("c", status, "d") for status in (Status.PASS, Status.FAIL, Status.NOT_RUN))
WARN = CheckResult("c", Status.WARN, "d")

GATED = """import torch

IS_ROCM = torch.version.hip is not None


class Model(torch.nn.Module):
    def forward(self, x):
        if IS_ROCM:
            return torch.softmax(x.float(), -1)
        return torch.softmax(x, -1)


def example():
    torch.manual_seed(0)
    return Model(), (torch.randn(4, 8),)
"""


@pytest.mark.parametrize(
    ("checks", "status"),
    [
        ((), Status.NOT_RUN),
        ((NOT_RUN,), Status.NOT_RUN),
        ((PASS, PASS), Status.PASS),
        ((PASS, NOT_RUN), Status.WARN),
        ((PASS, WARN), Status.WARN),
        ((PASS, NOT_RUN, FAIL), Status.FAIL),
    ],
)
def test_a_level_passes_only_when_everything_did(checks: tuple[CheckResult, ...], status: Status) -> None:
    assert LevelResult("run", checks).status is status


def test_a_required_level_needs_all_below_it() -> None:
    def pyramid(*checks: CheckResult) -> Pyramid:
        levels = [LevelResult(name, (check,)) for name, check in zip(LEVELS, checks, strict=True)]
        return Pyramid("p", ("gfx942",), tuple(levels), {})

    assert pyramid(PASS, PASS, PASS, PASS, NOT_RUN, NOT_RUN).fulfils("build")
    assert not pyramid(PASS, PASS, PASS, PASS, NOT_RUN, NOT_RUN).fulfils("run")
    assert not pyramid(PASS, WARN, PASS, PASS, PASS, PASS).fulfils("build")
    assert not pyramid(FAIL, PASS, PASS, PASS, PASS, PASS).fulfils("static")


@pytest.fixture
def ported(tmp_path: Path) -> tuple[Path, Path]:
    """A project before and after its port."""
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "README").write_text("x\n")
    (old / "model.py").write_text(
        GATED.replace("        if IS_ROCM:\n            return torch.softmax(x.float(), -1)\n", "")
    )
    (new / "model.py").write_text(GATED)
    return old, new


def verify(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, dict[str, object]]]:
    code = main(["verify", *words, "--json"])
    plain = json.loads(capsys.readouterr().out)
    return code, {level["level"]: level for level in plain["levels"]}


def test_levels_that_cannot_run_say_what_they_need(
    ported: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = ported
    code, levels = verify(capsys, str(new), "--old", str(old))
    assert code == 0
    assert [levels[name]["status"] for name in LEVELS] == ["pass", "pass", "pass", "pass", "not_run", "not_run"]
    assert "pyproject.toml" in str(levels["run"]["needs"])
    assert "kpt golden record" in str(levels["numerical"]["needs"])
    assert main(["verify", str(new), "--old", str(old), "--require", "build"]) == 0
    assert main(["verify", str(new), "--old", str(old), "--require", "run"]) == 1


def test_a_changed_nvidia_path_fails_isolation(ported: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    old, new = ported
    (new / "model.py").write_text(GATED.replace("return torch.softmax(x, -1)", "return torch.softmax(x, 0)"))
    code, levels = verify(capsys, str(new), "--old", str(old), "--level", "isolation")
    assert code == 1 and levels["isolation"]["status"] == "fail"
    assert "model.py" in json.dumps(levels["isolation"])


def test_what_a_port_would_still_change_fails_static(
    ported: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, new = ported
    (new / "train.py").write_text('import torch\nf = torch.compile(lambda x: x, mode="reduce-overhead")\n')
    (new / "broken.py").write_text("def f(:\n")
    (new / "package").mkdir()
    (new / "package/__init__.py").write_text("from ._rocm_attention import flash\n")
    code, levels = verify(capsys, str(new), "--level", "static")
    said = json.dumps(levels["static"])
    assert code == 1 and "KP601" in said and "broken.py:1" in said and "._rocm_attention" in said


def test_what_was_broken_before_the_port_is_a_warning(
    ported: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = ported
    for folder in ported:
        (folder / "old.py").write_text("print 'Python 2'\n")
        (folder / "package").mkdir()
        (folder / "package/__init__.py").write_text("from .never import there\nfrom .gone import away\n")
    (old / "package/gone.py").write_text("away = 1\n")
    words = (str(new), "--old", str(old), "--level", "static")
    code, levels = verify(capsys, *words)
    assert code == 1 and levels["static"]["status"] == "fail", "gone.py was there before"
    (old / "package/gone.py").unlink()
    code, levels = verify(capsys, *words)
    assert code == 0 and levels["static"]["status"] == "warn"
    assert json.dumps(levels["static"]).count("as before the port") == 2


def test_without_anything_to_compare_with_isolation_is_not_run(
    ported: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, new = ported
    code, levels = verify(capsys, str(new), "--level", "isolation")
    assert code == 0 and levels["isolation"]["status"] == "not_run"


@pytest.mark.slow
def test_entry_points_run_with_rocm_stood_in_for(ported: tuple[Path, Path]) -> None:
    pytest.importorskip("torch")
    _, new = ported
    level = run_level(new, VerifySettings(entry_points=("model:example",), iterations=3), ("gfx942",))
    assert level.status is Status.PASS, level.checks
    assert len(level.checks) == 5
    on_gpu = level.checks[4]
    assert on_gpu.check == "model:example on an emulated MI300X (wave 64)"
    assert "as machine code: no kernel; on the CPU: " in on_gpu.detail
    assert "ROCm branches taken: model" in level.checks[1].detail
    (new / "model.py").write_text(GATED.replace("torch.softmax(x.float(), -1)", "torch.softmax(x, 0)"))
    wrong = run_level(new, VerifySettings(entry_points=("model:example",), iterations=1), ())
    assert wrong.status is Status.FAIL and "other results" in wrong.checks[1].detail
    (new / "model.py").write_text(GATED.replace("torch.softmax(x.float(), -1)", "x / 0"))
    endless = run_level(new, VerifySettings(entry_points=("model:example",), iterations=1), ())
    assert "NaN or infinite" in endless.checks[1].detail


def test_the_page_is_written(ported: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    old, new = ported
    page = tmp_path / "report.html"
    assert main(["verify", str(new), "--old", str(old), "--level", "isolation,static", "--html", str(page)]) == 0
    text = page.read_text()
    assert "proven" in text and "IS_ROCM" in text and "<script src" not in text


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("programs = 3", "a list of strings"),
        ('programs = ["gone.cu"]', "is not a file of the project"),
        ('golden = ["x"]', "module:function = folder"),
        ("iterations = 0", "a positive number"),
        ("colour = 1", "has no key 'colour'"),
    ],
)
def test_a_wrong_table_is_refused(table: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(f"[tool.kernel_pytorch.verify]\n{table}\n")
    with pytest.raises(UsageError, match=r"pyproject\.toml") as refused:
        read_verify_settings(tmp_path)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "words", [["--level", "nothing"], ["--level", "static", "--require", "build"], ["--head", "x"]]
)
def test_wrong_options_are_refused(words: list[str], tmp_path: Path) -> None:
    assert main(["verify", str(tmp_path), *words]) == 2


def test_a_stood_in_device_has_the_name_and_figures_of_a_product(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "model.py").write_text(
        "from pathlib import Path\nimport torch\n\n\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        if torch.version.hip is None:\n"
        "            return x\n"
        "        device = torch.cuda.get_device_properties(0)\n"
        "        assert 'amd' in device.name.lower() and 'amd' in torch.cuda.get_device_name().lower()\n"
        "        found = device.gcnArchName.split(':')[0], device.warp_size, (device.major, device.minor)\n"
        "        assert found in (('gfx942', 64, (9, 4)), ('gfx1100', 32, (11, 0))), found\n"
        "        assert (Path(torch.__file__).parent / 'lib' / 'libtorch_hip.so').is_file()\n"
        "        assert not Path('nowhere').is_file()\n"
        "        return x\n\n\n"
        "def example():\n    return Model(), (torch.ones(2),)\n"
    )
    level = run_level(tmp_path, VerifySettings(entry_points=("model:example",), iterations=1), ())
    assert level.status is Status.PASS, level.checks
