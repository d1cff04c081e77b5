from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.port.deps import install as installing
from kernel_pytorch.port.deps.environment import find_torch, inspect_python
from kernel_pytorch.port.deps.install import Installation, install
from kernel_pytorch.port.deps.plan import make_plan
from kernel_pytorch.port.deps.safeguard import identify

from .conftest import ROCM_TORCH, make_wheel, site_packages, unpack

Repo = Callable[[dict[str, str]], Path]


def run(root: Path, python: Path, *groups: str) -> Installation:
    plan = make_plan(root, str(python))
    return install(plan.projects[0], inspect_python(str(python)), groups)


def outcomes(result: Installation) -> dict[str, str]:
    return {step.requirement: step.outcome for step in result.steps}


def torch_file(python: Path) -> Path:
    return site_packages(python) / "torch" / "version.py"


def test_missing_packages_and_their_needs_are_installed_and_torch_is_left_alone(
    repo: Repo, wheelhouse: Path, rocm_python: Path
) -> None:
    # The index offers a newer, CUDA torch, which plain pip would take for `trainer`.
    make_wheel(wheelhouse, "torch", "2.10.0", {"torch/version.py": "__version__='2.10.0'\ncuda='12.8'\nhip=None\n"})
    make_wheel(wheelhouse, "nvidia-cublas-cu12", "12.1", {"nvidia/cublas.py": ""})
    make_wheel(wheelhouse, "trainer", "1.0", {"trainer.py": ""}, ("torch>=2.10", "helper>=2", "nvidia-cublas-cu12"))
    make_wheel(wheelhouse, "helper", "1.0", {"helper.py": "OLD = 1\n"})
    make_wheel(wheelhouse, "helper", "2.5", {"helper.py": ""}, ("leaf; python_version >= '3.8'", "no; extra == 'x'"))
    make_wheel(wheelhouse, "leaf", "0.1", {"leaf.py": ""})
    root = repo({"requirements.txt": "torch==2.10.0\ntrainer\npynvml\nother; sys_platform == 'win32'\n"})
    before = identify(inspect_python(str(rocm_python)))

    result = run(root, rocm_python)

    assert result.ok
    assert before.difference(identify(inspect_python(str(rocm_python)))) == ""
    assert outcomes(result) == {
        "torch==2.10.0": "left out",
        "pynvml": "left out",
        "trainer": "installed",
        "torch>=2.10": "left out",
        "nvidia-cublas-cu12": "left out",
        "helper>=2": "installed",
        "leaf": "installed",
    }
    installed = inspect_python(str(rocm_python)).distributions()
    assert installed["helper"].version == "2.5"
    assert "nvidia-cublas-cu12" not in installed
    assert not list(site_packages(rocm_python).glob(".kpt-backup-*"))


def test_plain_pip_would_have_replaced_that_torch(wheelhouse: Path, rocm_python: Path, tmp_path: Path) -> None:
    make_wheel(wheelhouse, "torch", "2.10.0", {"torch/version.py": ""})
    make_wheel(wheelhouse, "trainer", "1.0", {"trainer.py": ""}, ("torch>=2.10",))
    report = tmp_path / "report.json"
    subprocess.run(
        [*installing.pip_command(inspect_python(str(rocm_python))), "install", "--dry-run", "-q", "--report",
         str(report), "trainer"],
        check=True, capture_output=True,
    )  # fmt: skip
    wanted = {
        entry["metadata"]["name"]: entry["metadata"]["version"] for entry in json.loads(report.read_text())["install"]
    }
    assert wanted["torch"] == "2.10.0"


