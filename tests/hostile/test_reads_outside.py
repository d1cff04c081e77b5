"""Nothing outside the folder a user points at is shown: not in text, JSON, SARIF, a diff, a page or an answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.inside import is_inside

SECRET = "hunter2_of_the_user"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with a neighbour that holds a secret in the form every reader takes."""
    (tmp_path / "secret.txt").write_text(f"{SECRET}==1.0\n")
    (tmp_path / "secret.h").write_text(f'#define SECRET "{SECRET}"\ncudaMalloc({SECRET});\n')
    (tmp_path / "secret.py").write_text(f"import torch\n{SECRET} = torch.compile({SECRET}, mode='reduce-overhead')\n")
    (tmp_path / "secret.yml").write_text(f"name: x\ndependencies:\n  - {SECRET}\n")
    (tmp_path / "secret.toml").write_text(f'[project]\nname = "x"\nversion = "1"\ndependencies = ["{SECRET}"]\n')
    root = tmp_path / "project"
    root.mkdir()
    (root / "model.py").write_text("import torch\n")
    return root


def shown(root: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    """Everything that the reading verbs print or write for a tree."""
    html = root.parent / "page.html"
    text = ""
    for words in (
        ("scan", root), ("scan", root, "--json"), ("scan", root, "--sarif"), ("scan", root, "--html", html),
        ("port", root, "--no-build"), ("port", root, "--no-build", "--json"), ("deps", root), ("deps", root, "--json"),
        ("hipify", root, "--examine"), ("verify", root, "--level", "static,build", "--no-run", "--arch", "gfx942"),
        ("verify", root, "--level", "isolation", "--old", root.parent / "old", "--html", html), *more,
    ):  # fmt: skip
        (root.parent / "old").mkdir(exist_ok=True)
        assert main([str(word) for word in words]) in (0, 1, 2), words
        said = capsys.readouterr()
        text += said.out + said.err + (html.read_text() if html.exists() else "")
    return text


def requirements(root: Path, line: str) -> None:
    (root / "requirements.txt").write_text(f"torch\n{line}\n")


def pyproject(root: Path, text: str) -> None:
    (root / "pyproject.toml").write_text(text)


SETUP_CFG = "[metadata]\nname = x\n[options]\ninstall_requires = file: ../secret.txt\n"
DYNAMIC = '[project]\nname = "x"\nversion = "1"\ndynamic = ["dependencies"]\n[tool.setuptools.dynamic]\n'
WAYS: dict[str, Callable[[Path], object]] = {
    "-r ..": lambda root: requirements(root, "-r ../secret.txt"),
    "-r absolute": lambda root: requirements(root, f"-r {root.parent / 'secret.txt'}"),
    "-c": lambda root: requirements(root, "-c ../secret.txt"),
    "-r through a folder link": lambda root: (
        (root / "up").symlink_to(root.parent),
        requirements(root, "-r up/secret.txt"),
    ),
    "linked requirements": lambda root: (root / "requirements.txt").symlink_to("../secret.txt"),
    "linked pyproject": lambda root: (root / "pyproject.toml").symlink_to("../secret.toml"),
    "linked environment": lambda root: (root / "environment.yml").symlink_to("../secret.yml"),
    "conda pip -r": lambda root: (root / "environment.yml").write_text(
        "dependencies:\n  - pip:\n    - -r ../secret.txt\n"
    ),
    "setup.cfg file:": lambda root: (root / "setup.cfg").write_text(SETUP_CFG),
    "setuptools file": lambda root: pyproject(root, DYNAMIC + 'dependencies = {file = ["../secret.txt"]}\n'),
    "setup.py open": lambda root: (root / "setup.py").write_text(
        "from setuptools import setup\nsetup(install_requires=open('../secret.txt').read().splitlines())\n"
    ),
    "rules": lambda root: pyproject(root, '[tool.kernel_pytorch]\nrules = ["../secret.yml"]\n'),
    "linked python": lambda root: (root / "linked.py").symlink_to("../secret.py"),
    "linked cuda": lambda root: (root / "linked.cu").symlink_to("../secret.h"),
    "linked folder": lambda root: (root / "folder").symlink_to(root.parent, target_is_directory=True),
    "include": lambda root: (root / "k.cu").write_text(
        '#include "../secret.h"\n__global__ void k() {}\nstatic_assert(0, SECRET);\n'
    ),
    "include absolute": lambda root: (root / "k.cu").write_text(
        f'#include "{root.parent / "secret.h"}"\n__global__ void k() {{}}\n'
    ),
    "include by macro": lambda root: (root / "k.cu").write_text(
        f"#define S(x) #x\n#define P S({root.parent / 'secret.h'})\n#include P\n__global__ void k() {{}}\n"
    ),
    "linked header": lambda root: (
        (root / "mine.h").symlink_to("../secret.h"),
        (root / "k.cu").write_text('#include "mine.h"\n__global__ void k() {}\n'),
    ),
    "linked include folder": lambda root: (
        (root / "include").symlink_to(root.parent, target_is_directory=True),
        (root / "k.cu").write_text('#include "secret.h"\n__global__ void k() {}\nstatic_assert(0, SECRET);\n'),
    ),
    "cmake include": lambda root: (root / "CMakeLists.txt").write_text(
        "project(x LANGUAGES CUDA)\ninclude(../secret.h)\nadd_subdirectory(..)\n"
    ),
    "linked notebook": lambda root: (root / "n.ipynb").symlink_to("../secret.py"),
    "linked Dockerfile": lambda root: (root / "Dockerfile").symlink_to("../secret.txt"),
    "submodule": lambda root: (root / ".gitmodules").write_text('[submodule "x"]\n\tpath = ../\n\turl = ..\n'),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_outside_is_not_shown(way: str, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    WAYS[way](tree)
    assert SECRET not in shown(tree, capsys)


@pytest.mark.parametrize("way", ["-r ..", "-r absolute", "-c", "conda pip -r", "setup.cfg file:", "setuptools file"])
def test_a_list_that_is_not_read_is_said_at_its_line(way: str, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    WAYS[way](tree)
    main(["deps", str(tree), "--json"])
    plan = json.loads(capsys.readouterr().out)
    (note,) = [one for one in plan["not_read"] if "outside" in one["reason"]]
    assert note["line"] >= 1


def test_a_linked_list_counts_as_broken(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "requirements.txt").symlink_to("../secret.txt")
    assert main(["deps", str(tree), "--json"]) == 2
    said = capsys.readouterr()
    assert [one["path"] for one in json.loads(said.out)["broken"]] == ["requirements.txt"]
    assert "requirements.txt:1: a link that leads out of the project" in said.err


@pytest.mark.parametrize("name", ["linked.py", "linked.cu", "n.ipynb"])
def test_a_source_that_leads_out_is_a_finding(name: str, tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / name).symlink_to("../secret.py")
    assert main(["scan", str(tree), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [(one["code"], one["path"]) for one in found] == [("KP001", name)]


def test_a_link_to_a_file_of_the_project_is_no_finding(tree: Path) -> None:
    (tree / "same.py").symlink_to("model.py")
    assert main(["scan", str(tree)]) == 0


def test_rules_outside_need_the_command_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    WAYS["rules"](tree)
    assert main(["scan", str(tree)]) == 2
    assert "--rules" in capsys.readouterr().err


def test_inside_follows_links_first(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to("folder")
    (root / "loop").symlink_to("loop")
    good = (root, root / "folder", root / "folder" / "new", root / "in" / "x")
    assert all(is_inside(path, root) for path in good)
    bad = (tmp_path, root / "out", root / "out" / "x", root / "..", root / "loop" / "x", tmp_path / "root2")
    assert not any(is_inside(path, root) for path in bad)
    assert not is_inside(root / "folder" / ".." / ".." / "x", root)
    assert is_inside(Path(os.path.relpath(root / "folder")), root)
