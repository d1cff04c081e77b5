"""Translations in the copy layout: what changes, what does not, and that a second run changes nothing."""

from __future__ import annotations

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Edit, Span
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.hipify.file import HipifiedFile, HipifyOptions, hipify_file

NAMES_ONLY = HipifyOptions(rules=())


def run(text: str | bytes, path: str = "a.cu", options: HipifyOptions = NAMES_ONLY) -> HipifiedFile:
    data = text.encode() if isinstance(text, str) else text
    return hipify_file(cxx_file(path, data), None, options)


def codes(result: HipifiedFile) -> list[str]:
    return [found.code for found in result.findings]


def test_names_headers_and_launches() -> None:
    text = (
        "#include <cuda_runtime.h>\n"
        "#include <cublas_v2.h>\n"
        "__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"
        'int main() { cudaMalloc(&p, 4); k<<<1, 32>>>(p); puts("cudaFree"); /* cudaFree */ return cudaFree(p); }\n'
    )
    assert run(text).after.decode() == (
        "#include <hip/hip_runtime.h>\n"
        "#include <hipblas/hipblas.h>\n"
        "__global__ void k(float *x) { x[threadIdx.x] = 1; }\n"
        'int main() { hipMalloc(&p, 4); k<<<1, 32>>>(p); puts("cudaFree"); /* cudaFree */ return hipFree(p); }\n'
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("<cub/block/block_reduce.cuh>", "<hipcub/hipcub.hpp>"),
        ("<nccl.h>", "<rccl/rccl.h>"),
        ("<cooperative_groups.h>", "<hip/hip_cooperative_groups.h>"),
        ('"cuda_fp16.h"', '"hip/hip_fp16.h"'),
        ("<curand_kernel.h>", "<hiprand/hiprand_kernel.h>"),
        ("<thrust/device_vector.h>", "<thrust/device_vector.h>"),
        ("<device_launch_parameters.h>", "<hip/hip_runtime.h>"),
        ("<vector>", "<vector>"),
    ],
)
def test_headers(written: str, expected: str) -> None:
    assert run(f"#include {written}\n", "a.cuh").after.decode() == f"#include {expected}\n"


@pytest.mark.parametrize(
    ("header", "code"),
    [("cutlass/gemm.h", "KP233"), ("nvml.h", "KP210"), ("nvtx3/nvtx3.hpp", "KP210")],
)
def test_headers_without_counterpart_are_findings(header: str, code: str) -> None:
    result = run(f"#include <{header}>\n", "a.cuh")
    assert codes(result) == [code]
    assert not result.changed


def test_what_std_has_too_takes_the_place_of_libcudacxx() -> None:
    text = b"#include <cuda/std/array>\n#include <cuda/annotated_ptr>\n"
    result = hipify_file(cxx_file("a.cuh", text), None, HipifyOptions(rules=("KP234",)))
    assert result.after == b"#include <array>\n#include <cuda/annotated_ptr>\n"
    assert [(one.code, bool(one.edits)) for one in result.findings] == [("KP234", True), ("KP234", False)]


def test_a_project_header_of_the_same_name_is_not_mapped() -> None:
    main = cxx_file("src/main.cu", b'#include <hip/hip_runtime.h>\n#include "cuda_utils.h"\n#include "cuda.h"\n')
    own = cxx_file("src/cuda.h", b"// mine\n")
    assert not hipify_file(main, unit_of(main, own), NAMES_ONLY).changed


def test_a_name_without_counterpart_is_reported_and_stays() -> None:
    result = run("#include <cuda_runtime.h>\nint x = f(cudaGraphConditionalHandleCreate);\n")
    assert codes(result) == ["KP202"]
    assert b"cudaGraphConditionalHandleCreate" in result.after
    assert (result.translated, result.untranslated) == (1, 1)


