from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import GROUPS, main, parser_for, verb_summaries
from kernel_pytorch.core.gpu_to_emulate import gpu_to_emulate
from kernel_pytorch.version import VERSION


def test_help_lists_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    for verb, summary in verb_summaries().items():
        assert f"  {verb} " in out
        assert summary in out


def test_every_verb_is_in_one_group() -> None:
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(verb_summaries())


@pytest.mark.parametrize("verb", verb_summaries())
def test_every_verb_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert f"usage: kpt {verb}" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kpt {VERSION}\n"


def test_no_verb_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "verbs, by what you want to do" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["doktor"], "did you mean `kpt doctor`?"), (["frobnicate"], "the verbs are:"), (["--frob"], "unrecognized")],
)
def test_wrong_words_exit_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_wrong_option_of_a_verb_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--frob"]) == 2
    assert "unrecognized arguments: --frob" in capsys.readouterr().err


def test_module_is_the_command() -> None:
    result = subprocess.run([sys.executable, "-m", "kernel_pytorch", "--version"], capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stdout == f"kpt {VERSION}\n"


def test_a_reader_that_leaves_is_no_error() -> None:
    result = subprocess.run(
        f"{sys.executable} -m kernel_pytorch --help | head -1", shell=True, capture_output=True, text=True
    )
    assert result.stdout.startswith("usage: kpt")
    assert "Traceback" not in result.stderr


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["skill", "port", "--out", str(tmp_path / "file" / "inside")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kpt: {tmp_path}") and said.count("\n") == 1


def test_help_of_golden_names_the_options_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    for action, own in (("record", "--out DIR"), ("check", "--no-referee")):
        assert main(["golden", action, "--help"]) == 0
        out = capsys.readouterr().out
        assert own in out and "--program FILE" in out and "--max-launches N" in out and "strict: no TF32" in out


@pytest.mark.parametrize(
    ("verb", "old", "new"),
    [
        ("hipify", ["a.cu", "--output", "x"], ["a.cu", "--out", "x"]),
        ("emulate", ["a.hip", "--gpu", "gfx942"], ["a.hip", "--arch", "gfx942"]),
    ],
)
def test_old_option_names_mean_the_same(verb: str, old: list[str], new: list[str]) -> None:
    parser = parser_for(verb)
    assert parser.parse_args(old) == parser.parse_args(new)


def test_a_target_names_its_usual_gpu() -> None:
    assert gpu_to_emulate("gfx942") == gpu_to_emulate("mi300x")
    assert gpu_to_emulate("gfx1100") == gpu_to_emulate("rx7900xtx")


def test_triton_says_nothing_at_the_end(tmp_path: Path) -> None:
    """Its module counts what is left when Python ends, and prints a page about it."""
    pytest.importorskip("triton")
    program = "import sys, triton.language; from kernel_pytorch.cli.main import main; sys.exit(main())"
    done = subprocess.run([sys.executable, "-c", program, "--version"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"kpt {VERSION}\n", "")
