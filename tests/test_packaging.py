"""Installing kernel-pytorch must never install or replace torch."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kernel_pytorch.core.optional_packages import PACKAGES, pip_install
from kernel_pytorch.core.toml_file import read_toml

ROOT = Path(__file__).parents[1]
FORBIDDEN = re.compile(r"^(torch.*|pytorch.*|triton.*|nvidia.*|cuda.*|cupy.*|jax.*)$", re.IGNORECASE)


def project() -> dict[str, object]:
    table = read_toml(ROOT / "pyproject.toml")["project"]
    assert isinstance(table, dict)
    return table


def test_declared_dependencies_are_free_of_torch() -> None:
    dependencies = project()["dependencies"]
    assert isinstance(dependencies, list)
    names = [Requirement(text).name for text in dependencies]
    assert names
    assert not [name for name in names if FORBIDDEN.match(name)]


def test_messages_name_the_packages_of_the_extras() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    assert {name: tuple(extras[name]) for name in PACKAGES} == PACKAGES
    assert pip_install("report") == 'pip install "jinja2>=3.1"'


def test_extras() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    assert {"torch", "toolchain", "dev"} <= extras.keys()
    assert any(Requirement(text).name == "torch" for text in extras["torch"])
    assert {Requirement(text).name for text in extras["toolchain"]} == {"ziglang", "triton"}


@pytest.mark.network
def test_the_resolved_set_is_free_of_torch(tmp_path: Path) -> None:
    """What pip itself would install, everything that dependencies of dependencies ask for included."""
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    result = subprocess.run(
        [*command, "--report", str(report), str(ROOT)], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    names = {item["metadata"]["name"].lower() for item in json.loads(report.read_text())["install"]}
    assert {"kernel-pytorch", "rich", "packaging"} <= names
    assert not [name for name in names if FORBIDDEN.match(name)], names


def test_data_files_are_declared_as_package_data() -> None:
    """A file that the code reads but the wheel lacks shows only on a user's machine."""
    patterns = read_toml(ROOT / "pyproject.toml")["tool"]["setuptools"]["package-data"]["kernel_pytorch"]
    package = ROOT / "src" / "kernel_pytorch"
    shipped = {path for pattern in patterns for path in package.glob(pattern) if path.is_file()}
    present = {
        path
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc") and "__pycache__" not in path.parts
    }
    assert present - shipped == set()
