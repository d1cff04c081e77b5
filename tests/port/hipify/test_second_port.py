"""A second port of what the first one wrote changes nothing. Each case was found in damaged or public files."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file

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
CASES = {
    "a name declared after a type of HIP's": OWN_NAME,
    "values by position": BY_POSITION,
    "a renamed name in a condition": RENAMED_IN_CONDITION,
    "copies that are committed": COMMITTED,
    "copies that are waited for": WAITED_FOR,
    "a pragma with a number": UNROLLED,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("source", CASES.values(), ids=CASES)
def test_nothing_is_left_to_change(source: bytes, layout: str) -> None:
    options = HipifyOptions(layout)
    once = hipify_file(cxx_file("f.cu", source), None, options).after
    again = hipify_file(cxx_file("f.hip" if layout == "copy" else "f.cu", once), None, options)
    assert again.after == once
