"""The table of layouts: one function each, and the facts that others ask for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.port.layouts import LAYOUTS, layout_named

SOURCE = Path(__file__).parents[3] / "src" / "kernel_pytorch"
TEXT = b"#include <cuda_runtime.h>\nvoid f(void** p) { cudaMalloc(p, 1); }\n"


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_writes_twins_or_keeps_the_original(name: str) -> None:
    after = hipify_file(cxx_file("a.cu", TEXT), None, HipifyOptions(name)).after
    layout = layout_named(name)
    assert (b"hipMalloc" in after) == layout.writes_twins
    assert (b"cudaMalloc" in after) == (not layout.writes_twins)
    assert layout.written_name("x/a.cu") == ("x/a.hip" if layout.writes_twins else "x/a.cu")
    assert layout.written_name("x/a.cuh") == "x/a.cuh"


def test_an_unknown_layout_is_named() -> None:
    with pytest.raises(UsageError, match="'twins' is not known: expected one of copy, single-source, torch-extension"):
        HipifyOptions("twins")


def test_what_a_handle_points_at_is_renamed_where_no_header_of_ours_may_come_before() -> None:
    """`#include "lib.h"` before any header of CUDA's: what lib.h says of a stream must be HIP's stream later."""
    header = b"typedef struct CUstream_st* Stream;\nint run(Stream stream);\n"
    after = hipify_file(cxx_file("lib.h", header), None, HipifyOptions("single-source")).after
    assert b"\ntypedef struct ihipStream_t* Stream;\n#else\ntypedef struct CUstream_st* Stream;\n#endif\n" in after
    assert hipify_file(cxx_file("lib.h", after), None, HipifyOptions("single-source")).after == after


def test_nobody_compares_the_name_of_a_layout() -> None:
    names = "|".join(map(re.escape, LAYOUTS))
    compared = re.compile(rf'layout\w*\s*(?:==|!=)\s*"(?:{names})"|"(?:{names})"\s*(?:==|!=)')
    found = [path.name for path in SOURCE.rglob("*.py") if compared.search(path.read_text(encoding="utf-8"))]
    assert found == []
