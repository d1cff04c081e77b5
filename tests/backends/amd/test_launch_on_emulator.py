"""ROCmCompiler's kernels on an emulated GPU, where the caller names one; without that they never leave the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kernel_pytorch.backends.amd import CompiledKernel, hip_driver
from kernel_pytorch.backends.amd.amd_exceptions import AMDDeviceError
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.device import EmulatedDevice, EmulatedKernelFault

from .conftest import ADD

numpy = pytest.importorskip("numpy")

Compile = Callable[..., CompiledKernel]

WIDTH = """\
__global__ void width(int* lanes, unsigned long long* seen) {
  extern __shared__ int last[];
  last[threadIdx.x / warpSize] = __popcll(__ballot(1));
  __syncthreads();
  lanes[threadIdx.x] = last[threadIdx.x / warpSize];
  *seen = __ballot(1);
}
__global__ void past(float* x) { x[threadIdx.x + 4096] = 1; }
"""


@pytest.fixture(params=["mi300x", "rx7900xtx", pytest.param("rx9070xt", marks=pytest.mark.slow)])
def device(request: pytest.FixtureRequest) -> Iterator[EmulatedDevice]:
    with EmulatedDevice(request.param) as opened:
        yield opened


def test_results_come_back_at_the_width_of_the_gpu(device: EmulatedDevice, compile_once: Compile) -> None:
    target = device.gpu.target
    kernel = compile_once(ADD, "add", target=target.name, keep_assembly=True)
    a, b = numpy.arange(300, dtype=numpy.float32), numpy.full(300, 2, dtype=numpy.float32)
    c = numpy.zeros(300, dtype=numpy.float32)
    events = kernel.launch(2, 256, [a, b, c, 290], on=device)
    assert (c[:290] == a[:290] + 2).all() and (c[290:] == 0).all()
    assert [one.grid for one in events.launches] == [(2, 1, 1)]
    several = compile_once(WIDTH, "kernels", target=target.name, keep_assembly=True)
    lanes, seen = numpy.zeros(128, dtype=numpy.int32), numpy.zeros(1, dtype=numpy.uint64)
    several.launch(1, 128, [lanes, seen], shared_bytes=16, kernel="width", on=device)
    assert (lanes == target.wave_size).all()
    assert int(seen[0]) == 2**target.wave_size - 1


def test_torch_tensors_are_updated_in_place(device: EmulatedDevice, compile_once: Compile) -> None:
    torch = pytest.importorskip("torch")
    kernel = compile_once(ADD, "add", target=device.gpu.target.name, keep_assembly=True)
    a, b, c = torch.randn(100), torch.randn(100), torch.zeros(100)
    kernel.launch((1,), (128, 1, 1), (a, b, c, 100), on=device)
    assert torch.equal(c, a + b)


def test_with_and_without_the_assembly_no_disassembler_is_needed(
    make_compiler: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the compiler is the one in ziglang: a source of its own, so that no cache knows it."""
    monkeypatch.setattr("kernel_pytorch.toolchain.disassemble._objdumps", lambda: iter(()))
    source = "__global__ void fill_with_91(int* x) { x[threadIdx.x] = 91; }"
    compiler = make_compiler()
    x = numpy.zeros(64, dtype=numpy.int32)
    for hit in (False, True):
        kernel = compiler.compile_kernel(source, "fill_with_91", target="gfx942", keep_assembly=True)  # type: ignore[attr-defined]
        assert kernel.cache_hit is hit and "v_mov_b32" in kernel.assembly
    with EmulatedDevice("mi300x") as mi300x:
        kernel.launch(1, 64, [x], on=mi300x)
    assert (x == 91).all()
    without = compiler.compile_kernel(source.replace("91", "92"), "fill_with_92", target="gfx942")  # type: ignore[attr-defined]
    assert without.assembly is None
    with EmulatedDevice("mi300x") as mi300x:
        without.launch(1, 64, [x], on=mi300x)
    assert (x == 92).all()


def test_it_is_never_chosen_silently(compile_once: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hip_driver, "hip_library_candidates", lambda: iter(()))
    monkeypatch.setattr(hip_driver, "_found", {})
    monkeypatch.setattr(EmulatedDevice, "launch_code_object", lambda *_, **__: pytest.fail("nobody asked for this"))
    with pytest.raises(AMDDeviceError):
        compile_once(ADD, "add").launch(1, 64, [None, None, None, 0])


def test_what_does_not_fit_is_refused(compile_once: Compile) -> None:
    kernel = compile_once(ADD, "add", target="gfx1100")
    x = numpy.zeros(8, dtype=numpy.float32)
    with EmulatedDevice("mi300x") as mi300x:
        with pytest.raises(UsageError, match=r"is for gfx1100, .* is gfx942"):
            kernel.launch(1, 64, [x, x, x, 8], on=mi300x)
        with pytest.raises(ValueError, match="no stream= and no device="):
            kernel.launch(1, 64, [x, x, x, 8], stream=7, on=mi300x)
        faulty = compile_once(WIDTH, "kernels", keep_assembly=True)
        with pytest.raises(EmulatedKernelFault) as caught:
            faulty.launch(1, 64, [x], kernel="past", on=mi300x)
        assert caught.value.faults[0].kind == "bounds"
        with pytest.raises(ValueError, match="more than the 65536 bytes"):
            faulty.launch(1, 64, [x, x], shared_bytes=70000, kernel="width", on=mi300x)
