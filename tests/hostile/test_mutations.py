"""Damaged CUDA and Python files: no exception, no hang, no rule that fails, and a second run changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Edit, Finding, Patch, Span
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.port.project import PortOptions, port_plain_file, port_project
from kernel_pytorch.port.source import source_file
from kernel_pytorch.verify.isolation import Isolation, compare_file
from tests.hostile.mutations import mutated, no_hang, seeds

CUDA = seeds(".cu", ".cuh", ".h", ".cpp")
PYTHON = seeds(".py")
LAYOUTS = ("copy", "single-source", "torch-extension")


def no_fault(findings: Iterable[Finding], name: str) -> None:
    assert not [str(one) for one in findings if "fault of kpt" in one.message], name


def check_cuda(name: str, data: bytes, layout: str) -> None:
    options = HipifyOptions(layout)
    with no_hang():
        once = hipify_file(cxx_file("f.cu", data), None, options)
    no_fault(once.findings, name)
    again = hipify_file(cxx_file("f.hip" if layout == "copy" else "f.cu", once.after), None, options)
    assert again.after == once.after, f"{name} in layout {layout}"


def check_python(name: str, data: bytes) -> None:
    for unsafe in (False, True):
        options = PortOptions(unsafe=unsafe)
        with no_hang():
            once = port_plain_file(source_file("f.py", data), options)
        no_fault(once.findings, name)
        if once.patch is not None:
            proof = compare_file("f.py", data, once.patch.after)  # a file that is not proven is left as it was
            assert proof.verdict is Isolation.PROVEN or proof.reason == "nested too deeply to compare", (
                f"{name}: {proof}"
            )
            assert port_plain_file(source_file("f.py", once.patch.after), options).patch is None, name


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_few_cuda_files(layout: str) -> None:
    for name, data in mutated(25, CUDA, LAYOUTS.index(layout) * 1_000):
        check_cuda(name, data, layout)


def test_a_few_python_files() -> None:
    for name, data in mutated(60, PYTHON, 5_000):
        check_python(name, data)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_five_hundred_cuda_files(layout: str, part: int) -> None:
    for name, data in mutated(50, CUDA, part * 50):
        check_cuda(name, data, layout)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(5))
def test_five_hundred_python_files(part: int) -> None:
    for name, data in mutated(100, PYTHON, part * 100):
        check_python(name, data)


# What earlier runs found, each by its number: these stay fixed.
@pytest.mark.parametrize("number", [7, 146, 159, 1000, 1111])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_broken_code_that_reads_otherwise_after_an_edit(number: int, layout: str) -> None:
    ((name, data),) = mutated(1, CUDA, number)
    check_cuda(name, data, layout)


@pytest.mark.parametrize("first", [0, 40])
def test_a_project_of_damaged_files_is_ported_once(first: int, tmp_path: Path) -> None:
    """What --write would write is what the next run finds nothing to do in, and every patch is proven."""
    files = [*mutated(20, CUDA, first), *mutated(20, PYTHON, first)]
    for number, (name, data) in enumerate(files):
        (tmp_path / f"f{number}{Path(name.partition('#')[0]).suffix}").write_bytes(data)
    done = port_project(discover(tmp_path), PortOptions(), 1)
    no_fault(done.findings, "project")
    applied = [patch for patch in done.patches if _is_proven(patch)]
    for patch in applied:
        (tmp_path / patch.path).write_bytes(patch.after)
    again = port_project(discover(tmp_path), PortOptions(), 1)
    refused = {patch.path for patch in done.patches if not _is_proven(patch)}
    assert [patch.path for patch in again.patches if patch.path not in refused] == []


def _is_proven(patch: Patch) -> bool:
    if patch.before is None:
        return True
    return compare_file(patch.path, patch.before, patch.after).verdict in (Isolation.PROVEN, Isolation.IDENTICAL)


LANES = b"#include <cub/cub.cuh>\n__global__ void k(int *x) { x[cub::LaneId()] = 1; }\n"


@pytest.mark.parametrize(
    ("layout", "written"), [("copy", b"(hipcub::LaneId() & 31)"), ("single-source", b"(cub::LaneId() & 31)")]
)
def test_a_lane_edit_and_a_name_edit_compose(layout: str, written: bytes) -> None:
    options = HipifyOptions(layout)
    done = hipify_file(cxx_file("f.cu", LANES), None, options)
    assert written in done.after
    assert hipify_file(cxx_file("f.hip" if layout == "copy" else "f.cu", done.after), None, options).after == done.after


def edited(data: bytes, *groups: tuple[tuple[int, int, bytes], ...]) -> tuple[bytes, list[bool]]:
    edits = EditSet()
    taken = [edits.add([Edit(Span(start, end), text) for start, end, text in group]) for group in groups]
    return edits.apply(data), taken


def test_an_insertion_at_either_end_of_a_span_stays() -> None:
    around = ((2, 2, b"("), (6, 6, b")"))
    name = ((2, 4, b"XX"),)
    for groups in ((around, name), (name, around)):
        assert edited(b"a bcde f", *groups) == (b"a (XXde) f", [True, True])
    whole = ((2, 6, b"YY"),)
    for groups in ((around, whole), (whole, around)):
        assert edited(b"a bcde f", *groups) == (b"a (YY) f", [True, True])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (((2, 6, b"x"),), ((4, 4, b"y"),)),
        (((4, 4, b"y"),), ((2, 6, b"x"),)),
        (((2, 5, b"x"),), ((4, 7, b"y"),)),
        (((4, 7, b"y"),), ((2, 5, b"x"),)),
        (((2, 7, b"x"),), ((3, 4, b"y"),)),
        (((3, 4, b"y"),), ((2, 7, b"x"),)),
    ],
)
def test_edits_of_the_same_bytes_do_not_compose(
    first: tuple[tuple[int, int, bytes], ...], second: tuple[tuple[int, int, bytes], ...]
) -> None:
    assert edited(b"abcdefgh", first, second)[1] == [True, False]
