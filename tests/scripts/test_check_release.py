"""The parts of the release check that need no network."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from scripts import check_release

CHANGELOG = "# Changelog\n\n## 0.2.0 (2027-01-31)\n\n## 0.1.0 (unreleased)\n"


@pytest.mark.parametrize(
    ("tag", "version", "said"),
    [
        ("v0.2.0", "0.2.0", []),
        ("0.2.0", "0.2.0", ["the tag 0.2.0 is not v0.2.0"]),
        ("v0.2.0", "0.2", ["the tag v0.2.0 is not v0.2, ", "CHANGELOG.md has no section for 0.2"]),
        ("v0.1.0", "0.1.0", ["CHANGELOG.md still calls 0.1.0 unreleased"]),
    ],
)
def test_a_tag_is_the_version_and_has_a_section(tag: str, version: str, said: list[str]) -> None:
    problems = check_release.tag_problems(tag, version, CHANGELOG)
    assert len(problems) == len(said)
    assert all(problem.startswith(start) for problem, start in zip(problems, said, strict=True))


def test_a_file_that_is_not_shipped_is_named(tmp_path: Path) -> None:
    files = [path for path in check_release.PACKAGE.rglob("*") if path.is_file()]
    names = [path.relative_to(check_release.PACKAGE.parent).as_posix() for path in files]
    wheel, sdist = tmp_path / "a.whl", tmp_path / "a.tar.gz"
    left_out = "kernel_pytorch/py.typed"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in set(names) - {left_out}:
            archive.writestr(name, "")
    with tarfile.open(sdist, "w:gz") as tar:
        for name in names:
            tar.addfile(tarfile.TarInfo(f"a/src/{name}"), io.BytesIO())
    assert check_release.missing_files(wheel, sdist) == [f"a.whl lacks {left_out}"]
