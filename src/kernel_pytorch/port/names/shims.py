"""Device functions of CUDA that HIP has no name for and a few lines can give.

Each is written into the file that calls it, under its own guard, unless the project defines the name itself: the
result of a translation needs no header of ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

# A block of these files begins with its names, then after "<" the headers it needs. A header of ours that holds several
# has them in this order.
_FILES = (
    "device_functions.h", "cooperative_groups.h", "small_floats.h", "overloads.h", "libcudacxx.h", "surfaces.h",
    "rounding.h",
)  # fmt: skip
_MARK = "//: "


@dataclass(frozen=True)
class Shim:
    """The C++ text for one or more names, with the headers it needs first."""

    names: tuple[str, ...]
    includes: tuple[str, ...]
    text: str

    def guarded(self, newline: str = "\n", beside_host_compiler: bool = False) -> str:
        """The text under a guard, so that several headers of a unit may carry it.

        `beside_host_compiler`: a plain C++ compiler may read it as well, which knows no device functions.
        """
        guard = self.guard.decode()
        includes = "".join(f"#include <{path}>\n" for path in self.includes)
        first = f"#ifndef {guard}"
        if beside_host_compiler and "__device__" in self.text:
            first = f"#if defined(__HIPCC__) && !defined({guard})"
        return f"{first}\n#define {guard}\n{includes}{self.text}#endif\n".replace("\n", newline)

    @property
    def guard(self) -> bytes:
        """The guard's name: present in a file that has the shim already."""
        return f"KPT_SHIM_{re.sub(r'[^A-Z0-9]+', '_', self.names[0].upper()).strip('_')}".encode()


@lru_cache(maxsize=1)
def shims() -> dict[bytes, Shim]:
    """Every shim by each of the names it gives."""
    folder = files("kernel_pytorch.port.tables").joinpath("hip_shims")
    found: dict[bytes, Shim] = {}
    for file in _FILES:
        for block in folder.joinpath(file).read_text(encoding="utf-8").split(_MARK)[1:]:
            head, _, body = block.partition("\n")
            names, _, includes = head.partition(" < ")
            shim = Shim(tuple(names.split()), tuple(includes.split()), body)
            for name in shim.names:
                found[name.encode()] = shim
    return found


# HIP has atomicAdd for float and double; CUDA for the 16-bit types as well, under the same name.
# A number as the value says that the sum is none of 16 bits.
_CALLS_ATOMIC_ADD = re.compile(rb"(?<![\w.>])atomicAdd\s*\((?!(?:[^(),;{}]|\([^();{}]*\))*,\s*[-+]?\d[\w.]*\s*\))")
_DEFINES_ATOMIC_ADD = re.compile(
    rb"atomicAdd\s*\(\s*(?:volatile\s+)?(?:c10::Half|at::Half|(?:__)?half2?|(?:__)?(?:nv_|hip_)?bfloat162?)\s*\*"
)
_SIXTEEN_BITS = (
    (re.compile(rb"\b(?:__)?half2?\b"), b"atomicAdd(half)"),
    (re.compile(rb"\b(?:__)?(?:nv_|hip_)?bfloat162?\b"), b"atomicAdd(bfloat16)"),
)


# CUDA has min and max of int and unsigned, which compare as unsigned; HIP turns a mixed pair into double.
_MIN_MAX = re.compile(rb"(?<![\w.:>])(?:min|max)\s*\(([^;{}]{1,200})")
_GIVEN = re.compile(rb"(?<=\w)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_UNSIGNED = re.compile(rb"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]\b|\b\d+[uU]\b")


def mixes_signs(data: bytes) -> bool:
    """Whether a file calls min or max with an argument that is visibly unsigned beside one that is not."""
    for found in _MIN_MAX.finditer(data):
        depth, start, arguments = 0, found.start(1), []
        for at in range(found.start(1), found.end(1)):
            byte = data[at : at + 1]
            depth += (byte in b"([") - (byte in b")]")
            if depth < 0 or (byte == b"," and depth == 0):
                arguments.append(data[start:at])
                start = at + 1
            if depth < 0:
                break
        # What a call is given says nothing about what it returns.
        kinds = [bool(_UNSIGNED.search(_GIVEN.sub(b"()", one))) for one in arguments]
        if len(kinds) == 2 and kinds[0] != kinds[1]:
            return True
    return False


