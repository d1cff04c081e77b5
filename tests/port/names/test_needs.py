"""What a file needs beside renamed names: functions HIP lacks, headers nvcc brings in, the compatibility header."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.discover import discover
from kernel_pytorch.port.hipify.file import HipifiedFile, HipifyOptions, hipify_file
from kernel_pytorch.port.layouts.gates import GATE
from kernel_pytorch.port.names.compat_header import compat_header
from kernel_pytorch.port.names.shims import mixes_signs
from kernel_pytorch.port.names.table import all_names, header_rows, torch_gaps
from kernel_pytorch.port.project import PortOptions, port_project


def translated(text: str, layout: str = "copy", *others: tuple[str, str]) -> HipifiedFile:
    files = [cxx_file(name, data.encode()) for name, data in (("main.cu", text), *others)]
    return hipify_file(files[0], Unit(tuple(files)), HipifyOptions(layout, rules=()))


def test_error_text_in_device_code_gets_an_overload() -> None:
    device = '__device__ void report(cudaError_t e) { printf("%s", cudaGetErrorString(e)); }\n'
    assert b"KPT_SHIM_HIPGETERRORSTRING_DEVICE" in translated(device).after
    assert b"KPT_SHIM" not in translated(device.replace("__device__ ", "")).after


@pytest.mark.parametrize(
    ("call", "mixed"),
    [
        ("min(n - 1, i + u * blockDim.x)", True),
        ("max(threadIdx.x, 0)", True),
        ("min(f(a, b), 3u)", True),
        ("min(blockDim.x, gridDim.x)", False),
        ("min(a, b)", False),
        ("std::min(a, 3u)", False),
        ("x.min(a, 3u)", False),
        ("min(a, b", False),
    ],
)
def test_min_of_int_and_unsigned(call: str, mixed: bool) -> None:
    text = f"__global__ void k(int n) {{ int x = {call}; }}\n"
    assert mixes_signs(text.encode()) == mixed
    assert (b"KPT_SHIM_MIN_MIXED" in translated(text).after) == mixed


def test_a_template_stands_beside_the_projects_own_overload() -> None:
    own = "struct V { int x; };\n__device__ void __stcs(V* p, V v) { *p = v; }\n"
    text = '#include "own.h"\n__global__ void k(float* p) { __stcs(p, 1.0f); }\n'
    after = translated(text, "copy", ("own.h", own)).after
    assert b"KPT_SHIM_STCS" in after and b"__stcs(p, 1.0f)" in after


def test_c_headers_come_before_the_projects_own() -> None:
    header = "template <typename T> bool good(T x) { return isfinite(x); }\n"
    text = '#include <cuda_runtime.h>\n#include "check.h"\n#include <math.h>\n__global__ void k() {}\n'
    after = translated(text, "copy", ("check.h", header)).after
    assert after.index(b"#include <math.h>") < after.index(b'"check.h"')
    assert after.count(b"#include <math.h>") == 2
    early = text.replace("#include <math.h>\n", "").replace(
        '#include "check.h"', '#include <cmath>\n#include "check.h"'
    )
    assert translated(early, "copy", ("check.h", header)).after.count(b"math.h") == 1
    other = early.replace("math.h", "cmath")
    assert b"#include <math.h>" in translated(other, "copy", ("check.h", header)).after


def test_single_source_without_an_include_gets_the_header() -> None:
    text = "__global__ void k(int* p) { memset(p, 0, 4); }\nvoid f(int* p) { cudaFree(p); }\n"
    result = translated(text, "single-source")
    gate = b"#if defined(USE_ROCM) || defined(__HIP_PLATFORM_AMD__)\n"
    assert result.after == gate + b'#include "kpt_hip_compat.h"\n#endif\n' + text.encode()
    again = cxx_file("main.cu", result.after)
    assert hipify_file(again, None, HipifyOptions("single-source", rules=())).after == result.after
    header = compat_header([result.needs])
    assert "#include <string.h>" in header and "#define cudaFree hipFree" in header


def test_single_source_header_has_what_an_include_stood_for() -> None:
    text = "#include <cooperative_groups/reduce.h>\n__global__ void k() {}\n"
    assert "KPT_SHIM_CG_REDUCE" in compat_header([translated(text, "single-source").needs])


def test_torch_extension_writes_what_torch_leaves_alone() -> None:
    text = "#include <cuda_runtime.h>\n#include <device_launch_parameters.h>\nvoid f(int* p) { cudaFree(p); }\n"
    after = translated(text, "torch-extension").after
    assert b"#include <hip/hip_runtime.h>\n#else\n#include <device_launch_parameters.h>\n#endif\n" in after
    assert b"#include <cuda_runtime.h>" in after and b"cudaFree(p)" in after and b"hipFree" not in after


def test_gaps_are_names_of_the_table() -> None:
    mapped = {name.cuda for name in all_names() if name.hip} | {name for name, row in header_rows().items() if row.hip}
    assert torch_gaps() <= mapped
    assert not {"cudaMalloc", "cuda_runtime.h", "cublasSgemm"} & torch_gaps()


def test_names_that_rocm_never_sees_are_not_reported() -> None:
    guarded = "#if defined(CUBLAS_VERSION) && CUBLAS_VERSION >= 11000\nint f() { return cublasLtMatmulDescInit(0); }\n"
    guarded += "#endif\n"
    assert not translated(guarded).findings
    old = guarded.replace(">= 11000", "< 11000").replace("defined(CUBLAS_VERSION) && ", "")
    assert not translated(old).findings
    newer = old.replace("CUBLAS_VERSION <", "CUDNN_VERSION <")
    assert [one.code for one in translated(newer).findings] == ["KP202"]


@pytest.mark.parametrize(
    ("condition", "is_seen"),
    [
        ("__CUDA_ARCH__ >= 900", False),
        ("defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900", False),
        ("900 <= __CUDA_ARCH__", False),
        ("__CUDA_ARCH__ < 900", True),
        ("__CUDA_ARCH__ >= 700", True),  # rewritten: AMD takes it
        ("__CUDA_ARCH__ >= 900 || defined(MINE)", True),
    ],
)
def test_names_behind_a_capability_that_amd_gpus_do_not_claim_are_not_reported(condition: str, is_seen: bool) -> None:
    text = f"#if {condition}\nint x = f(cudaGraphConditionalHandleCreate);\n#else\nint x = 1;\n#endif\n"
    assert ("KP202" in {one.code for one in translated(text).findings}) is is_seen


def test_a_name_that_a_rule_replaced_is_not_reported() -> None:
    text = "void f(cublasLtMatmulDesc_t d, int8_t x) {\n"
    text += "  cublasLtMatmulDescSetAttribute(d, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &x, sizeof(x));\n}\n"
    source = cxx_file("main.cu", text.encode())
    assert [one.code for one in hipify_file(source).findings] == ["KP270"]
    assert [one.code for one in translated(text).findings] == ["KP202"]


def test_a_type_of_one_source_is_unknown_to_the_next() -> None:
    other = "typedef void* cudaStream_t;\nvoid cudaFree(void* p) {}\nvoid g(cudaStream_t s) {}\n"
    text = "void f(cudaStream_t s, int* p) { cudaFree(p); }\n"
    after = translated(text, "copy", ("other.cpp", other)).after
    assert b"f(hipStream_t s" in after and b"cudaFree(p)" in after
    assert b"f(cudaStream_t s" in translated(text, "copy", ("other.h", other)).after
    assert b"f(cudaStream_t s" in translated(f'#include "other.cpp"\n{text}', "copy", ("other.cpp", other)).after
    own = translated(other, "copy", ("next.cu", text)).after
    assert b"g(cudaStream_t s)" in own and b"hipStream_t" not in own


@pytest.mark.parametrize(
    ("text", "needs_half"),
    [
        ("__global__ void k(__half* p, __half v) { atomicAdd(p, v); }\n", True),
        # What an earlier port put behind its gate says nothing about the CUDA code.
        (
            "__global__ void k(float* p, unsigned x) {\n"
            "#ifdef USE_ROCM\n  x = __builtin_bit_cast(unsigned, __half2{});\n#endif\n  atomicAdd(p, x);\n}\n",
            False,
        ),
        ("// half of them\n__global__ void k(int* p, int v) { atomicAdd(p, v); }\n", False),
        ("__global__ void k(__half* h, int* p) { *h = h[1]; atomicAdd(&p[f(0, 1)], 1u); }\n", False),
        ("#ifndef USE_ROCM\n__device__ void k(__half* p, __half v) { atomicAdd(p, v); }\n#endif\n", False),
    ],
)
def test_an_overload_is_given_for_code_that_rocm_compiles(text: str, needs_half: bool) -> None:
    assert (b"KPT_SHIM_ATOMICADD_HALF" in translated(text).after) == needs_half


def test_what_rocm_leaves_out_needs_no_shim() -> None:
    text = "#if !defined(USE_ROCM) && (__CUDA_ARCH__ >= 600)\n#define ADD(p, v) atomicAdd_block(p, v)\n#endif\n"
    assert b"KPT_SHIM" not in translated(text, "torch-extension").after
    assert not mixes_signs(b"__device__ int f(int a) { return max(a, g(a, 16u)); }")


@pytest.mark.parametrize(
    "guard", ["#pragma once\n", "#ifndef SUM_H\n#define SUM_H\n", "#ifndef SUM_H\r\n#define SUM_H\r\n"]
)
def test_what_a_header_is_given_stands_behind_its_guard(guard: str) -> None:
    text = f"// A header.\n\n{guard}__device__ void add(int* p) {{ atomicAdd_block(p, 1); }}\n"
    after = translated(text, "torch-extension").after
    assert after.startswith(f"// A header.\n\n{guard}".encode()) and b"KPT_SHIM_ATOMICADD_BLOCK" in after


def test_an_extension_gets_one_header_for_each_folder(tmp_path: Path) -> None:
    call = "__global__ void k(int* p) { atomicAdd_block(p, 1); }\n"
    (tmp_path / "csrc/other").mkdir(parents=True)
    (tmp_path / "setup.py").write_text("from torch.utils.cpp_extension import CUDAExtension\n")
    for name, text in (("csrc/a.cu", call), ("csrc/b.cu", call), ("csrc/other/c.cu", call.replace("Add", "Max"))):
        (tmp_path / name).write_text(text)
    options = PortOptions("torch-extension")
    patches = {patch.path: patch for patch in port_project(discover(tmp_path), options, 1).patches}
    assert set(patches) == {
        "csrc/a.cu",
        "csrc/b.cu",
        "csrc/kpt_hip_compat.h",
        "csrc/other/c.cu",
        "csrc/other/kpt_hip_compat.h",
    }
    assert patches["csrc/a.cu"].after.startswith(GATE + b'\n#include "kpt_hip_compat.h"\n#endif\n')
    header = patches["csrc/kpt_hip_compat.h"].after
    assert (
        b"#if defined(__HIPCC__) && !defined(KPT_SHIM_ATOMICADD_BLOCK)" in header and b"atomicMax_block" not in header
    )
    for patch in patches.values():
        (tmp_path / patch.path).write_bytes(patch.after)
    assert port_project(discover(tmp_path), options, 1).patches == ()
    (tmp_path / "csrc/b.cu").write_bytes(
        patches["csrc/b.cu"].after + call.replace("Add", "Or").replace("void k", "void m").encode()
    )
    again = {patch.path: patch.after for patch in port_project(discover(tmp_path), options, 1).patches}
    assert set(again) == {"csrc/kpt_hip_compat.h"}
    assert (
        b"KPT_SHIM_ATOMICADD_BLOCK" in again["csrc/kpt_hip_compat.h"]
        and b"atomicOr_block" in again["csrc/kpt_hip_compat.h"]
    )


def test_cub_beyond_what_torch_renames() -> None:
    text = "#include <cub/cub.cuh>\n#include <cub/block/block_radix_rank.cuh>\ncub::DoubleBuffer<int> keys;\n"
    after = translated(text, "torch-extension").after
    assert b"namespace cub = hipcub;" in after and b"#include <cub/cub.cuh>\n#if" in after
    assert GATE + b"\n#include <hipcub/hipcub.hpp>\n#else\n#include <cub/block/block_radix_rank.cuh>\n#endif\n" in after
    known = translated("#include <cub/cub.cuh>\nusing R = cub::BlockReduce<int, 64>;\n", "torch-extension").after
    assert b"hipcub" not in known
