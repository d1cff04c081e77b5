"""A pytest fixture that runs a test on emulated GPUs of several widths.

def test_sum(emulated_gpu):            # once at wave 32, once at wave 64
    emulated_gpu.run(SOURCE, 1, 256, x)

def test_softmax(emulated_gpu):        # a @triton.jit kernel
    emulated_gpu.run(softmax, (5,), 256, out, x, 200, BLOCK=256)
    with emulated_gpu.triton():        # or whatever launches one
        library.softmax(x)

@pytest.mark.emulated_gpus("mi300x", "rx9070xt")     # or on GPUs of one's own choice

`pytest --emulated-gpu mi300x` gives the torch of the whole run that GPU as its "cuda" device.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kernel_pytorch.emulate.device import EmulatedDevice
    from kernel_pytorch.emulate.events import Events
    from kernel_pytorch.emulate.triton_session import TritonSession

_SESSION: pytest.StashKey[tuple[str, Any]] = pytest.StashKey()
DEFAULT_GPUS = ("rx7900xtx", "mi300x")


class EmulatedGPU:
    """What the fixture gives: the device, and `run` for kernels in any form that `launch` takes."""

    def __init__(self, device: EmulatedDevice) -> None:
        self.device = device

    @property
    def wave_size(self) -> int:
        return self.device.gpu.target.wave_size

    def run(self, kernel: Any, grid: Any, block: Any, *args: Any, name: str | None = None, **how: Any) -> Events:
        """Run a kernel; arrays are updated in place."""
        from kernel_pytorch.emulate.launch import launch_on

        return launch_on(self.device, kernel, grid, block, *args, name=name, **how)

    def triton(self) -> AbstractContextManager[TritonSession]:
        """Inside this, Triton's own launches (`kernel[grid](...)`) run on this GPU, with CPU tensors."""
        from kernel_pytorch.emulate.triton_session import emulated_triton

        return emulated_triton(device=self.device)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kernel_pytorch")
    group.addoption(
        "--emulated-gpu", metavar="NAME", help='torch\'s "cuda" device is this AMD GPU, emulated on the CPU'
    )
    group.addoption("--emulated-gpus", type=int, default=1, metavar="N", help="how many of them there are (1)")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Before any conftest or test is imported: they may ask torch about its GPU while they are."""
    name = early_config.known_args_namespace.emulated_gpu
    if not name:
        return
    from kernel_pytorch.core.errors import UsageError
    from kernel_pytorch.emulate.run import RunSettings
    from kernel_pytorch.emulate.torch_session import emulated_gpu as emulated_torch

    settings = RunSettings(devices=early_config.known_args_namespace.emulated_gpus)
    block = contextlib.ExitStack()
    try:
        early_config.stash[_SESSION] = (name, block.enter_context(emulated_torch(name, settings)))
    except UsageError as problem:
        raise pytest.UsageError(f"--emulated-gpu {name}: {problem}") from problem
    early_config.add_cleanup(block.close)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if _SESSION not in config.stash:
        return
    name, session = config.stash[_SESSION]
    calls, launches = sum(session.operators.values()), len(session.launches)
    terminalreporter.write_line(
        f"emulated {name}: {calls} ATen operators computed on the CPU, {launches} kernel launches as its machine code"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "emulated_gpus(*names): run the test on these emulated GPUs")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "emulated_gpu" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("emulated_gpus")
        metafunc.parametrize("emulated_gpu", marker.args if marker else DEFAULT_GPUS, indirect=True)


@pytest.fixture
def emulated_gpu(request: pytest.FixtureRequest) -> Iterator[EmulatedGPU]:
    """An emulated GPU, closed after the test."""
    from kernel_pytorch.emulate.device import EmulatedDevice

    with EmulatedDevice(request.param) as device:
        yield EmulatedGPU(device)