def test_what_a_rule_defines_is_not_missing() -> None:
    """One finding of KP258 defines all intrinsics of the file: none of them is left for a person."""
    calls = "__vminu2(a, b) + __vmaxu4(a, b) + __vsadu4(a, b)"
    text = f"__device__ unsigned f(unsigned a, unsigned b) {{ return {calls}; }}\n"
    assert codes(run(text, options=HipifyOptions())) == ["KP258"]
    assert codes(run(text)) == ["KP202"] * 3  # without the rule


def test_pasted_names_are_listed() -> None:
    assert codes(run("#include <cuda_runtime.h>\n#define C(x) cuda##x\n")) == ["KP204"]


def test_other_arguments_are_reported() -> None:
    result = run("#include <cuda.h>\nint a = cuDeviceGetTexture1DLinearMaxWidth(1);\n")
    assert codes(result) == ["KP203"]
    assert b"hipDeviceGetTexture1DLinearMaxWidth" in result.after


def test_symbols_and_kernel_addresses_are_wrapped() -> None:
    text = "#include <cuda.h>\nvoid f() { cudaMemcpyToSymbol(table, p, n); cudaLaunchKernel(k<int>, g, b, a, 0, s); }\n"
    after = run(text).after
    assert b"hipMemcpyToSymbol(HIP_SYMBOL(table), p, n)" in after
    assert b"hipLaunchKernel(reinterpret_cast<const void*>(k<int>), g, b, a, 0, s)" in after
    assert (
        b"hipLaunchKernel((void*)k, g"
        in run("#include <cuda.h>\nvoid f() { cudaLaunchKernel((void*)k, g, b, a, 0, s); }\n").after
    )


def test_the_runtime_header_comes_first_where_nvcc_would_bring_it() -> None:
    assert (
        run("// licence\n__global__ void k() {}\n").after
        == b"// licence\n#include <hip/hip_runtime.h>\n__global__ void k() {}\n"
    )
    assert run("#include <cuda.h>\n__global__ void k() {}\n").after.count(b"hip_runtime") == 1
    assert b"hip_runtime" not in run("__device__ int f();\n", "a.cuh").after


def test_c_headers_that_cuda_brings_in() -> None:
    after = run("#include <cuda.h>\nvoid f(char *a) { memset(a, 0, 4); }\n").after
    assert after.startswith(b"#include <string.h>\n")
    assert b"string.h" not in run("#include <cstring>\n#include <cuda.h>\nvoid f(char *a) { memset(a, 0, 4); }\n").after


def test_assert_comes_with_cuda_and_not_with_hip() -> None:
    text = "__global__ void k(int n) { assert(n > 0); }\n"
    after = run(text).after
    assert after.startswith(b"#include <hip/hip_runtime.h>\n#include <assert.h>\n")
    assert b"assert.h" not in run("#include <cassert>\n" + text).after
    assert b"assert.h" not in run("#define assert(x)\n" + text).after
    assert b"assert.h" not in run('static_assert(sizeof(int) == 4, "");\n__global__ void k() {}\n').after
    # Where a header of the project includes it, it is there for all of the unit.
    source, header = cxx_file("k.cu", b'#include "own.h"\n' + text.encode()), cxx_file("own.h", b"#include <cassert>\n")
    assert b"assert.h" not in hipify_file(source, unit_of(source, header), NAMES_ONLY).after


def test_errors_that_hip_never_gives_keep_their_numbers() -> None:
    text = "#include <cuda_runtime.h>\nbool lost(cudaError_t e) { return e == cudaErrorMisalignedAddress; }\n"
    result = run(text)
    assert b"#define cudaErrorMisalignedAddress ((hipError_t)716)\n" in result.after and not result.findings
    # HIP has this number for another error.
    other = run(text.replace("MisalignedAddress", "ExternalDevice"))
    assert [one.code for one in other.findings] == ["KP202"]


