"""The rules that pair CUDA names with HIP names: one entry per library, prefixes and the headers they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from header_declarations import Declaration


@dataclass(frozen=True)
class Library:
    """How one CUDA library's names become HIP's. `prefixes` are (CUDA, HIP) pairs, tried in order."""

    name: str
    headers: tuple[str, ...]
    prefixes: tuple[tuple[str, str], ...]
    device: bool = False
    strict: bool = False  # a pair whose parameters differ is no pair at all
    pattern: str = ""

    def owns(self, name: str) -> bool:
        """Whether a name of these headers is one to pair (not a helper or another library's)."""
        if self.pattern and not re.match(self.pattern, name):
            return False
        return any(name.startswith(prefix) for prefix, _ in self.prefixes)


LIBRARIES = (
    Library(
        "complex",
        ("cuComplex.h",),
        (
            ("cuDoubleComplex", "hipDoubleComplex"),
            ("cuFloatComplex", "hipFloatComplex"),
            ("cuComplex", "hipComplex"),
            ("make_cu", "make_hip"),
            ("cuC", "hipC"),
        ),
        device=True,
    ),
    Library(
        "datatype",
        ("library_types.h",),
        (
            ("cuda", "hip"),
            ("CUDA_R_", "HIP_R_"),
            ("CUDA_C_", "HIP_C_"),
            ("CUDA_EMULATION_", "HIP_EMULATION_"),
            ("lib", "hipLibrary"),
        ),
    ),
    Library("rtc", ("nvrtc.h",), (("nvrtc", "hiprtc"), ("NVRTC_", "HIPRTC_"))),
    Library(
        "runtime",
        (
            "cuda_runtime_api.h",
            "driver_types.h",
            "cuda_runtime.h",
            "channel_descriptor.h",
            "texture_types.h",
            "surface_types.h",
            "cuda_profiler_api.h",
            "cuda_gl_interop.h",
            "device_types.h",
            "driver_functions.h",
            "texture_fetch_functions.h",
            "cuda_texture_types.h",
            "cuda_surface_types.h",
            "cuda_device_runtime_api.h",
            "vector_types.h",
        ),
        (
            ("cudaDevAttr", "hipDeviceAttribute"),
            ("cudaDevP2PAttr", "hipDevP2PAttr"),
            ("cuda", "hip"),
            ("CUDA_IPC_", "HIP_IPC_"),
            ("CUDART_CB", "HIPRT_CB"),
            ("make_cuda", "make_hip"),
            ("CUDART_VERSION", "HIP_VERSION"),
        ),
    ),
    Library(
        "driver",
        ("cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaProfilerTypedefs.h"),
        (
            ("CU_DEVICE_ATTRIBUTE_", "hipDeviceAttribute"),
            ("CU_POINTER_ATTRIBUTE_", "HIP_POINTER_ATTRIBUTE_"),
            ("CUDA_ERROR_", "hipError"),
            ("CU_JIT_", "hipJitOption"),
            ("CU_JIT_INPUT_", "hipJitInput"),
            ("CU_", "HIP_"),
            ("CU_", "hip"),
            ("CUDA_", "HIP_"),
            ("CUDA_", "hip"),
            ("CU", "hip"),
            ("cu", "hip"),
            ("cu", "hipModule"),
            ("cu", "hipDrv"),
        ),
        pattern=r"CU|cu(?!da)",
    ),
    Library("blaslt", ("cublasLt.h",), (("cublasLt", "hipblasLt"), ("CUBLASLT_", "HIPBLASLT_"))),
    Library("blas", ("cublas_v2.h", "cublas_api.h", "cublas.h"), (("cublas", "hipblas"), ("CUBLAS_", "HIPBLAS_"))),
    Library(
        "fft",
        ("cufft.h", "cufftXt.h", "cudalibxt.h"),
        (
            ("cufft", "hipfft"),
            ("CUFFT_", "HIPFFT_"),
            ("cudaLibXt", "hipLibXt"),
            ("cudaXt", "hipXt"),
            ("LIB_FORMAT_", "HIP_LIB_FORMAT_"),
        ),
    ),
    Library("rand", ("curand.h", "curand_kernel.h", "curand_*.h"), (("curand", "hiprand"), ("CURAND_", "HIPRAND_"))),
    Library("sparse", ("cusparse.h", "cusparse_v2.h"), (("cusparse", "hipsparse"), ("CUSPARSE_", "HIPSPARSE_"))),
    Library(
        "solver",
        ("cusolverDn.h", "cusolverSp.h", "cusolverRf.h", "cusolver_common.h", "cusolverMg.h"),
        (("cusolver", "hipsolver"), ("CUSOLVER", "HIPSOLVER")),
    ),
    Library("dnn", ("cudnn*.h",), (("cudnn", "miopen"), ("CUDNN_", "miopen")), strict=True),
    Library("nccl", ("nccl.h",), (("nccl", "nccl"), ("pnccl", "pnccl"), ("NCCL_", "NCCL_"))),
    Library("nvtx", ("nvToolsExt.h", "nvtx3/nvToolsExt.h"), (("nvtx", "roctx"), ("NVTX_", "ROCTX_")), strict=True),
    Library(
        "bf16",
        ("cuda_bf16.h", "cuda_bf16.hpp"),
        (
            ("__nv_bfloat", "__hip_bfloat"),
            ("nv_bfloat", "__hip_bfloat"),
            ("CUDART_", "HIPRT_"),
            ("__float2bfloat", "__float2bfloat"),
            ("__", "__"),
            ("h", "h"),
            ("make_", "make_"),
        ),
        device=True,
        pattern=r"__nv_bf|nv_bf|CUDART_|__(?!internal|CUDA|NV|half)[a-z]|h[a-z2]|make_bf",
    ),
    Library(
        "fp16",
        ("cuda_fp16.h", "cuda_fp16.hpp"),
        (
            ("__nv_half", "__half"),
            ("nv_half", "__half"),
            ("CUDART_", "HIPRT_"),
            ("__", "__"),
            ("h", "h"),
            ("make_", "make_"),
        ),
        device=True,
        pattern=r"__nv_half|nv_half|CUDART_|__(?!internal|CUDA|NV)[a-z]|h[a-z2]|make_half",
    ),
    Library(
        "fp8",
        ("cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h"),
        (("__nv_", "__hip_"), ("__NV_", "__HIP_")),
        device=True,
        pattern=r"__nv_(fp|cvt|sat)|__NV_[A-Z0-9]+$",
    ),
    Library("constants", ("math_constants.h",), (("CUDART_", "HIP_"), ("CUDART_", "HIPRT_")), device=True),
    Library(
        "device",
        (
            "device_functions.h",
            "crt/device_functions.h",
            "device_atomic_functions.h",
            "sm_*_intrinsics.h",
            "sm_*_atomic_functions.h",
            "crt/sm_*.h",
            "crt/math_functions.h",
            "crt/device_double_functions.h",
            "math_functions.h",
            "texture_indirect_functions.h",
            "surface_indirect_functions.h",
        ),
        (("__", "__"), ("atomic", "atomic"), ("tex", "tex"), ("surf", "surf")),
        device=True,
        pattern=r"__(?!internal|nv_|cuda|CUDA|NV|host|device|global|builtin|ATOMIC|SM|SIMD|DEVICE|MATH|TEX|SURF|DEF|func)[a-z]"
        r"|atomic[A-Z]|(?:tex|surf)[1-3CLR]",
    ),
)


def candidates(library: Library, name: str) -> Iterator[str]:
    """The HIP names worth looking up for a CUDA name, best first."""
    bases = [name, *_without_suffix(name)]
    for base in bases:
        for cuda, hip in library.prefixes:
            if base.startswith(cuda):
                stem = hip + base.removeprefix(cuda)
                yield stem
                yield stem + "_t"
                if stem.endswith("_t"):
                    yield stem.removesuffix("_t")
                if stem.endswith("_st"):
                    yield stem.removesuffix("_st") + "_t"


def _without_suffix(name: str) -> Iterator[str]:
    """Names that mean the same in CUDA: other versions, per-thread streams, tags of structures and enumerations.

    A function for 64-bit sizes keeps its `_64`: the 32-bit one would cut the sizes without a word.
    """
    short = re.sub(r"(?:_v\d+)?(_64)?$", r"\1", name)
    short = short if short != name else re.sub(r"_(?:ptsz|ptds)$", "", name)
    tagless = re.sub(r"(?:_v\d+|V\d+)?(?:_st|_enum|_union)?$", "", name)
    yield from (base for base in dict.fromkeys((short, tagless)) if base != name)


def squashed(name: str) -> str:
    """Case and underscores aside: CUDA_ERROR_OUT_OF_MEMORY and hipErrorOutOfMemory meet as words do."""
    return name.replace("_", "").lower()


# Types that C++ converts without a word, or that both vendors spell as they like.
_INTEGERS = {
    "int",
    "unsigned int",
    "unsigned",
    "size_t",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "int64_t",
    "uint32_t",
    "uint64_t",
    "int32_t",
    "long long int",
    "cuuint64_t",
    "cuuint32_t",
    "hipblasStride",
    "bool",
    "unsigned long long int",
    "short",
}


# Spellings of one type.
_SAME = {
    "hipblasHalf": "__half",
    "hipDevice_t": "int",
    "cusolver_int_t": "int",
    "hipsolverHandle_t": "hipsolverDnHandle_t",
    "hipsolverOperation_t": "hipblasOperation_t",
    "hipsolverFillMode_t": "hipblasFillMode_t",
    "hipsolverSideMode_t": "hipblasSideMode_t",
    "hipDeviceAttribute_t": "hipDeviceAttr",
    "hipFloatComplex": "hipComplex",
    "float2": "hipComplex",
    "double2": "hipDoubleComplex",
    "hipPointerAttributes": "hipPointerAttribute_t",
    "hipblasBfloat16": "__hip_bfloat16",
    "STATE": "StateType",
    "hiprandStateXORWOW_t": "StateType",
    "hiprandStatePhilox4_32_10_t": "StateType",
    "hiprandStateMRG32k3a_t": "StateType",
}


def tables_agree(ours: Declaration, theirs: Declaration, types: dict[str, str]) -> bool:
    """Whether a call written for `ours` fits `theirs` after renaming types."""
    first, second = ours.parameters or (), theirs.parameters or ()
    if not theirs.required <= len(first) <= len(second):
        return False
    return all(_same_type(a, b, types) for a, b in zip(first, second, strict=False))


def _same_type(ours: str, theirs: str, types: dict[str, str]) -> bool:
    base, stars = ours.rstrip("*"), len(ours) - len(ours.rstrip("*"))
    other, other_stars = theirs.rstrip("*"), len(theirs) - len(theirs.rstrip("*"))
    mapped = types.get(base, base)
    mapped, other = _SAME.get(mapped, mapped), _SAME.get(other, other)
    if "callback" in (ours, theirs) or len(other) == 1 or len(base) == 1:
        return True
    if mapped == "hipDeviceptr_t" or base == "CUdeviceptr":
        mapped, stars = "void", stars + 1
    if mapped == "hipTexRef":
        mapped, stars = "textureReference", stars + 1
    if other == "hipDeviceptr_t":
        other, other_stars = "void", other_stars + 1
    if stars != other_stars:
        return "void" in (mapped, other) and min(stars, other_stars) > 0
    if "StateType" in (mapped, other):
        return True
    if (
        mapped == other
        or squashed(mapped) in (squashed(other), squashed(other) + "t")
        or squashed(other) == squashed(mapped) + "t"
    ):
        return True
    if stars:
        return "void" in (mapped, other) or {mapped, other} <= _INTEGERS
    return {mapped, other} <= _INTEGERS or {mapped, other} <= {"float", "double"}
