"""CUDA source in Python strings: findings stand at the lines of the Python file, and nothing is rewritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Safety
from kernel_pytorch.port.project import PortOptions, port_plain_file
from kernel_pytorch.port.python.kernel_strings import kernel_strings
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.source import SourceFile

INLINE = b"""from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include <cuda_fp16.h>
__global__ void sum(float* x, float* out) {
    float v = x[threadIdx.x];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
    if (threadIdx.x == 0) *out = v;
}
'''
module = load_inline("sum", "", cuda_sources=SOURCE)
"""


def findings(data: bytes) -> list[tuple[int, str]]:
    result = port_plain_file(SourceFile("a.py", data, "python"), PortOptions())
    assert result.patch is None or result.patch.after.count(b"__shfl") == data.count(b"__shfl")
    return [(one.line, one.code) for one in result.findings]


def test_a_kernel_for_load_inline_is_read_at_its_lines() -> None:
    assert findings(INLINE) == [(7, "KP301"), (7, "KP310")]
    result = port_plain_file(SourceFile("a.py", INLINE, "python"), PortOptions())
    assert {one.safety for one in result.findings} == {Safety.MANUAL} and result.patch is None
    assert "write `, 32`" in result.findings[1].message and "in a string" in result.findings[1].message


def test_names_that_nothing_translates_are_said_where_torch_does_not_build() -> None:
    # torch's build renames cuda_fp16.h, cupy does not.
    by_cupy = INLINE.replace(b"from torch.utils.cpp_extension import load_inline", b"import cupy").replace(
        b'load_inline("sum", "", cuda_sources=SOURCE)', b"cupy.RawModule(code=SOURCE)"
    )
    result = port_plain_file(SourceFile("a.py", by_cupy, "python"), PortOptions(select=("KP514",)))
    messages = [one.message for one in result.findings]
    assert any("cuda_fp16.h is hip/hip_fp16.h" in one for one in messages)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x = '''\n__global__ void k(int* a) {\n}\n'''\n", (1, 2, 3, 4)),
        ("x = (\n    '__global__ void k(int* a) {\\n'\n    '  *a = 1;\\n'\n    '}'\n)\n", (2, 3, 4)),
        ("x = '__global__ void k(int* a) {\\n *a = 1;\\n}'\n", (1, 1, 1)),
        ("n = 4\nx = f'''\n__global__ void k({n}* a) {{\n}}\n'''\n", (2, 3, 4, 5)),
    ],
)
def test_each_line_of_the_text_has_its_line_of_the_file(text: str, lines: tuple[int, ...]) -> None:
    module = python_module(SourceFile("a.py", text.encode(), "python"))
    assert module is not None
    assert [one.lines for one in kernel_strings(module)] == [lines]


@pytest.mark.parametrize(
    "text",
    [
        '"""__global__ void k(int* a) { }"""\n',
        'def f():\n    """__global__ void k(int* a) { }"""\n',
        'mark = "__global__"\nprint("no __device__ function (yet)")\n',
        'if torch.version.hip is None:\n    x = "__global__ void k(int* a) { }"\n',
    ],
)
def test_docstrings_messages_and_what_rocm_does_not_reach_are_no_kernels(text: str) -> None:
    module = python_module(SourceFile("a.py", b"import torch\n" + text.encode(), "python"))
    assert module is not None
    assert list(kernel_strings(module)) == []


def test_a_code_that_is_not_asked_for_is_not_said() -> None:
    result = port_plain_file(SourceFile("a.py", INLINE, "python"), PortOptions(ignore=("KP31",)))
    assert [one.code for one in result.findings] == ["KP301"]


def test_the_whole_project_has_the_findings(tmp_path: Path) -> None:
    from kernel_pytorch.jobs.scan import scan

    (tmp_path / "ops.py").write_bytes(INLINE.replace(b"\n", b"\r\n"))
    assert [(one.line, one.code) for one in scan(tmp_path, workers=1).findings] == [(7, "KP301"), (7, "KP310")]


NVRTC = b"""#include <nvrtc.h>
// __global__ void not_this(int) { }
#define QUOTE "a"
const char* raw = R"x(
extern "C" __global__ void k(float* v) {
  *v = __shfl_sync(0xffffffff, *v, 0);
})x";
static const char* parts = "#define N 4\\n"
    "extern \\"C\\" __global__ void k(float* v) {\\n"
    "  *v = __shfl_sync(0xffffffff, *v, 0);\\n"
    "}\\n";
#if 0
const char* never = "__global__ void k(float* v) { *v = __shfl_sync(0xffffffff, *v, 0); }";
#endif
const char* message = "no __global__ function (yet)";
"""


def test_kernels_for_nvrtc_in_strings_of_cpp_are_read_at_their_lines(tmp_path: Path) -> None:
    from kernel_pytorch.jobs.scan import scan

    (tmp_path / "a.cpp").write_bytes(NVRTC)
    found = scan(tmp_path, select=("KP3",), workers=1).findings
    assert [(one.line, one.code) for one in found] == [(6, "KP301"), (6, "KP310"), (10, "KP301"), (10, "KP310")]
    assert all(not one.edits for one in found)
