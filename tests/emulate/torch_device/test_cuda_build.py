"""A CUDA build of torch is loaded without its CUDA libraries. Here a small stand-in plays torch: the wheel has 2 GB."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernel_pytorch.emulate.libraries import host_cxx
from kernel_pytorch.emulate.torch_device.build import TorchDeviceError, device_compiler
from kernel_pytorch.emulate.torch_device.cuda_build import hide_cuda, is_cuda_build, stand_ins

C10_CUDA = """
namespace c10::cuda {
long allocator[3] = {7, 7, 7};
void set_device(int) {}
}
"""
TORCH_CUDA = """
#include <string>
struct Generator { virtual ~Generator(); virtual int seed() const; long state; };
Generator::~Generator() = default;
int Generator::seed() const { return 3; }
namespace at::cuda { std::string version() { return "real"; } }
namespace sdp { bool can_use_flash_attention(int) { return true; } }
namespace elsewhere { int used_by_another_extension() { return 1; } }
"""
TORCH_PYTHON = """
#include <stdexcept>
#include <string>
#include <typeinfo>
struct Generator { virtual ~Generator(); virtual int seed() const; long state; };
namespace c10::cuda { extern long allocator[3]; void set_device(int); }
namespace at::cuda { std::string version(); }
namespace sdp { bool can_use_flash_attention(int); }
static std::string said;
extern "C" const char* ask() {
    try { said = at::cuda::version(); } catch (const std::runtime_error& problem) { said = problem.what(); }
    return said.c_str();
}
extern "C" const char* type_name() { return typeid(Generator).name(); }
extern "C" long allocator() { return c10::cuda::allocator[2]; }
extern "C" int flash() { return sdp::can_use_flash_attention(0); }
extern "C" void set_device() { c10::cuda::set_device(0); }
"""
PROGRAM = """
import ctypes, sys
from pathlib import Path
from kernel_pytorch.emulate.torch_device.cuda_build import take_its_place
folder = Path(sys.argv[1])
if sys.argv[2] == "without":
    take_its_place(folder)
torch = ctypes.CDLL(str(folder / "lib" / "libtorch_python.so"))
torch.ask.restype = torch.type_name.restype = ctypes.c_char_p
torch.allocator.restype = ctypes.c_long
print(torch.ask().decode(), torch.type_name().decode(), torch.allocator(), torch.flash(), sep="|")
mapped = {line.split()[-1] for line in open("/proc/self/maps")}
loaded = {path for path in mapped if path.endswith(("libtorch_cuda.so", "libc10_cuda.so"))}
print(any(Path(path).parent == folder / "lib" for path in loaded), len(loaded))
"""


@pytest.fixture(scope="module")
def torch_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        compiler = device_compiler()
    except TorchDeviceError as problem:
        pytest.skip(str(problem))
    assert compiler == tuple(host_cxx())
    folder = tmp_path_factory.mktemp("torch")
    lib = folder / "lib"
    lib.mkdir()
    for name, code, needs in (
        ("c10_cuda", C10_CUDA, ()),
        ("torch_cuda", TORCH_CUDA, ("-lc10_cuda",)),
        ("torch_python", TORCH_PYTHON, ("-ltorch_cuda", "-lc10_cuda")),
    ):
        source = folder / f"{name}.cpp"
        source.write_text(code)
        words = ["-std=c++17", "-shared", "-fPIC", str(source), "-o", str(lib / f"lib{name}.so"), f"-L{lib}", *needs]
        subprocess.run([*compiler, *words, f"-Wl,-soname,lib{name}.so,-rpath,$ORIGIN"], check=True)
    return folder


def load(folder: Path, how: str) -> list[str]:
    command = [sys.executable, "-c", PROGRAM, str(folder), how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_loader_takes_our_libraries_for_cudas(torch_folder: Path) -> None:
    assert is_cuda_build(torch_folder)
    assert load(torch_folder, "with") == ["real|9Generator|7|1", "True 2"]
    said, where = load(torch_folder, "without")
    message, kind, allocator, flash = said.split("|")
    assert message.startswith("at::cuda::version")
    assert "is in torch's CUDA library" in message
    assert (kind, allocator, flash) == ("9Generator", "0", "0")
    assert where == "False 2"


def test_what_only_other_libraries_want_is_there_too(torch_folder: Path) -> None:
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", str(stand_ins(torch_folder)[1])], capture_output=True, text=True, check=True
    ).stdout
    assert "used_by_another_extension" in symbols


def test_a_build_without_cuda_is_none(tmp_path: Path) -> None:
    assert not is_cuda_build(tmp_path)


def test_the_names_of_a_cuda_build_are_hidden_and_no_others() -> None:
    hidden = [
        "_cuda_getDeviceCount",
        "_CudaStreamBase",
        "_CUDAGraph",
        "_MemPool",
        "_nccl_version",
        "_scatter",
        "_cudnn",
    ]
    kept = ["_get_cudnn_enabled", "_set_cublas_allow_tf32", "_has_cuda", "_c10d_init"]
    distributed = SimpleNamespace(
        ProcessGroupNCCL=1, _is_nvshmem_available=1, _make_nccl_premul_sum=1, ProcessGroupGloo=1
    )
    torch_c = SimpleNamespace(**dict.fromkeys([*hidden, *kept], 1), _has_cudnn=True)

    def init() -> bool:
        torch_c._distributed_c10d = distributed
        return True

    torch_c._c10d_init = init
    hide_cuda(torch_c)
    assert torch_c._c10d_init()
    assert not any(hasattr(torch_c, name) for name in hidden)
    assert all(hasattr(torch_c, name) for name in kept)
    assert not torch_c._has_cudnn
    assert set(vars(distributed)) == {"_make_nccl_premul_sum", "ProcessGroupGloo"}