# CUDA 13 gave these two names the arguments of its _v2 functions; HIP keeps both forms apart.
_TAKES_LOCATION = re.compile(rb"\bcudaMem(?:PrefetchAsync|Advise)\s*\(")
_LOCATION = re.compile(rb"\bcudaMemLocation\b")
# CUDA's C++ header has this name with flags as well; HIP calls that hipEventCreateWithFlags.
_EVENT_WITH_FLAGS = re.compile(rb"\bcudaEventCreate\s*\((?:[^(),;{}]|\([^();{}]*\))*,")
# CUDA 12 dropped the three arguments of this one that told about errors, and made the last one flags.
_INSTANTIATES_WITH_FLAGS = re.compile(
    rb"\bcudaGraphInstantiate\s*\((?:[^(),;{}]|\([^();{}]*\))*(?:,(?:[^(),;{}]|\([^();{}]*\))*){1,2}\)"
)
_SYMBOL_WITH_DEFAULTS = re.compile(
    rb"\bcudaMemcpy(?:To|From)SymbolAsync\s*\((?:[^(),;{}]|\([^();{}]*\))*(?:,(?:[^(),;{}]|\([^();{}]*\))*){2,3}\)"
)
# nvcc's math functions that the host has too; HIP's are the device's alone.
_HOST_MATH = re.compile(rb"(?<![\w.:>])((?:rsqrt|rcbrt|sinpi|cospi|normcdf)f?)\s*\(")
# HIP has these for bfloat162 alone.
_HALF2_MAX = re.compile(rb"\b__h(?:max|min)2\s*\(")
_HALF2 = re.compile(rb"\b(?:__)?half2\b")
# The type to compute in, given as a data type: the last argument but one of cuBLAS' products.
_COMPUTES_IN_DATA_TYPE = re.compile(rb"\bCUDA_[RC]_\w+\s*,\s*(?:CUBLAS_GEMM_\w+|\w*algo\w*)\s*\)")
_GEMM_EX = re.compile(rb"\bcublasGemm(?:StridedBatched)?Ex\s*\(")
_ERROR_TEXT = re.compile(rb"\b(?:cuda|hip)(GetError(?:String|Name))\s*\(")


# What no name of the table tells: parts of libcu++, functions of cooperative groups, overloads of C++.
_BY_USE = (
    (re.compile(rb"\bcudaHostGetDevicePointer\s*\(\s*&"), b"hipHostGetDevicePointer(typed)"),
    (re.compile(rb"(?<!kpt_group)\.\s*shfl(?:_up|_down|_xor)?\s*\("), b"tile.shfl(class)"),
    (re.compile(rb"(?<![\w:])(?:::)?cuda::std\b"), b"cuda::std"),
    (re.compile(rb"(?<![\w:])(?:::)?cuda::std::identity\b"), b"cuda::std::identity"),
    (re.compile(rb"(?<![\w:])(?:::)?cuda::atomic_ref\b"), b"cuda::atomic_ref"),
    (re.compile(rb"(?<![\w:])(?:::)?cuda::(?:ceil_div|round_up)\b"), b"cuda::ceil_div"),
    (re.compile(rb"\b(?:cg|cooperative_groups)::labeled_partition\s*\("), b"cg::labeled_partition"),
)


