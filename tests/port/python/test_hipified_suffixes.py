"""hipify is told to read headers whatever they are called: before the first extension is made, on ROCm, once."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from kernel_pytorch.jobs.install_patches import proven_patch
from kernel_pytorch.port.python.hipified_suffixes import HEADERS, READ, unread_suffixes, with_suffixes
from kernel_pytorch.port.python.module import PythonModule, python_module
from kernel_pytorch.port.source import source_file

SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

NAME = "p"


def extensions():
    return [CUDAExtension("p._C", ["k.cu"])]


setup(name=NAME, ext_modules=extensions(), cmdclass={"build_ext": BuildExtension})
"""


def _module(text: str) -> PythonModule:
    module = python_module(source_file("setup.py", text.encode()))
    assert module is not None
    return module


def _ported(folder: Path, text: str) -> bytes:
    (folder / "setup.py").write_bytes(text.encode())
    edits = with_suffixes(_module(text), (".inl",))
    patch = proven_patch(folder, (), "setup.py", edits, "KP821")
    assert patch is not None
    return patch.after


def test_ends_that_hipify_does_not_read_by_itself() -> None:
    headers = ("a/one.inl", "two.cuh", "three.inc", "four", "a.b/five.inl", "six.h", "odd.x-y")
    assert unread_suffixes(headers) == (".inc", ".inl")


def test_the_ends_that_we_repeat_are_torchs() -> None:
    hipify = pytest.importorskip("torch.utils.hipify.hipify_python").hipify
    parameters = inspect.signature(hipify).parameters
    assert (parameters["extensions"].default, parameters["header_extensions"].default) == (READ, HEADERS)


def test_it_stands_before_the_first_statement_that_makes_an_extension(tmp_path: Path) -> None:
    after = _ported(tmp_path, SETUP)
    kinds = [type(one).__name__ for one in ast.parse(after).body]
    assert kinds == ["ImportFrom", "ImportFrom", "Import", "Assign", "Assign", "If", "FunctionDef", "Expr"]
    assert b'".inl"' in after


def test_the_gate_is_defined_before_it_is_asked(tmp_path: Path) -> None:
    """An extension straight below the imports: definition and use go to the same place."""
    text = "import torch\nfrom torch.utils.cpp_extension import load\n_C = load(name='c', sources=['k.cu'])\n"
    after = _ported(tmp_path, text)
    assert after.index(b"IS_ROCM = ") < after.index(b"if IS_ROCM:")


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    assert with_suffixes(_module(_ported(tmp_path, SETUP).decode()), (".inl",)) == ()


def test_no_extension_by_its_name_no_edit() -> None:
    assert with_suffixes(_module("from setuptools import setup\nsetup(name='p')\n"), (".inl",)) == ()


def test_line_ends_are_the_files_own(tmp_path: Path) -> None:
    assert b"\n" not in _ported(tmp_path, SETUP.replace("\n", "\r\n")).replace(b"\r\n", b"")