@pytest.mark.parametrize(
    "files",
    [
        {"torch/version.py": "__version__ = '2.10.0'\ncuda = '12.8'\nhip = None\n"},
        # The same text written again is still a file that someone else now owns.
        {"torch/version.py": ROCM_TORCH},
        {"torch/__init__.py": "raise SystemExit('gone')\n"},
        {"triton/__init__.py": "NEW = True\n"},
    ],
    ids=["other build", "same text", "other file", "triton"],
)
def test_a_package_that_overwrites_torch_is_rolled_back(
    repo: Repo, wheelhouse: Path, rocm_python: Path, files: dict[str, str]
) -> None:
    make_wheel(wheelhouse, "good", "1.0", {"good.py": ""})
    make_wheel(wheelhouse, "evil", "1.0", {"evil.py": "", **files})
    make_wheel(wheelhouse, "later", "1.0", {"later.py": ""})
    root = repo({"requirements.txt": "good\nevil\nlater\n"})
    before = identify(inspect_python(str(rocm_python)))

    result = run(root, rocm_python)

    assert outcomes(result) == {"good": "installed", "evil": "rolled back"}
    assert result.intact and not result.ok
    assert before.difference(identify(inspect_python(str(rocm_python)))) == ""
    assert torch_file(rocm_python).read_text() == ROCM_TORCH
    assert (site_packages(rocm_python) / "torch" / "__init__.py").read_text().startswith("from .version")
    assert (site_packages(rocm_python) / "triton" / "__init__.py").read_text() == ""
    installed = inspect_python(str(rocm_python)).distributions()
    assert "good" in installed and "evil" not in installed and "later" not in installed
    assert not (site_packages(rocm_python) / "evil.py").exists()
    assert not list(site_packages(rocm_python).glob(".kpt-backup-*"))


