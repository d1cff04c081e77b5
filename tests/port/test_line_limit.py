"""What the port makes too long for the project's formatter is said; what was long before is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.line_limit import line_limit, long_lines


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[tool.ruff]\nline-length = 120\n", (120, "ruff")),
        ("[tool.black]\n", (88, "black")),
        ("[tool.other]\n", None),
        ("[tool.ruff]\nline-length = 'x'\n", None),
        ("not toml", None),
    ],
)
def test_the_limit_is_the_formatters(tmp_path: Path, text: str, expected: tuple[int, str] | None) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert line_limit(tmp_path) == expected
    assert line_limit(tmp_path / "nowhere") is None


def test_only_new_lines_of_changed_python_files_count() -> None:
    long = b"x = " + b"1" * 90
    patches = [
        Patch("a.py", long + b"\ny = 1\n", long + b"\ny = 1 + " + long + b"\n"),
        Patch("new.py", None, long),
        Patch("a.cu", b"", long),
    ]
    assert long_lines(patches, 88) == ["a.py:2"]


def test_a_port_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.ruff]\nline-length = 60\n")
    text = 'import torch\n\nstep = torch.compile(torch.sin, mode="reduce-overhead")\n'
    (tmp_path / "a.py").write_text(text)
    assert main(["port", str(tmp_path), "--no-build"]) in (0, 1)
    said = capsys.readouterr().err
    # The gate's own line is of a fixed form, and as long.
    assert "longer than the 60 characters of this project's ruff: a.py:3, a.py:5" in said
