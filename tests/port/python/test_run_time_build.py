"""`load` with more include folders on ROCm: every form of call, proven, or left as it is."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.python.rewrite import gate_edits
from kernel_pytorch.port.python.run_time_build import with_include_folders
from kernel_pytorch.port.source import source_file
from kernel_pytorch.verify.isolation import compare_file

HEAD = b"import os\nfrom torch.utils.cpp_extension import load\n"
HERE = b"os.path.dirname(os.path.abspath(__file__))"


def _written(text: bytes) -> bytes | None:
    module = python_module(source_file("ops.py", text))
    assert module is not None
    edits = with_include_folders(module, text.count(b"\n"), (".",))
    if not edits:
        return None
    every = EditSet()
    every.add([*edits, *gate_edits(module, edits)])
    return every.apply(text)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (b"load('x', ['k.cu'])", b"load('x', ['k.cu'], **({\"extra_include_paths\": [HERE]} if IS_ROCM else {}))"),
        (
            b"load(name='x', sources=s, extra_include_paths=None)",
            b"load(name='x', sources=s, extra_include_paths=[HERE] if IS_ROCM else None)",
        ),
        (
            b"load('x', s, extra_include_paths=['a'] + more)",
            b"load('x', s, extra_include_paths=[*(['a'] + more), HERE] if IS_ROCM else ['a'] + more)",
        ),
        (
            b"load('x', s, [], [], [], found)",
            b"load('x', s, [], [], [], [*found, HERE] if IS_ROCM else found)",
        ),
    ],
)
def test_the_folder_is_added_on_rocm(call: bytes, expected: bytes) -> None:
    before = HEAD + call + b"\n"
    after = _written(before)
    assert after is not None
    assert expected.replace(b"HERE", HERE) in after
    assert compare_file("ops.py", before, after).is_proven


@pytest.mark.parametrize("call", [b"load('x', s, **options)", b"load(*words)", b"other('x', s)"])
def test_a_call_that_cannot_be_read_stays(call: bytes) -> None:
    assert _written(HEAD + call + b"\n") is None


def test_a_module_without_os_brings_it_along() -> None:
    before = b"from torch.utils.cpp_extension import load\nload('x', ['k.cu'])\n"
    after = _written(before)
    assert after is not None
    assert b'__import__("os").path.abspath(__file__)' in after
    assert compare_file("ops.py", before, after).is_proven


def test_arguments_for_nvidia_in_a_dictionary_are_not_taken_for_none() -> None:
    before = b"f(a)\n"
    gate = b"import torch\nIS_ROCM = torch.version.hip is not None\n"
    assert not compare_file("x.py", before, gate + b'f(a, **({} if IS_ROCM else {"b": 1}))\n').is_proven


@pytest.mark.parametrize("call", [b"load('x', ['k.cu'])", b"load('x', ['k.cu'], extra_include_paths=['a'])"])
def test_a_folder_more_goes_into_the_same_list(call: bytes) -> None:
    before = HEAD + call + b"\n"
    once = _written(before)
    assert once is not None
    twice = _written(once)
    assert twice is not None
    assert twice.count(HERE) == 2 and twice.count(b"IS_ROCM else") == 1
    assert compare_file("ops.py", before, twice).is_proven


def test_the_same_call_in_another_branch_gets_the_folders_too() -> None:
    text = (
        b"import os\n"
        b"from torch.utils.cpp_extension import load\n"
        b"if os.path.exists('build'):\n"
        b"    ops = load('ops', ['ops.cu'])\n"
        b"else:\n"
        b"    ops = load('ops', ['ops.cu'])\n"
        b"other = load('other', ['other.cu'])\n"
    )
    module = python_module(source_file("ops.py", text))
    assert module is not None
    edits = with_include_folders(module, 6, (".",))
    assert [text.count(b"\n", 0, edit.span.start) + 1 for edit in edits] == [4, 6]
