from __future__ import annotations

import ast

import pytest

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.python.rewrite import DEFINITION, gate_edits
from kernel_pytorch.port.source import source_file
from kernel_pytorch.verify.isolation.python_source import compare_python
from kernel_pytorch.verify.isolation.verdict import Isolation


def gated(text: str, newline: str = "\n") -> str:
    """The file with its first `1` made `2 if IS_ROCM else 1`, and the gate that takes."""
    data = text.replace("\n", newline).encode()
    module = python_module(source_file("a.py", data))
    assert module is not None
    at = data.index(b"1")
    edits = [Edit(Span(at, at + 1), b"2 if IS_ROCM else 1")]
    for edit in sorted([*edits, *gate_edits(module, edits)], key=lambda item: -item.span.start):
        data = data[: edit.span.start] + edit.text + data[edit.span.end :]
    return data.decode()


CASES = {
    "import torch": "import torch\n\nx = 1\n",
    "docstring and future": '"""Doc."""\nfrom __future__ import annotations\n\nimport os\nimport torch\n\nx = 1\n',
    "torch.nn binds torch": "import torch.nn\nx = 1\n",
    "from torch": "from torch import nn\n\nx = 1\n",
    "aliased": "import torch as t\nx = 1\n",
    "function": "import torch\n\n\ndef f():\n    return 1\n",
    "torch after use": "import os\nos.environ['A'] = str(1)\nimport torch\n",
    "no torch": "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\nx = 1\n",
    "no torch, docstring": '"""Doc."""\nx = 1\n',
    "empty first line": "\nimport torch\nx = 1",
    "parenthesised import": "from torch import (\n    nn,\n    optim,\n)\nx = 1\n",
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("name", CASES)
def test_gate_is_placed_where_it_works_and_nvidia_is_unchanged(name: str, newline: str) -> None:
    old = CASES[name].replace("\n", newline)
    new = gated(CASES[name], newline)
    ast.parse(new)
    assert new.count("IS_ROCM = ") == 1
    assert new.index("IS_ROCM = ") < new.index("2 if IS_ROCM")
    assert ("\r\n" in new) == (newline == "\r\n")
    assert newline == "\n" or "\n" not in new.replace("\r\n", "")
    assert compare_python("a.py", old.encode(), new.encode()).verdict is Isolation.PROVEN


def test_the_gate_is_the_seeds_definition() -> None:
    assert DEFINITION.decode() in gated("import torch\nx = 1\n")


def test_a_gate_at_the_top_of_a_file_has_no_empty_lines_above_it() -> None:
    new = gated("x = 1\n")
    assert new.startswith("def _is_rocm():\n")
    assert "IS_ROCM = _is_rocm()\n\nx = " in new


def test_a_gate_without_torch_goes_behind_the_imports_a_file_starts_with() -> None:
    new = gated("import os\nfrom sys import path\nos.environ['A'] = str(1)\nimport json\n")
    assert new.startswith("import os\nfrom sys import path\n\n\ndef _is_rocm():\n")
    assert new.index("IS_ROCM = _is_rocm()") < new.index("os.environ")


def test_an_existing_gate_is_used() -> None:
    for text in ("import torch\nIS_ROCM = probe()\nx = 1\n", "from pkg import IS_ROCM\nimport torch\nx = 1\n"):
        new = gated(text)
        assert new.count("hasattr") == 0


def test_edits_without_the_gate_need_none() -> None:
    module = python_module(source_file("a.py", b"x = 1\n"))
    assert module is not None
    assert gate_edits(module, [Edit(Span(4, 5), b"2")]) == ()


def test_a_setup_py_that_looks_for_torch_before_it_imports_it() -> None:
    text = (
        b"import importlib.util\n"
        b"if importlib.util.find_spec('torch') is None:\n"
        b"    raise ImportError('torch first')\n"
        b"else:\n"
        b"    import torch\n"
        b"from torch.utils.cpp_extension import CUDA_HOME\n"
        b"flags = ['-O3'] if CUDA_HOME else []\n"
    )
    module = python_module(source_file("setup.py", text))
    assert module is not None
    at = text.index(b"CUDA_HOME else")
    (edit,) = gate_edits(module, [Edit(Span(at, at), b"IS_ROCM or ")])
    assert b"import torch" not in edit.text  # it is bound, and a second import is no part of the original
    assert text[: edit.span.start].endswith(b"CUDA_HOME\n")
