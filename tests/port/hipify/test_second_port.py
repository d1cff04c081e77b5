"""A second port of what the first one wrote changes nothing. Each case was found in damaged or public files."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file
from kernel_pytorch.verify.isolation import Isolation, compare_file

LAYOUTS = ("copy", "single-source", "torch-extension")

OWN_NAME = b"CUstream_st *CUstream;\nvoid f() { use(CUstream); }\n"
BY_POSITION = b"void f(void *m) {\n  cudaMemsetParams set = {m, 0, 1, 4, 256, 1};\n  g(&set);\n}\n"
RENAMED_IN_CONDITION = b"#ifdef cuDeviceGetUuid_v2\nint a;\n#endif\n"
COPIES_BEHIND_A_SWITCH = b"""#if (__CUDACC_VER_MAJOR__ > 11)
#define FAST_COPIES
#endif
__device__ void done() {
#ifdef FAST_COPIES
  asm volatile("cp.async.%s;\\n" ::%s);
#endif
}
"""
COMMITTED = COPIES_BEHIND_A_SWITCH % (b"commit_group", b"")
WAITED_FOR = COPIES_BEHIND_A_SWITCH % (b"wait_group %0", b' "n"(1)')
UNROLLED = b"""template <int STEPS> __global__ void k(unsigned *out) {
  unsigned left[STEPS][4];
#pragma unroll
  for (int k = 0; k < STEPS; k++) {
    for (int i = 0; i < 4; i++) asm("mma.sync.aligned;" : "=r"(left[k][i]));
  }
}
"""
OLD_COMPILER = b"#if defined(__CUDACC__) && __CUDACC_VER_MAJOR__ < 8\nint v = __CUDACC_VER_MAJOR__;\n#endif\n"
COMPILED_AT_RUN_TIME = b"#ifdef __CUDACC_RTC__\nint a;\n#endif\n"
MACRO_ALONE = b"#define ADD(x) __vadd4(x, x)\n"
RETURN_IN_THE_MIDDLE = b"""const char *f(int status) {
  switch (status) {
    case 0: return "";
    case CUFFT_NVRTC_FAILURE: m return "";
    case CUFFT_NVJITLINK_FAILURE: return "";
  }
}
"""
CASES = {
    "a name declared after a type of HIP's": OWN_NAME,
    "values by position": BY_POSITION,
    "a renamed name in a condition": RENAMED_IN_CONDITION,
    "copies that are committed": COMMITTED,
    "copies that are waited for": WAITED_FOR,
    "a pragma with a number": UNROLLED,
    "a version behind nvcc's name": OLD_COMPILER,
    "what NVRTC compiles": COMPILED_AT_RUN_TIME,
    "a file of a macro alone": MACRO_ALONE,
    "a case that begins with something else": RETURN_IN_THE_MIDDLE,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", CASES.values(), ids=CASES)
def test_nothing_is_left_to_change(source: bytes, layout: str) -> None:
    options = HipifyOptions(layout)
    once = hipify_file(cxx_file("f.cu", source), None, options).after
    again = hipify_file(cxx_file("f.hip" if layout == "copy" else "f.cu", once), None, options)
    assert again.after == once


@pytest.mark.parametrize("condition", [b"#ifdef X", b"#ifndef X", b"#if defined(X) && N", b"#if N || !defined(X)"])
@pytest.mark.parametrize("macro", [b"__CUDACC_RTC__", b"__CUDACC__", b"__NVCC__"])
def test_a_condition_on_nvidias_compiler_is_proven(condition: bytes, macro: bytes) -> None:
    source = condition.replace(b"X", macro) + b"\nint a;\n#endif\n"
    after = hipify_file(cxx_file("f.cu", source), None, HipifyOptions("single-source")).after
    assert b"__HIPCC" in after
    assert compare_file("f.cu", source, after).verdict is Isolation.PROVEN


def test_the_one_header_gives_the_names_that_edits_write() -> None:
    source = b"bool f(cudaPointerAttributes a) { return a.type == 2; }\n"
    done = hipify_file(cxx_file("f.cu", source), None, HipifyOptions("single-source"))
    assert b"cudaMemoryTypeDevice" in done.after
    assert ("cudaMemoryTypeDevice", "hipMemoryTypeDevice") in done.needs.names