def test_min_and_max_on_the_host_are_those_of_cuda() -> None:
    # HIP's take an int on the host: max(0.7f, 0.5f) is 0 there.
    start = "#include <cuda_runtime.h>\n"
    guard = b"KPT_SHIM_MIN_HOST"
    assert guard in run(start + "float f(float x) { return max(x, 0.5f); }\n").after
    assert guard in run(start + "#define clamp(x) (min(max((x), 0.0), 1.0))\n").after
    assert guard in run(start + "__host__ __device__ float f(float x) { return min(x, 1.0f); }\n").after
    assert guard not in run(start + "__global__ void k(float *p) { p[0] = max(p[1], 0.5f); }\n").after
    assert guard not in run(start + "float f(float x) { return std::max(x, 0.5f); }\n").after
    own = "template <class T> T max(T a, T b) { return a < b ? b : a; }\n"
    assert guard not in run(start + own + "float f(float x) { return max(x, 0.5f); }\n").after


def test_half_precision_blas_asks_for_the_half_type() -> None:
    after = run("#include <cublas_v2.h>\nvoid f() { cublasHgemm(h); }\n").after
    assert b"#define HIPBLAS_USE_HIP_HALF\n#include <hipblas/hipblas.h>" in after


def test_missing_device_functions_are_written_into_the_file() -> None:
    result = run("#include <cuda.h>\n__global__ void k(int *p) { *p = __dp4a(1, 2, 3); }\n")
    assert b"#ifndef KPT_SHIM_DP4A" in result.after
    assert not result.findings
    mine = run(
        "#include <cuda.h>\n__device__ int __dp4a(int a, int b, int c) { return c; }\nint x = __dp4a(1, 2, 3);\n"
    )
    assert b"KPT_SHIM" not in mine.after


def test_includes_of_cuda_sources_follow_the_new_name() -> None:
    main = cxx_file("main.cu", b'#include <cuda.h>\n#include "k.cu"\n')
    other = cxx_file("k.cu", b"")
    assert b'#include "k.hip"' in hipify_file(main, unit_of(main, other), NAMES_ONLY).after


def test_line_endings_byte_order_mark_and_encoding_stay() -> None:
    text = b"\xef\xbb\xbf// gr\xfc\xdfe \xff\r\n#include <cuda.h>\r\nint x = cudaFree(0);\r\n"
    assert run(text).after == text.replace(b"cuda.h", b"hip/hip_runtime.h").replace(b"cudaFree", b"hipFree")
    assert run(b"__global__ void k();\r\n").after.startswith(b"#include <hip/hip_runtime.h>\r\n")


def test_every_branch_of_the_preprocessor_is_translated() -> None:
    text = "#include <cuda.h>\n#if 0\nint a = cudaFree(0);\n#else\nint a = cudaFree(1);\n#endif\n"
    assert b"cudaFree" not in run(text).after


def test_binary_and_wide_files_are_left_alone() -> None:
    for data in (b"\x7fELF\0\0cudaMalloc", "cudaMalloc".encode("utf-16")):
        result = run(data)
        assert result.after == data
        assert codes(result) == ["KP001"]


def test_a_result_translates_to_itself() -> None:
    text = (
        '#include "b.h"\n__constant__ int c[4];\n'
        "__global__ void k(int *p) { *p = __dp4a(1, 2, 3) + __shfl_down_sync(0xffffffff, 1, 2); }\n"
        "void f() { cudaMemcpyToSymbol(c, p, n); memcpy(a, b, 3); }\n"
    )
    everything = HipifyOptions()
    once = run(text, "a.cu", everything)
    assert once.changed
    again = run(once.after, "a.hip", everything)
    assert again.after == once.after
    assert run(once.after, "a.cu", everything).after == once.after


def test_hip_is_recognised() -> None:
    text = "#include <hip/hip_runtime.h>\n__global__ void k() {}\nint main() { hipMalloc(&p, 4); k<<<1, 1>>>(); }\n"
    assert not run(text, options=HipifyOptions()).changed


@pytest.mark.parametrize("bad", [{"layout": "sideways"}, {"wave": "48"}])
def test_unknown_options(bad: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="expected one of"):
        HipifyOptions(**bad)  # type: ignore[arg-type]


