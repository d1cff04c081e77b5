"""Build the wheel and the sdist and check them as a user would meet them. `make release-check` runs it.

    python scripts/check_release.py              build, twine check, install into an empty environment, try kpt there
    python scripts/check_release.py --tag v0.1.0 only whether the tag is the version and the changelog has its section

Needs network: build, twine and the dependencies come from the package index. Everything is made in dist/ and in a
temporary folder.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
PACKAGE = ROOT / "src" / "kernel_pytorch"
KERNEL = "#include <cuda_runtime.h>\nint main() { return cudaDeviceSynchronize(); }\n"
NOT_SHIPPED = ("__pycache__",)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tag", help="a tag such as v0.1.0: compare it with the version, and stop there")
    args = parser.parse_args(argv)
    if args.tag is not None:
        problems = tag_problems(args.tag, version(), (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
        print("\n".join(problems) or f"{args.tag} is the version, and the changelog has its section")
        return 1 if problems else 0
    build()
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    problems = missing_files(wheel, sdist)
    print("\n".join(problems) or f"{wheel.name} and {sdist.name} hold every file of the package")
    if problems:
        return 1
    try_installed(wheel)
    try_installed(sdist)
    return 0


def version() -> str:
    """The version as the package states it, read without importing it."""
    (found,) = re.findall(r'^VERSION = "([^"]+)"', (PACKAGE / "version.py").read_text(encoding="utf-8"), re.MULTILINE)
    return str(found)


def tag_problems(tag: str, is_version: str, changelog: str) -> list[str]:
    """What keeps this tag from being a release."""
    problems = []
    if tag != f"v{is_version}":
        problems.append(f"the tag {tag} is not v{is_version}, the version in src/kernel_pytorch/version.py")
    heading = re.search(rf"^## {re.escape(is_version)}(?![\w.])(.*)$", changelog, re.MULTILINE)
    if heading is None:
        problems.append(f"CHANGELOG.md has no section for {is_version}")
    elif "unreleased" in heading[1]:
        problems.append(f"CHANGELOG.md still calls {is_version} unreleased: put the date there")
    return problems


def build() -> None:
    """dist/ with one wheel and one sdist, both accepted by twine."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="kpt-release-") as scratch:
        python = environment(Path(scratch) / "tools", "build", "twine")
        _run([python, "-m", "build", "--outdir", DIST, ROOT])
        _run([python, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir())])


def missing_files(wheel: Path, sdist: Path) -> list[str]:
    """Files of the package in the work tree that the wheel or the sdist lacks."""
    own = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and not set(path.parts) & set(NOT_SHIPPED)
    }
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/src/")[2] for name in archive.getnames()}
    lacking = [f"{wheel.name} lacks {path}" for path in sorted(own - in_wheel)]
    return lacking + [f"{sdist.name} lacks {path}" for path in sorted(own - in_sdist)]


def try_installed(archive: Path) -> None:
    """Install into an empty environment and use kpt there, far from this checkout."""
    with tempfile.TemporaryDirectory(prefix="kpt-release-") as scratch:
        folder = Path(scratch)
        python = environment(folder / "empty", archive)
        kpt = python.parent / "kpt"
        (folder / "a.cu").write_text(KERNEL)
        assert _run([kpt, "--version"], folder).strip() == f"kpt {version()}"
        assert "hipDeviceSynchronize" in _run([kpt, "hipify", "a.cu"], folder)  # the tables of names are there
        assert "becomes" in _run([kpt, "explain", "KP301"], folder)  # the examples of pages are there
        _run([kpt, "skill", "port", "--out", folder / "skill"], folder)  # the skills are there
        installed = _run([python, "-m", "pip", "list", "--format=freeze"], folder).splitlines()
        assert not [line for line in installed if line.startswith(("torch==", "triton=="))], "torch came along"
    print(f"{archive.name}: installs into an empty environment and works")


def environment(folder: Path, *packages: str | Path) -> Path:
    """A new virtual environment with these packages; returns its Python."""
    _run([sys.executable, "-m", "venv", folder])
    python = folder / "bin" / "python"
    _run([python, "-m", "pip", "install", "--quiet", *packages])
    return python


def _run(command: list[str | Path], folder: Path = ROOT) -> str:
    words = [str(word) for word in command]
    print("$", " ".join(words), flush=True)
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\n{words[0]} ended with status {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
