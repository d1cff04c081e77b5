"""The real thing: pip replaces a ROCm torch because a project pins another, and doctor tells which project.

The wheels are a few bytes each and made here; pip, its resolver and its records are real. Nothing is downloaded.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import os
import subprocess
import sys
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.core.probe import this_machine
from kernel_pytorch.core.stand_in import stand_in
from kernel_pytorch.doctor.machine import examine, for_python
from kernel_pytorch.doctor.run import all_checks, run_checks


def wheel(folder: Path, name: str, version: str, requires: tuple[str, ...] = (), **files: str) -> None:
    info = f"{name}-{version}.dist-info"
    metadata = "\n".join(
        ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *(f"Requires-Dist: {r}" for r in requires)]
    )
    contents = {path.replace("__", "/") + ".py": text for path, text in files.items()}
    contents[f"{info}/METADATA"] = metadata + "\n"
    contents[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in contents.items()]
    contents[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]) + "\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def torch_version_file(version: str, hip: str | None, cuda: str | None) -> str:
    return f"__version__ = {version!r}\nhip = {hip!r}\ncuda = {cuda!r}\n"


def test_doctor_names_the_project_that_made_pip_replace_torch(tmp_path: Path) -> None:
    # Not imported: before Python 3.12 that keeps setuptools, and with it torch.compile, from working in this process.
    if not any(importlib.metadata.distributions(name="pip")):
        pytest.skip("pip is not installed")
    rocm, pypi, venv = tmp_path / "rocm", tmp_path / "pypi", tmp_path / "venv"
    rocm.mkdir()
    pypi.mkdir()
    version_file = torch_version_file("2.9.0+rocm6.4", "6.4.43484", None)
    wheel(rocm, "torch", "2.9.0+rocm6.4", ("pytorch-triton-rocm==3.5.0",), torch__version=version_file)
    wheel(rocm, "pytorch_triton_rocm", "3.5.0")
    wheel(pypi, "torch", "2.8.0", torch__version=torch_version_file("2.8.0+cu128", None, "12.8"))
    wheel(pypi, "attention_kernels", "0.3", ("torch==2.8.0",))
    wheel(pypi, "robot_policy", "1.0", ("attention-kernels>=0.1",))
    wheel(pypi, "bystander", "1.0")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    python = str(venv / "bin" / "python")

    def pip_install(index: Path, *names: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index"]
        quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        subprocess.run([*command, "--find-links", str(index), *names], check=True, env=quiet, timeout=300)

    pip_install(rocm, "torch")
    assert verdict(python).status is Status.PASS
    yesterday = time.time() - 86_400
    for entry in venv.rglob("*.dist-info/*"):
        os.utime(entry, (yesterday, yesterday))
    pip_install(pypi, "robot-policy", "bystander")

    result = verdict(python)
    assert result.status is Status.FAIL
    assert "torch 2.8.0+cu128 replaced a ROCm torch (left behind: pytorch-triton-rocm 3.5.0)" in result.detail
    assert "robot-policy -> attention-kernels -> torch (asks for `torch==2.8.0`)" in result.detail
    assert "bystander" not in result.detail
    assert any(line.endswith("--no-deps robot-policy") for line in result.fix)


def verdict(python: str) -> CheckResult:
    real = for_python(this_machine(), python)
    probe = replace(
        stand_in("mi300x", torch=False),
        python=real.python,
        python_path=real.python_path,
        python_version=real.python_version,
    )
    machine = examine(probe, with_torch=False)
    (result,) = run_checks(machine, [item for item in all_checks() if item.check.code == "KP103"])
    return result
