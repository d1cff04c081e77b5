"""Text of a stranger's does not command the terminal, nor forge a line of a log."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.printable import has_controls, on_one_line, printable
from tests.hostile.traps import kpt

ESCAPE = "\x1b]0;owned\x07\x1b[2J"


def on_a_terminal(*words: str) -> bytes:
    """What a verb sends to a terminal."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*kpt(), *words], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, env={**os.environ, "TERM": "dumb"}
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        seen += data
    os.close(leader)
    process.wait()
    return seen


def hostile_project(root: Path) -> None:
    (root / f"bad{ESCAPE}.py").write_text("import torch\n")
    (root / "a\nb.cu").write_text("__global__ void k() {}\n")
    (root / "model.py").write_text(
        f'import torch\n# {ESCAPE}\nm = torch.compile(f, mode="reduce-overhead")  # {ESCAPE}\n'
    )
    (root / "k.cu").write_text(f"__global__ void k(int *x) {{ x[0] = __ballot_sync(~0u, 1); }} // {ESCAPE} \u202e\n")
    (root / "requirements.txt").write_text(f"torch\n{ESCAPE}==1\n--{ESCAPE}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("scan", "."), ("scan", ".", "--gcc"), ("port", ".", "--no-build"), ("hipify", "k.cu"), ("deps", "."),
        ("hipify", ".", "--examine"), ("verify", ".", "--level", "static"), ("scan", "./bad\x1b[2J.py"),
    ],
    ids=repr,
)  # fmt: skip
def test_no_escape_reaches_a_terminal(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile_project(tmp_path)
    monkeypatch.chdir(tmp_path)
    seen = on_a_terminal(*words)
    assert seen
    assert b"\x1b]0" not in seen and b"\x1b[2J" not in seen and b"\x07" not in seen
    assert "\u202e".encode() not in seen


def test_a_diff_in_a_file_is_as_it_is(tmp_path: Path) -> None:
    """A file must apply: only a terminal gets the written-out form."""
    (tmp_path / "model.py").write_text(f'import torch\nm = torch.compile(f, mode="reduce-overhead")  # {ESCAPE}\n')
    done = subprocess.run([*kpt(), "port", str(tmp_path), "--no-build"], capture_output=True, check=False)
    assert ESCAPE.encode() in done.stdout


def test_a_diff_applies_whatever_ends_a_line_elsewhere(tmp_path: Path) -> None:
    """A form feed, a lone carriage return and a line separator are characters within a line of a diff."""
    for command in (["git", "init", "-q"],):
        subprocess.run(command, cwd=tmp_path, check=True)
    text = 'import torch\x0c\n\x0c\n# a\u2028b \x85 c\rd\nm = torch.compile(f, mode="reduce-overhead")\n'
    (tmp_path / "model.py").write_bytes(text.encode())
    done = subprocess.run([*kpt(), "port", str(tmp_path), "--no-build"], capture_output=True, check=False)
    assert b"IS_ROCM" in done.stdout
    subprocess.run(["git", "apply", "--check", "-"], input=done.stdout, cwd=tmp_path, check=True)


def test_a_name_cannot_forge_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a\n::error::forged.py").write_text("import torch\n")
    (tmp_path / "x\r\n::set-output name=a::b.cu").write_text("__global__ void k() {}\n")
    for form in ((), ("--gcc",)):
        assert main(["scan", str(tmp_path), *form]) == 1
        said = capsys.readouterr()
        assert not [line for line in (said.out + said.err).splitlines() if line.startswith("::")]
    assert main(["scan", str(tmp_path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [one["code"] for one in found] == ["KP001", "KP001"]
    assert main(["scan", str(tmp_path), "--sarif"]) == 1
    assert main(["port", str(tmp_path), "--no-build"]) == 1
    assert not [line for line in capsys.readouterr().err.splitlines() if line.startswith("::")]


def test_a_folder_cannot_forge_a_line_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "a\n::error::forged"
    (folder / "third_party\n::notice::x").mkdir(parents=True)
    (folder / "requirements.txt").write_text("torch\n")
    (folder / "m.py").write_text("import torch\n")
    (tmp_path / "old").mkdir()
    for words in (
        ("deps", tmp_path / "new"), ("scan", tmp_path / "new"), ("hipify", tmp_path / "new", "--examine"),
        ("verify", tmp_path / "new", "--isolation", "--old", tmp_path / "old", "-v"),
        ("verify", tmp_path / "new", "--level", "isolation,static", "--old", tmp_path / "old", "-v"),
    ):  # fmt: skip
        main([str(word) for word in words])
        said = capsys.readouterr()
        assert not [line for line in (said.out + said.err).splitlines() if line.startswith("::")], words


def test_a_name_that_is_no_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text('import torch\nm = torch.compile(f, mode="reduce-overhead")\n')
    for form in ((), ("--gcc",), ("--json",), ("--sarif",)):
        done = subprocess.run([*kpt(), "scan", str(tmp_path), *form], capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stderr
        assert "KP601" in done.stdout
    sarif = json.loads(done.stdout)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place.endswith("caf%E9.py")


def test_what_is_written_out() -> None:
    assert printable("a\x1b[0m\tb\n\x7f\x9b\u202e\udce9") == "a\\x1b[0m\tb\n\\x7f\\x9b\\u202e\\xe9"
    assert on_one_line("a\nb\tc") == "a\\nb\\tc"
    assert has_controls("a\nb") and has_controls("\x1b") and not has_controls("café-ü 漢.cu")