def test_edit_groups_are_taken_whole_or_not_at_all() -> None:
    edits = EditSet()
    assert edits.add([Edit(Span(4, 8), b"X"), Edit(Span(2, 2), b"(")])
    assert not edits.add([Edit(Span(0, 1), b"Y"), Edit(Span(6, 7), b"Z")])
    assert not edits.add([Edit(Span(5, 5), b"in")])
    assert edits.add([Edit(Span(8, 8), b")")])
    assert edits.apply(b"0123456789") == b"01(23X)89"


def test_prefetch_and_advice_with_a_location_get_the_form_hip_keeps_apart() -> None:
    old = run("void f(void *p) { cudaMemPrefetchAsync(p, 4, 0); }\n").after.decode()
    new = run("void f(void *p, cudaMemLocation l) { cudaMemPrefetchAsync(p, 4, l, 0); }\n").after.decode()
    assert "_v2" not in old
    assert "return hipMemPrefetchAsync_v2(memory, bytes, place, flags, stream);" in new
    assert "hipMemPrefetchAsync(p, 4, l, 0);" in new


def test_an_event_made_with_flags_in_one_call() -> None:
    plain = run("void f(cudaEvent_t e) { cudaEventCreate(&e); }\n").after.decode()
    flags = run(
        "void f(cudaEvent_t *e) { check(cudaEventCreate(&e[at(0)], cudaEventDisableTiming)); }\n"
    ).after.decode()
    assert "hipEventCreateWithFlags" not in plain
    assert "return hipEventCreateWithFlags(event, flags);" in flags
    assert "hipEventCreate(&e[at(0)], hipEventDisableTiming)" in flags


def test_a_header_that_brings_the_runtime_brings_what_nvcc_brings_too() -> None:
    text = "#include <cmath>\n#include <cuda_runtime.h>\ninline bool good(float x) { return isfinite(x); }\n"
    assert run(text, "common.h").after.decode().startswith("#include <math.h>\n#include <cmath>\n")
    without_runtime = "inline bool good(float x) { return isfinite(x); }\n"
    assert not run(without_runtime, "common.h").changed


def test_cub_s_debug_macros() -> None:
    text = run("#include <cub/cub.cuh>\nvoid f() { CubDebugExit(g()); CubDebug(g()); }\n").after.decode()
    assert "#define CubDebugExit(call)" in text
    assert "CubDebugExit(g()); HipcubDebug(g());" in text


def test_math_that_nvcc_has_on_the_host_is_given_to_the_host() -> None:
    host = run("float f(float x) { return rsqrtf(x); }\n").after.decode()
    device = run("__device__ float f(float x) { return rsqrtf(x); }\n").after.decode()
    own = run("float rsqrtf(float x) { return 1 / sqrtf(x); }\nfloat f(float x) { return rsqrtf(x); }\n").after.decode()
    assert "static __host__ inline float rsqrtf(float x)" in host
    assert "__host__" not in device and "__host__" not in own


def test_a_product_that_computes_in_a_data_type() -> None:
    call = (
        "void f() { cublasGemmEx(h, t, t, 1, 1, 1, p, a, CUDA_R_16F, 1, b, CUDA_R_16F, 1, q, c, CUDA_R_16F, 1, %s); }\n"
    )
    old = run(call % "CUDA_R_32F, CUBLAS_GEMM_DEFAULT").after.decode()
    held = run(call % "compute, CUBLAS_GEMM_DEFAULT").after.decode()
    new = run(call % "CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT").after.decode()
    assert "kpt_compute_type(compute)" in held
    assert "kpt_compute_type(compute)" in old and "HIP_R_32F, HIPBLAS_GEMM_DEFAULT" in old
    assert "kpt_compute_type" not in new


def test_a_project_s_rsqrt_does_not_stand_for_rsqrtf() -> None:
    own = "template <typename U> U rsqrt(U v) { return U(1) / sqrt(v); }\n"
    text = own + "template <> float rsqrt(float v) { return rsqrtf(v); }\n"
    assert "static __host__ inline float rsqrtf(float x)" in run(text).after.decode()
