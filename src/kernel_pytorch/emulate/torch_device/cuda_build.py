"""A CUDA build of torch (`pip install torch` on Linux) as the host of the emulated GPU.

Its libtorch_cuda and libc10_cuda register CUDA's kernels for the device key that ours are for. They are not loaded:
two small libraries of the same names are there first, and the loader takes those. They define what the rest of torch
links against; a function of theirs throws an error that names it. What such a build has in torch._C beyond a CPU build
is hidden. What is left is a CPU build: the C++ part and torch.cuda's Python code work on it as on any other.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.machinery
import mmap
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kernel_pytorch.core.build_lock import one_builder
from kernel_pytorch.core.cache_folder import default_cache
from kernel_pytorch.emulate.torch_device.build import TorchDeviceError, compiled, device_compiler, size_of
from kernel_pytorch.toolchain.elf import ElfFile, Symbol

# What is stood in for, and which libraries of torch it then answers for.
LIBRARIES = {
    "libc10_cuda.so": ("libc10_cuda.so",),
    "libtorch_cuda.so": ("libtorch_cuda.so", "libtorch_nvshmem.so"),
}
_FOUNDATION = "libtorch_python.so"
_MISSING = Path(__file__).parents[1] / "native" / "torch_device" / "missing.h"
# What a CUDA build has in torch._C and a CPU build has not.
_NAMES = re.compile(
    r"_?(cuda|cudnn|nccl|gds|jiterator|nvtx|cusparselt)|_(un)?(broadcast|scatter|gather)(_|$)|"
    r"_(CUuuid|FastCudaLauncher|StaticCudaLauncher|WorkqueueScope|MemPool|graph_pool_handle|host_emptyCache|"
    r"rocm_is_backward_pass|construct_CUDA_Tensor_From_Storage_And_Metadata|free_And_Remove_DeleterFn|"
    r"has_Standard_Deleter|tensors_data_ptrs_at_indices_equal|(clear|set)_storage_(data_ptr_)?access_error_msg)$",
    re.IGNORECASE,
)
_DISTRIBUTED = re.compile(
    r"(ProcessGroupNCCL2?|NCCLXStub|_DEFAULT_PG_NCCL_TIMEOUT|_get_intra_node_comm_usage_counter|_hash_tensors|"
    r"_reset_fr_recording_nccl)$|_dump_nccl|_is_nvshmem|_nvshmem|_(un)?register_external_nccl"
)
_LIBRARY_FLAGS = ("_has_cudnn", "_has_cusparselt", "_has_magma")
# Called while the rest of torch is loaded, for the place of a setting: any memory will do.
_GIVE_A_PLACE = ("_ZN4c10d15get_gil_checkerEv",)
# Made while torch.distributed is loaded, as what a parameter is when it is not given: Gloo's options will do.
_MAKE_OPTIONS = ("_ZN4c10d16ProcessGroupNCCL7OptionsC1Eb",)
# Asked of any torch. No, says a CPU build.
_SAY_NO = re.compile(r"_ZN3sdp(\d+can_use|\d+is)_\w*attention\w*")
_FLAGS = ("-std=c++17", "-O1", "-fPIC", "-fvisibility=default", "-w")

_loaded: list[ctypes.CDLL] = []


def is_cuda_build(torch_folder: Path) -> bool:
    """Whether this torch comes with CUDA's kernels."""
    return (torch_folder / "lib" / "libtorch_cuda.so").is_file()


def installed_torch() -> Path | None:
    """The folder of the torch that an import would find."""
    found = importlib.machinery.PathFinder.find_spec("torch")
    return Path(found.origin).parent if found is not None and found.origin else None


def take_its_place(torch_folder: Path) -> None:
    """Before torch is loaded: from now on the loader takes our libraries for its CUDA ones."""
    if not _loaded:
        _loaded.extend(ctypes.CDLL(str(path)) for path in stand_ins(torch_folder))
        sys.meta_path.insert(0, _BeforeTorchCuda())


def take_its_place_or_say_why(torch_folder: Path) -> None:
    """The same for a program under `kpt emulate`, which runs on without a GPU."""
    try:
        take_its_place(torch_folder)
    except TorchDeviceError as problem:
        print(f"kpt emulate: torch has no emulated GPU: {problem}", file=sys.stderr, flush=True)


