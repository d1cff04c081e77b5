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

from kernel_pytorch.port.cxx.compiled_on_rocm import is_within, left_out_on_cuda
from kernel_pytorch.port.cxx.sought import Watched, sought
from kernel_pytorch.port.cxx.source import CxxFile

# A block of these files begins with its names, then after "<" the headers it needs, then after ":" the blocks. A header
# of ours that holds several has them in this order.
_FILES = (
    "device_functions.h", "cooperative_groups.h", "wide_tiles.h", "small_floats.h", "overloads.h", "libcudacxx.h",
    "surfaces.h", "textures.h", "texture_fetch.h", "texture_references.h", "texture_driver.h", "barriers.h",
    "rounding.h", "warp_matrix.h", "mma_formats.h", "mma_units.h", "warp_mma.h", "quad_pair_mma.h",
    "other_arguments.h", "legacy_blas.h",
    "wmma_tiles.h", "wmma.h", "error_codes.h",
)  # fmt: skip
_MARK = "//: "
# hipBLAS takes __half only where this is defined before its header; a shim may be the first to include it.
_BEFORE = {"hipblas/hipblas.h": "#define HIPBLAS_USE_HIP_HALF\n"}


@dataclass(frozen=True)
class Shim:
    """The C++ text for one or more names, with the headers it needs first."""

    names: tuple[str, ...]
    includes: tuple[str, ...]
    text: str
    needs: tuple[str, ...] = ()

    def guarded(self, newline: str = "\n", beside_host_compiler: bool = False) -> str:
        """The text under a guard, so that several headers of a unit may carry it.

        `beside_host_compiler`: a plain C++ compiler may read it as well, which knows no device functions.
        """
        guard = self.guard.decode()
        includes = "".join(f"{_BEFORE.get(path, '')}#include <{path}>\n" for path in self.includes)
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
            includes, _, needs = includes.partition(": ")
            shim = Shim(tuple(names.split()), tuple(includes.split()), body, tuple(needs.split()))
            for name in shim.names:
                found[name.encode()] = shim
    return found


def with_needed(wanted: Iterable[Shim]) -> list[Shim]:
    """The shims in their order, each behind those that its text needs."""
    found: dict[str, Shim] = {}
    for shim in wanted:
        for one in (*with_needed(shims()[name.encode()] for name in shim.needs), shim):
            found.setdefault(one.names[0], one)
    return list(found.values())


@lru_cache(maxsize=1)
def _by_arguments() -> dict[str, tuple[tuple[int | None, Shim], ...]]:
    """The overloads that a call of a name may need: (how many arguments it has then, the shim). None: any number."""
    found: dict[str, tuple[tuple[int | None, Shim], ...]] = {}
    for key, shim in shims().items():
        name, _, form = key.decode().rstrip(")").partition("(")
        if form.isdigit() or form == "arguments":
            found[name] = (*found.get(name, ()), (int(form) if form.isdigit() else None, shim))
    return found


def overloads_called(used: Iterable[str], counts: Callable[[str], Iterable[int]]) -> list[Shim]:
    """Overloads for the CUDA functions `used`; `counts` gives the numbers of arguments a file calls one with."""
    needed = []
    for name in used:
        for count, shim in _by_arguments().get(name, ()):
            if shim not in needed and (count is None or count in counts(name)):
                needed.append(shim)
    return needed


# HIP has atomicAdd for float and double; CUDA for the 16-bit types as well, under the same name.
# A number as the value says that the sum is none of 16 bits.
_CALLS_ATOMIC_ADD = sought(
    rb"(?<![\w.>])atomicAdd\s*\((?!(?:[^(),;{}]|\([^();{}]*\))*,\s*[-+]?\d[\w.]*\s*\))", b"atomicAdd"
)
_DEFINES_ATOMIC_ADD = sought(
    rb"atomicAdd\s*\(\s*(?:volatile\s+)?(?:c10::Half|at::Half|(?:__)?half2?|(?:__)?(?:nv_|hip_)?bfloat162?)\s*\*",
    b"atomicAdd",
)
_SIXTEEN_BITS = (
    (re.compile(rb"\b(?:__)?half2?\b"), b"atomicAdd(half)"),
    (re.compile(rb"\b(?:__)?(?:nv_|hip_)?bfloat162?\b"), b"atomicAdd(bfloat16)"),
)


