"""Notebooks are read: Python cells by the rules, shell lines as commands, each at its line of the file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.port.notebook import notebook_findings
from kernel_pytorch.port.python.notebook import notebook_cells, python_text, shell_lines

CELLS = [
    ("markdown", '# mode="reduce-overhead"\n'),
    ("code", "!pip install -q thing\nimport torch\nout = !nvidia-smi\nname = 'größe'"),
    ("code", '%%time\ndef f(x):\n    return x\n\ng = torch.compile(f, mode="reduce-overhead")\n'),
    ("code", "this is a sketch\n"),
    ("code", "%%bash\ndocker run --gpus all image\n"),
    ("code", "%%writefile kernel.cu\n__global__ void k() {}\n"),
    ("code", "if True:\n    %matplotlib inline\nx = 5 % 3\n"),
]


def notebook(indent: int | None = 1, as_lines: bool = True) -> bytes:
    cells = [
        {"cell_type": kind, "source": text.splitlines(keepends=True) if as_lines else text, "outputs": []}
        for kind, text in CELLS
    ]
    return json.dumps({"cells": cells, "nbformat": 4}, indent=indent).encode()


def test_python_is_what_is_left_without_magics_sketches_and_other_languages() -> None:
    text, places = python_text(notebook_cells(notebook()) or [])
    lines = text.decode().splitlines()
    assert lines == [
        "pass", "import torch", "pass", "name = 'größe'", "pass", "def f(x):", "    return x", "",
        'g = torch.compile(f, mode="reduce-overhead")', "if True:", "    pass", "x = 5 % 3",
    ]  # fmt: skip
    assert [place.cell for place in places] == [1] * 4 + [2] * 5 + [6] * 3


@pytest.mark.parametrize("as_lines", [True, False])
def test_findings_are_at_the_line_of_the_file_and_for_a_person(as_lines: bool) -> None:
    data = notebook(as_lines=as_lines)
    (found,) = notebook_findings("a.ipynb", data, ("KP601",))
    place = next(number for number, line in enumerate(data.decode().splitlines(), 1) if "torch.compile" in line)
    assert (found.code, found.line, found.edits) == ("KP601", place, ())
    assert "code cell 2" in found.message


def test_shell_lines_are_without_their_marks() -> None:
    lines = [line.text for line in shell_lines(notebook_cells(notebook()) or [])]
    assert lines == ["pip install -q thing", "nvidia-smi", "time", "docker run --gpus all image", "writefile kernel.cu",
                     "matplotlib inline"]  # fmt: skip


@pytest.mark.parametrize("data", [b"{}", b"[1]", b"\xff\xfe", b'{"cells": [{"cell_type": "code"}, 4]}', b"[" * 9000])
def test_what_is_no_notebook_is_a_finding(data: bytes) -> None:
    assert notebook_cells(data) is None
    assert [one.code for one in notebook_findings("a.ipynb", data, ("KP601",))] == ["KP001"]


def test_an_empty_notebook_is_none() -> None:
    assert notebook_findings("a.ipynb", b"", ("KP601",)) == ()
    assert notebook_findings("a.ipynb", b'{"cells": []}', ("KP601",)) == ()


def test_a_scan_reads_notebooks_and_a_port_leaves_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "train.ipynb").write_bytes(notebook())
    assert main(["scan", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "KP601" in out and "KP172" in out
    assert main(["port", str(tmp_path), "--write", "--no-build"]) in (0, 1)
    assert (tmp_path / "train.ipynb").read_bytes() == notebook()


def test_a_notebook_may_import_the_project_it_belongs_to() -> None:
    data = json.dumps({"cells": [{"cell_type": "code", "source": ["import pytorch3d\n"]}]}).encode()
    assert [one.code for one in notebook_findings("a.ipynb", data, ("KP511",))] == ["KP511"]
    assert notebook_findings("a.ipynb", data, ("KP511",), frozenset({"pytorch3d"})) == ()


def cells_of(*texts: str) -> bytes:
    cells = [{"cell_type": "code", "source": text.splitlines(keepends=True), "outputs": []} for text in texts]
    return json.dumps({"cells": cells, "nbformat": 4}, indent=1).encode()


def test_a_command_over_several_lines_does_not_hide_its_cell() -> None:
    data = cells_of("!pip install \\\n  a \\\n  b\nimport pynvml\n", "torch.compile?\nimport pynvml\n")
    cells = notebook_cells(data) or []
    assert [line.text.split() for line in shell_lines(cells)] == [["pip", "install", "a", "b"]]
    assert [one.code for one in notebook_findings("a.ipynb", data, ("KP500",))] == ["KP500", "KP500"]


def test_a_cell_that_writes_a_python_file_is_read_as_python() -> None:
    data = cells_of("%%writefile train.py\nimport pynvml\n", "# title\n%%writefile notes.txt\nimport pynvml\n")
    assert [one.code for one in notebook_findings("a.ipynb", data, ("KP500",))] == ["KP500"]


@pytest.mark.parametrize("magic", ["%%cu", "%%writefile kernel.cu", "#@title kernel\n%%cuda"])
def test_a_cell_of_cuda_is_read_as_cuda(magic: str) -> None:
    kernel = "__global__ void k(float* x) {\n  *x = __shfl_sync(0xffffffff, *x, 0);\n}\n"
    data = cells_of("x = 1\n", f"{magic}\n{kernel}")
    place = next(number for number, line in enumerate(data.decode().splitlines(), 1) if "__shfl_sync" in line)
    (found,) = notebook_findings("a.ipynb", data, ("KP301",))
    assert (found.line, found.edits) == (place, ()) and "code cell 2" in found.message
