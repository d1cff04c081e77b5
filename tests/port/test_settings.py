"""The table in the ported project's pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.config_sources import load_config
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.port.discover import Project
from kernel_pytorch.port.settings import PortSettings, read_settings, without_excluded

TABLE = """\
[tool.kernel_pytorch]
backend = "cpu"
select = ["kp6", "U1"]
ignore = ["KP601"]
exclude = ["tests", "old/**/*.py"]
layout = "single-source"
targets = ["gfx90a", "gfx1100"]
unsafe = true
rules = ["kpt-rules.yaml"]

[tool.kernel_pytorch.amd]
optimization_level = "aggressive"
"""


def write(root: Path, text: str) -> Path:
    (root / "pyproject.toml").write_text(text)
    return root / "pyproject.toml"


def test_every_key(tmp_path: Path) -> None:
    write(tmp_path, TABLE)
    assert read_settings(tmp_path) == PortSettings(
        select=("KP6", "U1"),
        ignore=("KP601",),
        exclude=("tests", "old/**/*.py"),
        layout="single-source",
        targets=("gfx90a", "gfx1100"),
        unsafe=True,
        rules=(tmp_path / "kpt-rules.yaml",),
    )


def test_the_back_ends_configuration_reads_the_same_table(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, TABLE), environ={})
    assert config.backend == "cpu"
    assert config.amd.optimization_level == "aggressive"


def test_defaults(tmp_path: Path) -> None:
    assert read_settings(tmp_path) == PortSettings()
    write(tmp_path, '[project]\nname = "x"\n')
    assert read_settings(tmp_path) == PortSettings()
    write(tmp_path, "not TOML {{ cookiecutter.name }}")
    assert read_settings(tmp_path) == PortSettings()  # a file that does not speak of us


def test_a_single_file_takes_the_nearest_table_above_it(tmp_path: Path) -> None:
    write(tmp_path, '[tool.kernel_pytorch]\nignore = ["KP5"]\n')
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c.py").write_text("")
    assert read_settings(tmp_path / "a/b/c.py").ignore == ("KP5",)


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ('selct = ["KP6"]', "has no key 'selct'; did you mean select?"),
        ("zzz = 1", "known keys: select, ignore"),
        ('select = "KP6"', "a list of strings"),
        ('ignore = ["E501"]', "'E501' is not a code"),
        ('layout = "twin"', "one of auto, copy"),
        ("unsafe = 1", "true or false"),
        ('targets = ["gfx9999"]', "unknown target"),
        ("targets = []", "no target given"),
        ("exclude = [1]", "a list of strings"),
    ],
)
def test_refused(tmp_path: Path, line: str, fact: str) -> None:
    file = write(tmp_path, f"[tool.kernel_pytorch]\n{line}\n")
    with pytest.raises(UsageError) as refused:
        read_settings(tmp_path)
    assert str(refused.value).startswith(f"{file}: ")
    assert fact in str(refused.value)


def test_not_a_table(tmp_path: Path) -> None:
    write(tmp_path, "[tool]\nkernel_pytorch = 1\n")
    with pytest.raises(UsageError, match="not a table"):
        read_settings(tmp_path)


@pytest.mark.parametrize(
    ("pattern", "out"),
    [
        ("tests", {"tests/a.py", "pkg/tests/b.py"}),
        ("pkg/", {"pkg/a.py", "pkg/tests/b.py", "pkg/deep/er/c.py"}),
        ("*.cu", {"k.cu"}),
        ("pkg/*.py", {"pkg/a.py"}),
        ("pkg/**", {"pkg/a.py", "pkg/tests/b.py", "pkg/deep/er/c.py"}),
        ("pkg/**/?.py", {"pkg/a.py", "pkg/tests/b.py", "pkg/deep/er/c.py"}),
        ("**/er/c.py", {"pkg/deep/er/c.py"}),
        ("deep/er", set()),
    ],
)
def test_exclude(pattern: str, out: set[str]) -> None:
    python = ("pkg/a.py", "pkg/deep/er/c.py", "pkg/tests/b.py", "tests/a.py")
    project = Project(Path(), {"python": python, "cuda": ("k.cu",)}, (), (*python, "k.cu"))
    kept = without_excluded(project, [pattern])
    assert {item.path for item in kept.skipped} == out
    assert set(kept.of("python", "cuda")) == {*python, "k.cu"} - out
    assert set(kept.listed) == {*python, "k.cu"} - out


def test_an_excluded_header_is_still_read_for_those_that_include_it() -> None:
    project = Project(Path(), {"cuda": ("a.cu", "gen/t.cuh")}, (), ("a.cu", "gen/t.cuh"))
    kept = without_excluded(project, ["gen"])
    assert kept.of("cuda") == ("a.cu",)
    assert kept.of("c++") == ("gen/t.cuh",)