def overloads_needed(
    data: bytes, project: Iterable[bytes], is_in_device_code: Callable[[int], bool] = lambda offset: False
) -> list[Shim]:
    """Shims that are overloads of names HIP has, for a file whose project does not define them itself.

    `data` is what a ROCm build reads of the file (`compiled_text`).
    """
    # HIP's takes (unsigned) long long alone: a uint64_t, which is unsigned long, is ambiguous there.
    needed = [shims()[b"__ffsll(long)"]] if b"__ffsll" in data else []
    needed += [shims()[name] for used, name in _BY_USE if used.search(data)]
    if (b"__global__" in data or b"__device__" in data) and mixes_signs(data):
        needed.append(shims()[b"min(mixed)"])
    if _TAKES_LOCATION.search(data) and _LOCATION.search(data):
        needed.append(shims()[b"hipMemPrefetchAsync(location)"])
    if _EVENT_WITH_FLAGS.search(data):
        needed.append(shims()[b"hipEventCreate(flags)"])
    if _SYMBOL_WITH_DEFAULTS.search(data):
        needed.append(shims()[b"hipMemcpyToSymbolAsync(defaults)"])
    if _INSTANTIATES_WITH_FLAGS.search(data):
        needed.append(shims()[b"hipGraphInstantiate(flags)"])
    on_host = {found.group(1) for found in _HOST_MATH.finditer(data) if not is_in_device_code(found.start())}
    defined = {name for name in on_host if any(_defines(name, text) for text in project)}
    needed += [shims()[name + b"(host)"] for name in sorted(on_host - defined)]
    if _HALF2_MAX.search(data) and _HALF2.search(data):
        needed.append(shims()[b"__hmax2(half2)"])
    if _GEMM_EX.search(data) and _COMPUTES_IN_DATA_TYPE.search(data):
        needed.append(shims()[b"hipblasGemmEx(data-type)"])
    # CUDA's device runtime has these two for kernels that launch kernels; HIP's are the host's.
    asked = {found.group(1) for found in _ERROR_TEXT.finditer(data) if is_in_device_code(found.start())}
    needed += [shims()[b"hip" + name + b"(device)"] for name in sorted(asked)]
    if not _CALLS_ATOMIC_ADD.search(data) or any(_DEFINES_ATOMIC_ADD.search(text) for text in project):
        return needed
    return needed + [shims()[name] for word, name in _SIXTEEN_BITS if word.search(data)]


_OF_CUB = re.compile(rb"(?<![\w:])(?:::)?cub::(\w+)")
# What torch.utils.hipify renames of cub, by the beginning of the name (torch 2.13).
_CUB_BY_TORCH = (
    b"ArgMax", b"ArgMin", b"BLOCK_", b"BlockLoad", b"BlockRadixSort", b"BlockRakingLayout", b"BlockReduce",
    b"BlockScan", b"BlockStore", b"CTA_MASK", b"CachingDeviceAllocator", b"CountingInputIterator", b"DeviceRadixSort",
    b"DeviceReduce", b"DeviceRunLengthEncode", b"DeviceScan", b"DeviceSegmentedRadixSort", b"DeviceSegmentedReduce",
    b"DeviceSelect", b"KeyValuePair", b"LaneId", b"Max", b"Min", b"Sum", b"TransformInputIterator", b"WarpReduce",
)  # fmt: skip


_CUB_HEADERS_BY_TORCH = frozenset({
    "cub/util_allocator.cuh", "cub/block/block_reduce.cuh", "cub/block/block_raking_layout.cuh", "cub/cub.cuh",
    "cub/config.cuh", "cub/util_ptx.cuh", "cub/util_type.cuh", "cub/device/device_run_length_encode.cuh",
    "cub/block/block_load.cuh", "cub/block/block_store.cuh", "cub/block/block_scan.cuh",
    "cub/device/device_radix_sort.cuh", "cub/device/device_reduce.cuh", "cub/device/device_scan.cuh",
    "cub/device/device_select.cuh",
})  # fmt: skip


def is_cub_header_left_by_torch(name: str) -> bool:
    """Whether a header of cub is one that torch's build does not rename."""
    return name.startswith("cub/") and name not in _CUB_HEADERS_BY_TORCH


def is_left_by_torch(data: bytes) -> bool:
    """Whether a file uses names of cub that torch's build does not rename. `data` is what a ROCm build reads."""
    return any(not found.group(1).startswith(_CUB_BY_TORCH) for found in _OF_CUB.finditer(data))


def _defines(name: bytes, text: bytes) -> bool:
    """Whether a file of the project has a function of this name."""
    if name not in text:
        return False
    return re.search(rb"\b(?:float|double|inline|[TU])\s+" + name + rb"\s*\([^;{}]*\)\s*\{", text) is not None