class _BeforeTorchCuda:
    """By then torch._C is there, and nothing has taken a name of it.

    It stays in sys.meta_path: Python is going through the list when it calls this, and would leave out the next one.
    """

    done = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name == "torch.cuda" and not self.done:
            self.done = True
            hide_cuda(sys.modules["torch._C"])
            # torch asks this while it is imported, to register kernels that would call CUDA's.
            sys.modules["torch.version"].cuda = None  # type: ignore[attr-defined]


def hide_cuda(torch_c: Any) -> None:
    """Take out of torch._C what a CPU build has not."""
    for name in [name for name in vars(torch_c) if _NAMES.match(name)]:
        delattr(torch_c, name)
    for name in _LIBRARY_FLAGS:
        setattr(torch_c, name, False)
    make_distributed = getattr(torch_c, "_c10d_init", None)
    if make_distributed is None:
        return

    def init() -> Any:
        done = make_distributed()
        distributed = torch_c._distributed_c10d
        for name in [name for name in vars(distributed) if _DISTRIBUTED.match(name)]:
            delattr(distributed, name)
        return done

    torch_c._c10d_init = init


def stand_ins(torch_folder: Path) -> tuple[Path, ...]:
    """The two libraries, built when the cache lacks them: for each build of torch once."""
    compiler = device_compiler()
    folder = default_cache() / f"torch-cuda-{_identity(torch_folder, compiler)}"
    if not folder.is_dir():
        with one_builder(folder):
            if not folder.is_dir():
                _build(folder, torch_folder / "lib", compiler)
    return tuple(folder / name for name in LIBRARIES)


def _identity(torch_folder: Path, compiler: Sequence[str]) -> str:
    libraries = [torch_folder / "lib" / name for name in (*LIBRARIES, _FOUNDATION)]
    sizes = [size_of(path) for path in (*libraries, Path(compiler[0]))]
    code = Path(__file__).read_bytes() + _MISSING.read_bytes()
    return hashlib.sha256(repr((list(compiler), sizes)).encode() + code).hexdigest()[:16]


def _build(folder: Path, libraries: Path, compiler: Sequence[str]) -> None:
    wanted = {symbol.name for symbol in dynamic_symbols(libraries / _FOUNDATION) if not symbol.section}
    with tempfile.TemporaryDirectory(prefix="kpt-torch-cuda-", dir=folder.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        for name, parts in LIBRARIES.items():
            source = Path(scratch) / f"{name}.cpp"
            there = [libraries / part for part in parts if (libraries / part).is_file()]
            source.write_text(stand_in_source([symbol for part in there for symbol in dynamic_symbols(part)], wanted))
            words = ["-shared", f"-Wl,-soname,{name}", "-o", str(made / name), str(source)]
            compiled([*compiler, *_FLAGS, *words], f"the stand-in of {libraries / name}")
        made.rename(folder)


def dynamic_symbols(library: Path) -> list[Symbol]:
    """What a library defines for others, and (section 0) what it wants from others."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return list(ElfFile(content).dynamic_symbols())


def stand_in_source(symbols: Iterable[Symbol], wanted: frozenset[str] | set[str]) -> str:
    """C++ that defines a library's own symbols, and of the shared ones (templates) those that are `wanted`."""
    own = {symbol.name: symbol for symbol in symbols if symbol.section}
    chosen = [symbol for symbol in own.values() if symbol.name in wanted or symbol.is_strong]
    lines = [f'#include "{_MISSING}"', *(line for n, symbol in enumerate(chosen) for line in _definition(n, symbol))]
    return "\n".join(lines) + "\n"


def _definition(number: int, symbol: Symbol) -> Iterator[str]:
    if not re.fullmatch(r"[\w.$@]+", symbol.name):
        return
    if symbol.is_function:
        yield f'{_kind(symbol.name)}({number}, "{symbol.name}")'
    elif symbol.is_object:
        words = max(1, -(-symbol.size // 8))
        if symbol.name.startswith("_ZTI"):
            yield f'TYPE({number}, "{symbol.name}", "{symbol.name[4:]}", {words})'
        elif symbol.name.startswith("_ZTV"):
            yield f'VTABLE({number}, "{symbol.name}", {words})'
        else:
            yield f'OBJECT({number}, "{symbol.name}", {words})'


def _kind(function: str) -> str:
    """The macro of missing.h that defines a function."""
    if function in _GIVE_A_PLACE:
        return "PLACE"
    if function in _MAKE_OPTIONS:
        return "OPTIONS"
    return "NO" if _SAY_NO.match(function) else "FUNCTION"