# CUDA has min and max of int and unsigned, which compare as unsigned; HIP turns a mixed pair into double.
_MIN_MAX = sought(rb"(?<![\w.:>])(?:min|max)\s*\(([^;{}]{1,200})", b"min", b"max")
_GIVEN = re.compile(rb"(?<=\w)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)")
_UNSIGNED = re.compile(rb"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.[xyz]\b|\b\d+[uU]\b")


# A call of the ones that CUDA gives the host too, and what says that the project has its own.
_ANY_MIN_MAX = sought(rb"(?<![\w.:])(?<!->)(?:min|max)\s*\(", b"min", b"max")
_OWN_MIN_MAX = re.compile(
    rb"#[ \t]*define[ \t]+(?:min|max)\b|\busing\s+(?:::)?std::(?:min|max)\b"
    rb"|[\w>&*]\s+(?:min|max)\s*\([^;{}()]*\)\s*(?:const\s*|noexcept\s*)*\{"
)


@lru_cache(maxsize=64)  # each file of a unit asks all of them
def _has_own_min_max(text: bytes) -> bool:
    return (b"min" in text or b"max" in text) and _OWN_MIN_MAX.search(text) is not None


def mixes_signs(data: bytes) -> bool:
    """Whether a file calls min or max with an argument that is visibly unsigned beside one that is not."""
    for found in _MIN_MAX.finditer(data):
        if _UNSIGNED.search(found.group(1)) is None:
            continue
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
_TAKES_LOCATION = sought(rb"\bcu(?:da)?Mem(?:PrefetchAsync|Advise)\s*\(", b"MemPrefetchAsync", b"MemAdvise")
_LOCATION = sought(rb"\b(?:cudaMem|CUmem)Location\b", b"emLocation")
# nvcc's math functions that the host has too; HIP's are the device's alone.
_HOST_MATH = sought(
    rb"(?<![\w.:>])((?:rsqrt|rcbrt|sinpi|cospi|normcdf)f?)\s*\(", b"rsqrt", b"rcbrt", b"sinpi", b"cospi", b"normcdf"
)
# HIP has these for bfloat162 alone.
_HALF2_MAX = sought(rb"\b__h(?:max|min)2\s*\(", b"__hmax2", b"__hmin2")
_HALF2 = re.compile(rb"\b(?:__)?half2\b")
# The type to compute in, given as a data type: the last argument but one of cuBLAS' products.
_GEMM_EX = sought(rb"\bcublasGemm(?:StridedBatched|Batched)?Ex\s*\([^;{}]{0,2000}", b"cublasGemm")
_ERROR_TEXT = sought(rb"\b(?:cuda|hip)(GetError(?:String|Name))\s*\(", b"GetError")


_TILE_SHUFFLE = sought(rb"(?<!kpt_group)\.\s*shfl(?:_up|_down|_xor)?\s*\(", b"shfl")
_GROUPS_HEADER = b"cooperative_groups.h"


