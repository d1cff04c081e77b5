"""The comparison of two readings of broken code."""

from __future__ import annotations

import pytest

from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.reparse import is_read_alike
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.edits import EditSet

# A macro without a semicolon in front of a function: the parser does not understand it.
BROKEN = b"""#include <cuda.h>
int first() { return cudaFree(0); }
MACRO(a, b) other() ) {
int second() { return cudaFree(1); }
"""


def alike(data: bytes, *edits: tuple[bytes, bytes]) -> bool:
    made = EditSet()
    for old, new in edits:
        start = data.index(old)
        assert made.add([Edit(Span(start, start + len(old)), new)])
    before, after = cxx_file("a.cu", data), cxx_file("a.cu", made.apply(data))
    assert before.tree.root_node.has_error
    return is_read_alike(before.tree.root_node, after.tree.root_node, made)


@pytest.mark.parametrize(
    "edits",
    [
        [(b"cudaFree(0)", b"hipFree(0)")],
        [(b"cuda.h", b"hip/hip_runtime.h"), (b"cudaFree(1)", b"hipFree(1)")],
        [(b"#include", b"#include <hip/hip_runtime.h>\nstatic int added() { return 3; }\n#include")],
        [(b"return cudaFree(0);", b"")],
    ],
)
def test_a_rename_or_an_addition_beside_the_error_is_read_alike(edits: list[tuple[bytes, bytes]]) -> None:
    assert alike(BROKEN, *edits)


@pytest.mark.parametrize(
    "edits",
    [
        [(b" ) {\n", b" ;\n")],  # the error is gone
        [(b"return cudaFree(0); }", b"return cudaFree(0);")],  # a new one reaches to the end
        [(b"first() {", b"first() ) {")],
    ],
)
def test_an_edit_that_changes_what_is_an_error_is_not(edits: list[tuple[bytes, bytes]]) -> None:
    assert not alike(BROKEN, *edits)
