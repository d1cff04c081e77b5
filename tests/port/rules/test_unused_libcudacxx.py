"""KP234 leaves out a header of libcu++ that a source file does not use."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.rules.cuda.kp234_libcudacxx import check

INCLUDE = b"#include <cuda/annotated_ptr>\n"


@pytest.mark.parametrize(
    ("path", "code", "is_left_out"),
    [
        ("a.cu", b"int n() { return at::cuda::warp_size(); }", True),
        ("a.cu", b"__global__ void k() { cuda::annotated_ptr<int, cuda::access_property::global> p; }", False),
        ("a.cu", b"using namespace cuda;", False),
        ("a.cuh", b"int n();", False),
    ],
)
def test_unused_header(path: str, code: bytes, is_left_out: bool) -> None:
    (finding,) = check(cxx_file(path, INCLUDE + code + b"\n"))
    assert bool(finding.edits) is is_left_out