# What no name of the table tells: parts of libcu++, functions of cooperative groups, overloads of C++.
_BY_USE = (
    (sought(rb"\bcudaHostGetDevicePointer\s*\(\s*&", b"cudaHostGetDevicePointer"), b"hipHostGetDevicePointer(typed)"),
    (_TILE_SHUFFLE, b"tile.shfl(class)"),
    (sought(rb"(?<![\w:])(?:::)?cuda::std\b", b"cuda::std"), b"cuda::std"),
    (sought(rb"(?<![\w:])(?:::)?cuda::std::identity\b", b"cuda::std::identity"), b"cuda::std::identity"),
    (
        sought(
            rb"(?<![\w:])(?:::)?cuda::(?:std::)?atomic(?:_ref|_thread_fence)?\b", b"cuda::atomic", b"cuda::std::atomic"
        ),
        b"cuda::atomic_ref",
    ),
    (sought(rb"(?<![\w:])(?:::)?cuda::(?:ceil_div|round_up)\b", b"ceil_div", b"round_up"), b"cuda::ceil_div"),
    (sought(rb"(?<![\w:])(?:::)?cuda::barrier\b", b"cuda::barrier"), b"cuda::barrier"),
    (sought(rb"(?<![\w:])(?:::)?cuda::(?:make_)?pipeline\w*", b"cuda::"), b"cuda::pipeline"),
    (sought(rb"(?<![\w:])(?:::)?cuda::(?:memcpy_async|aligned_size_t)\b", b"cuda::"), b"cuda::memcpy_async"),
    (sought(rb"\bnvcuda\b(?!\s*::\s*experimental\b)", b"nvcuda"), b"nvcuda::wmma"),
    (sought(rb"\b__pipeline_(?:memcpy_async|commit|wait_prior)\b", b"__pipeline_"), b"kpt_pipeline_primitives"),
    (sought(rb"(?<![\w:])(?:::)?cuda::latch\b", b"cuda::latch"), b"cuda::latch"),
    (sought(rb"(?<![\w:])(?:::)?cuda::(?:counting|binary)_semaphore\b", b"cuda::"), b"cuda::counting_semaphore"),
    (
        sought(
            rb"\bblock_tile_memory\b|\b(?:tiled_partition|thread_block_tile)\s*<\s*(?:64|128|256|512|1024)\b",
            b"block_tile_memory",
            b"tiled_partition",
            b"thread_block_tile",
        ),
        b"cg::block_tile_memory",
    ),
    (
        sought(rb"\b(?:cg|cooperative_groups)::labeled_partition\s*\(", b"labeled_partition"),
        b"cg::labeled_partition",
    ),
)


# Arrays, texture and surface objects, fetches through them, and texture references.
_OF_TEXTURES = sought(
    rb"\btexture\s*<|\b(?:(?:cuda|hip)(?:Texture|Surface)|CU(?:tex|surf)Object)",
    b"texture",
    b"Texture",
    b"Surface",
    b"CU",
)
_TEXTURES = (
    (
        sought(
            rb"\b(?:cuda|hip)(?:Malloc(?:3D)?Array|FreeArray|Memcpy\w*Array\w*"
            rb"|(?:Create|Destroy)(?:Texture|Surface)Object|GetTextureObject\w+|ArrayGetInfo|GetChannelDesc)\s*\(|\b(?:src|dst)Array\b",
            b"Array", b"TextureObject", b"SurfaceObject", b"GetChannelDesc",
        ),
        b"kpt_image",
    ),
    (
        sought(
            rb"(?<![\w.>])tex(?:1Dfetch|[123]D|Cubemap)(?:Layered)?(?:Lod|Grad|gather)?\s*[(<]",
            b"tex1D", b"tex2D", b"tex3D", b"texCubemap",
        ),
        b"kpt_tex",
    ),
    (
        sought(rb"\b(?:cuda|hip)(?:(?:Bind|Unbind)Texture|GetTexture(?:Reference|Alignment))", b"Texture"),
        b"kpt_bind_texture",
    ),
    (
        sought(
            rb"\b(?:cu|hip)(?:Array(?:3D)?(?:Create|Destroy)|TexObject(?:Create|Destroy)|SurfObjectCreate)(?:_v2)?\s*\("
            rb"|\bCU_MEMORYTYPE_ARRAY\b|\bhipMemoryTypeArray\b|\bcuMemcpy(?:HtoA|AtoH)",
            b"Array", b"ARRAY", b"TexObject", b"SurfObjectCreate", b"cuMemcpy",
        ),
        b"kpt_driver_textures",
    ),
)  # fmt: skip


def _texture_shims(present: frozenset[bytes], data: bytes, project: Iterable[bytes]) -> list[Shim]:
    """What a file needs that touches textures. In a unit without their types tex2D is the project's own function."""
    found = [name for used, name in _TEXTURES if used.search_among(present, data)]
    if b"kpt_tex" in found and not any(_OF_TEXTURES.search(text) for text in project):
        found.remove(b"kpt_tex")
    return [shims()[name] for name in found]