def test_an_interruption_in_the_middle_restores_torch(
    repo: Repo, wheelhouse: Path, rocm_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheelhouse, "good", "1.0", {"good.py": ""})
    root = repo({"requirements.txt": "good\n"})

    def interrupted(interpreter: object, arguments: list[str]) -> None:
        file = torch_file(rocm_python)
        file.unlink()
        file.write_text("__version__ = 'half")
        raise KeyboardInterrupt

    monkeypatch.setattr(installing, "_pip", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(root, rocm_python)
    assert torch_file(rocm_python).read_text() == ROCM_TORCH


def test_a_terminated_command_restores_torch(repo: Repo, rocm_python: Path, tmp_path: Path) -> None:
    """`timeout` and job schedulers end a command with SIGTERM, here while pip is at work."""
    root = repo({"requirements.txt": "good\n"})
    ready = tmp_path / "ready"
    code = (
        "import sys, time, pathlib\n"
        "from kernel_pytorch.cli.main import main\n"
        "from kernel_pytorch.port.deps import install\n"
        "def slow(interpreter, arguments):\n"
        f"    file = pathlib.Path({str(torch_file(rocm_python))!r})\n"
        "    file.unlink(); file.write_text('half')\n"
        f"    pathlib.Path({str(ready)!r}).touch()\n"
        "    time.sleep(60)\n"
        "install._pip = slow\n"
        f"sys.exit(main(['deps', {str(root)!r}, '--install', '--yes', '--python', {str(rocm_python)!r}]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not ready.exists() and process.poll() is None:
        time.sleep(0.05)
    process.terminate()
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM and b"interrupted by SIGTERM" in stderr
    assert torch_file(rocm_python).read_text() == ROCM_TORCH
    assert not list(site_packages(rocm_python).glob(".kpt-backup-*"))


def test_installed_packages_are_not_replaced_and_a_wrong_version_is_reported(
    repo: Repo, wheelhouse: Path, rocm_python: Path, tmp_path: Path
) -> None:
    unpack(make_wheel(tmp_path, "numpy", "1.26.0", {"numpy/__init__.py": ""}), rocm_python)
    unpack(make_wheel(tmp_path, "tqdm", "4.66", {"tqdm.py": ""}), rocm_python)
    make_wheel(wheelhouse, "numpy", "2.1.0", {"numpy/__init__.py": ""})
    root = repo({"requirements.txt": "numpy>=2\ntqdm\nabsent-package\n"})
    result = run(root, rocm_python)
    assert outcomes(result) == {"numpy>=2": "conflict", "tqdm": "present", "absent-package": "failed"}
    assert not result.ok and result.intact
    assert "No matching distribution" in result.steps[-1].detail or "Could not find" in result.steps[-1].detail
    assert inspect_python(str(rocm_python)).distributions()["numpy"].version == "1.26.0"


def test_a_version_this_run_picked_too_new_is_picked_again(repo: Repo, wheelhouse: Path, rocm_python: Path) -> None:
    """One at a time, a later package may limit an earlier one: ours may be replaced, others' may not."""
    make_wheel(wheelhouse, "hub", "1.5", {"hub.py": "OLD = 1\n"})
    make_wheel(wheelhouse, "hub", "2.4", {"hub.py": ""})
    make_wheel(wheelhouse, "models", "1.0", {"models.py": ""}, ("hub>=1,<2", "limited"))
    make_wheel(wheelhouse, "strict", "1.0", {"strict.py": ""}, ("hub>=2",))
    make_wheel(wheelhouse, "limited", "1.0", {"limited.py": ""})
    make_wheel(wheelhouse, "limited", "2.0", {"limited.py": ""})
    root = repo({"requirements.txt": "hub\nmodels\n-c c.txt\n", "c.txt": "limited<2\n"})
    result = run(root, rocm_python)
    assert result.ok
    installed = inspect_python(str(rocm_python)).distributions()
    assert installed["hub"].version == "1.5" and installed["limited"].version == "1.0"
    (root / "requirements.txt").write_text("hub\nmodels\nstrict\n")
    again = run(root, rocm_python)
    assert not again.ok and outcomes(again)["hub>=2"] == "conflict"
    assert inspect_python(str(rocm_python)).distributions()["hub"].version == "1.5"


def test_extras_and_groups_are_followed(repo: Repo, wheelhouse: Path, rocm_python: Path) -> None:
    make_wheel(wheelhouse, "app", "1.0", {"app.py": ""}, ("plot; extra == 'viz'", "web; extra == 'http'"))
    make_wheel(wheelhouse, "plot", "1.0", {"plot.py": ""})
    make_wheel(wheelhouse, "linter", "1.0", {"linter.py": ""})
    text = "[project]\nname='x'\ndependencies=['app[viz]']\n[project.optional-dependencies]\ndev=['linter']\n"
    root = repo({"pyproject.toml": text})
    assert outcomes(run(root, rocm_python)) == {"app[viz]": "installed", "plot": "installed"}
    assert outcomes(run(root, rocm_python, "dev"))["linter"] == "installed"


def test_without_a_rocm_torch_nothing_starts(
    repo: Repo, make_python: Callable[[], Path], tmp_path: Path, wheelhouse: Path
) -> None:
    root = repo({"requirements.txt": "good\n"})
    python = make_python()
    with pytest.raises(UsageError, match="has no torch"):
        run(root, python)
    cuda = {"torch/version.py": "__version__ = '2.9.0+cu128'\ncuda: str = '12.8'\nhip = None\n"}
    unpack(make_wheel(tmp_path, "torch", "2.9.0+cu128", cuda), python)
    found = find_torch(inspect_python(str(python)))
    assert found is not None and (found.hip, found.cuda) == (None, "12.8")
    with pytest.raises(UsageError, match=r"CUDA 12\.8 build"):
        run(root, python)


def test_copies_left_by_a_killed_run_are_pointed_out(repo: Repo, rocm_python: Path, wheelhouse: Path) -> None:
    (site_packages(rocm_python) / ".kpt-backup-abc").mkdir()
    with pytest.raises(UsageError, match="interrupted run"):
        run(repo({"requirements.txt": "good\n"}), rocm_python)


def test_not_an_interpreter_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a working Python"):
        inspect_python(str(tmp_path / "nothing"))


@pytest.mark.slow
@pytest.mark.network
def test_a_real_package_that_would_pull_another_torch(
    repo: Repo, make_python: Callable[[], Path], tmp_path: Path
) -> None:
    """torchmetrics from the real index asks for torch >= 2: plain pip replaces an older ROCm torch, we do not."""
    python = make_python()
    old = {"torch/version.py": "__version__ = '1.13.1+rocm5.2'\ncuda = None\nhip = '5.2.21151'\n"}
    unpack(make_wheel(tmp_path, "torch", "1.13.1+rocm5.2", old), python)
    interpreter = inspect_python(str(python))
    report = tmp_path / "report.json"
    subprocess.run(
        [*installing.pip_command(interpreter), "install", "--dry-run", "-q", "--report", str(report), "torchmetrics"],
        check=True, capture_output=True, timeout=900,
    )  # fmt: skip
    wanted = [entry["metadata"] for entry in json.loads(report.read_text())["install"]]
    replaced = {entry["name"]: entry["version"] for entry in wanted}
    assert int(replaced["torch"].split(".")[0]) >= 2
    before = identify(interpreter)

    result = run(repo({"requirements.txt": "torchmetrics\n"}), python)

    assert result.ok, [step for step in result.steps if step.outcome == "failed"]
    assert outcomes(result)["torchmetrics"] == "installed"
    installed = interpreter.distributions()
    assert {"torchmetrics", "numpy", "lightning-utilities"} <= set(installed)
    assert installed["torch"].version == "1.13.1+rocm5.2"
    assert not any(name.startswith("nvidia") for name in installed)
    assert before.difference(identify(interpreter)) == ""
