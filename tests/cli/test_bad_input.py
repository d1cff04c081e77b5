"""What people mistype or point at by accident: one line that names the file, the fact and what to do, and exit 2."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.given_path import file_problem

BINARY = b"\x89PNG\r\n\0\0\0\xff"
NEWLINE = "two\nlines.cu"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.cu").write_bytes(BINARY)
    (tmp_path / "empty.cu").write_bytes(b"")
    (tmp_path / "picture.py").write_bytes(BINARY)
    (tmp_path / "folder").mkdir()
    (tmp_path / "shut.cu").write_text("int x;\n")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["hipify", "picture.cu"], "picture.cu: not a text file: there is nothing to translate"),
        (["build", "picture.cu"], "picture.cu: not a text file: nothing a compiler could read"),
        (["emulate", "picture.cu"], "picture.cu: not a text file: nothing a compiler could read"),
        (["hipify", "absent.cu"], "absent.cu: no such file or folder"),
        (["build", "absent.cu"], "absent.cu: no such file"),
        (["emulate", "absent.cu"], "absent.cu: no such file"),
        (["scan", "absent"], "absent: no such file or folder"),
        (["port", "absent"], "absent: no such folder"),
        (["verify", "absent"], "absent: no such folder"),
        (["port", "empty.cu"], "empty.cu: a file, and a folder is needed; name the project's folder, or translate the"),
        (["verify", "empty.cu"], "empty.cu: a file, and a folder is needed; name the project's folder"),
        (["emulate", "folder"], "folder: a folder; name the program's files"),
        (["build", "folder"], "folder: a directory; name the files to build"),
        (["scan", NEWLINE], "two\\nlines.cu: no such file or folder"),
        (["emulate", NEWLINE], "two\\nlines.cu: no such file"),
        (["build", NEWLINE], "two\\nlines.cu: no such file"),
        (["port", NEWLINE], "two\\nlines.cu: no such folder"),
        (["emulate", "empty.cu", "--gpu", "fury"], "unknown GPU 'fury'; known: mi50, mi60, mi100"),
        (["build", "empty.cu", "--arch", "gfx94"], "unknown target 'gfx94'; did you mean gfx942 or"),
        (["build", "empty.cu", "--arch", "mi300"], "unknown target 'mi300'; did you mean gfx942"),
        (["hipify", "picture.py"], "picture.py: Python, not CUDA or C++; `kpt port FOLDER` ports what"),
        (["emulate", "picture.py"], "picture.py: a script; run it with `kpt emulate -- python picture.py`"),
        (
            ["verify", "folder", "--old", "empty.cu"],
            "empty.cu: a file, and a folder is needed; name the folder with the",
        ),
        (
            ["golden", "check", "picture.py:make", "empty.cu"],
            "empty.cu: a file, and a folder is needed; a golden record",
        ),
        (["hipify", "folder", "-o", "empty.cu"], "empty.cu: a file, and a folder is needed; name another path"),
        (["scan", "folder", "--html", "none/a.html"], "--html none/a.html: there is no folder none; make it first:"),
        (["verify", "folder", "--html", "folder"], "--html folder: a folder; name a file in it, such as folder/"),
        (["profile", "folder"], "folder: no recording in this folder"),
        (
            ["profile", "compare", "a", "b", "--html", "c.html"],
            "--html is for one recording; `kpt profile compare` prints",
        ),
        (["bench", "picture.py:make"], "picture.py: not a Python source file"),
    ],
)
def test_one_line_and_exit_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"kpt: {said}") and shown.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["emulate", "--comapre", "a,b", "x.cu"],
            "kpt emulate: unrecognized arguments: --comapre; did you mean --compare?",
        ),
        (["scan"], "kpt scan: the following arguments are required: PATH; `kpt scan --help` lists what it takes"),
        (["golden", "record", "a.py:make"], "kpt golden record: the following arguments are required: --out;"),
        (["bench", "a.py:f", "--seconds", "x"], "kpt bench: argument --seconds: invalid float value: 'x'; `kpt bench"),
    ],
)
def test_a_wrong_option_is_one_line_too(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(said) and shown.err.count("\n") == 1


def test_a_folder_without_sources_is_not_called_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "folder"]) == 0
    assert capsys.readouterr().err.splitlines()[-1].startswith("nothing here to look at: kpt reads Python, CUDA,")
    assert main(["port", "folder"]) == 0
    assert capsys.readouterr().err.startswith("folder: nothing to port: kpt reads Python, CUDA, C++,")


def test_a_climb_that_cannot_begin_leaves_no_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", "picture.py:make"]) == 2
    assert not (folder / "kpt-optimized").exists()
    assert capsys.readouterr().err.startswith("kpt: picture.py: not a Python source file")


def test_verify_does_not_claim_what_it_had_nothing_to_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "folder", "--level", "static,install,build"]) == 0
    static, install, build, _ = capsys.readouterr().out.splitlines()
    assert static == "static     pass     nothing to check: the folder has no file that kpt reads"
    assert install.startswith("install    pass     nothing to check: the project has no setup.py")
    assert build == "build      pass     nothing to check: the project has no .cu or .hip sources"


@pytest.mark.parametrize("option", ["--out", "--html"])
def test_a_place_that_may_not_be_written_is_named_before_the_work(
    option: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "closed").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "closed")  # root may write anywhere
    assert main(["port", "folder", option, "closed/new"]) == 2
    assert capsys.readouterr().err == f"kpt: {option} closed/new: you may not write to closed; name another place\n"


def test_a_project_that_may_not_be_changed_is_named_before_the_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "folder")  # root may write anywhere
    assert main(["port", "folder", "--write"]) == 2
    assert capsys.readouterr().err.startswith("kpt: folder: you may not write to it; --out DIR makes a ported copy")


@pytest.mark.parametrize("verb", ["scan", "hipify"])
def test_an_empty_file_is_a_file_without_findings(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "empty.cu"]) == 0
    assert capsys.readouterr().out == ""


def test_a_folder_that_may_not_be_entered_is_the_one_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = folder / "folder"
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed)  # root may enter any
    problem = file_problem(PermissionError(13, "Permission denied", str(closed / "sub" / "pyproject.toml")))
    assert problem.startswith(f"{closed}: Permission denied; `ls -ld` shows")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read any file")
@pytest.mark.parametrize("verb", ["hipify", "build", "emulate"])
def test_a_file_that_may_not_be_read(verb: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shut.cu").chmod(0)
    assert main([verb, "shut.cu"]) == 2
    assert "shut.cu: " in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["build", "emulate"])
def test_no_compiler_at_all(
    verb: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a system's clang is looked for, and PATH has none: the message says which package brings a compiler."""
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("KPT_TOOLCHAIN", "clang")
    assert main([verb, "shut.cu"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("kpt: no HIP compiler found (clang: no ") and "pip install " in said