# A header of any name may be for kernels; a plain source is the host compiler's, where CUDA has no such functions.
_READ_BY_NVCC = (".cu", ".cuh", ".h", ".hpp", ".hh", ".inl")
_OFTEN_PARTS_OF_WORDS = (b"min", b"max")
_WATCHED = Watched({
    b"__ffsll",
    _GROUPS_HEADER,
    *(word for used, _ in (*_BY_USE, *_TEXTURES) for word in used.words),
    *(word for used in (_TAKES_LOCATION, _HOST_MATH, _HALF2_MAX, _GEMM_EX, _ERROR_TEXT, _CALLS_ATOMIC_ADD)
      for word in used.words),
})  # fmt: skip


def may_need_overloads(src: CxxFile) -> bool:
    """Whether a file has a word without which `overloads_needed` finds nothing. Cheap."""
    return not src.vocabulary.isdisjoint(_OFTEN_PARTS_OF_WORDS) or bool(_WATCHED.present(src))


def overloads_needed(
    src: CxxFile,
    data: bytes,
    project: Iterable[bytes],
    is_in_device_code: Callable[[int], bool] = lambda offset: False,
    is_on_host: Callable[[int], bool] = lambda offset: True,
) -> list[Shim]:
    """Shims that are overloads of names HIP has, for a file whose project does not define them itself.

    `data` is what a ROCm build reads of the file (`compiled_text`). A function may be in device code and on the host.
    """
    present = _WATCHED.present(src)
    # HIP's takes (unsigned) long long alone: a uint64_t, which is unsigned long, is ambiguous there.
    needed = [shims()[b"__ffsll(long)"]] if b"__ffsll" in data else []
    needed += [shims()[name] for used, name in _BY_USE if used.search_among(present, data)]
    # It goes before HIP's header, which this file may include ahead of the one that shuffles.
    if _GROUPS_HEADER in present and any(_TILE_SHUFFLE.search(text) for text in project):
        needed += [shim for shim in (shims()[b"tile.shfl(class)"],) if shim not in needed]
    needed += _texture_shims(present, data, project)
    if (b"__global__" in data or b"__device__" in data) and mixes_signs(data):
        needed.append(shims()[b"min(mixed)"])
    on_host = src.path.endswith(_READ_BY_NVCC) and any(is_on_host(one.start()) for one in _ANY_MIN_MAX.finditer(data))
    if on_host and not any(map(_has_own_min_max, project)):
        needed.append(shims()[b"min(host)"])
    if _TAKES_LOCATION.search(data) and _LOCATION.search(data):
        needed.append(shims()[b"hipMemPrefetchAsync(location)"])
    called = {found.group(1) for found in _HOST_MATH.finditer(data) if not is_in_device_code(found.start())}
    defined = {name for name in called if any(_defines(name, text) for text in project)}
    needed += [shims()[name + b"(host)"] for name in sorted(called - defined)]
    if _HALF2_MAX.search(data) and _HALF2.search(data):
        needed.append(shims()[b"__hmax2(half2)"])
    # A compute type that is not visibly one may be a data type: CUDA's header takes both.
    if any(b"CUBLAS_COMPUTE_" not in call.group() for call in _GEMM_EX.finditer(data)):
        needed.append(shims()[b"hipblasGemmEx(data-type)"])
    # CUDA's device runtime has these two for kernels that launch kernels; HIP's are the host's.
    asked = {found.group(1) for found in _ERROR_TEXT.finditer(data) if is_in_device_code(found.start())}
    needed += [shims()[b"hip" + name + b"(device)"] for name in sorted(asked)]
    if not _CALLS_ATOMIC_ADD.search(data) or any(_DEFINES_ATOMIC_ADD.search(text) for text in project):
        return needed
    # What stands behind a gate for ROCm says nothing about the types of the CUDA code: an earlier port may have put it.
    behind_gates = left_out_on_cuda(src)
    for word, name in _SIXTEEN_BITS:
        if any(not is_within(found.start(), behind_gates) for found in word.finditer(data)):
            needed.append(shims()[name])
    return needed


_OF_CUB = sought(rb"(?<![\w:])(?:::)?cub::(\w+)", b"cub::")
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
