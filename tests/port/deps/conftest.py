"""Tiny wheels and throw-away environments, so that installing is tested for real and still fast."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROCM_TORCH = "__version__ = '2.9.0+rocm6.4'\ncuda: None = None\nhip = '6.4.43482'\n"


def make_wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: tuple[str, ...] = ()) -> Path:
    """A valid pure-Python wheel with exactly these files."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    metadata = "".join(
        [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", *(f"Requires-Dist: {one}\n" for one in requires)]
    )
    content = {
        **files,
        f"{info}/METADATA": metadata,
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},sha256={_digest(text)},{len(text.encode())}\n" for path, text in content.items())
    content[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
    return wheel


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def unpack(wheel: Path, python: Path) -> None:
    """Put a wheel into an environment without pip, which is a second faster."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site_packages(python))


def site_packages(python: Path) -> Path:
    return next((python.parent.parent / "lib").glob("python3*/site-packages"))


@pytest.fixture
def wheelhouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for the whole package index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def make_python(tmp_path: Path) -> Callable[[], Path]:
    """Makes an empty environment and returns its interpreter."""

    def make() -> Path:
        folder = tmp_path / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        return folder / "bin" / "python"

    return make


@pytest.fixture
def rocm_python(tmp_path: Path, make_python: Callable[[], Path]) -> Path:
    """An environment that holds a (pretended) ROCm torch and the Triton that came with it."""
    python = make_python()
    built = tmp_path / "preinstalled"
    built.mkdir()
    torch = {"torch/__init__.py": "from .version import __version__\n", "torch/version.py": ROCM_TORCH}
    unpack(make_wheel(built, "torch", "2.9.0+rocm6.4", torch), python)
    unpack(make_wheel(built, "pytorch-triton-rocm", "3.5.0", {"triton/__init__.py": ""}), python)
    return python


@pytest.fixture
def repo(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Writes files into a new repository folder."""

    def make(files: dict[str, str]) -> Path:
        root = tmp_path / "repo"
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return root

    return make
