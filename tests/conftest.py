"""Settings of the whole test run."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
from pathlib import Path

import pytest

# Tests run one process per core: threads inside each would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# The emulator's libraries take a minute of CPU to build at -O2 and half of that at -O0; tests do little in them.
if shutil.which("g++"):
    os.environ.setdefault("KPT_HOST_CXX", "g++ -O0")


@pytest.fixture(autouse=True, scope="session")
def own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Journals of ports that tests write go where tests write, not to the user's home."""
    os.environ["KPT_STATE_DIR"] = str(tmp_path_factory.mktemp("state"))


# Under nohup, or in the background of a script, some signals come in ignored, and children inherit that: the tests of
# signals would wait for ever.
for _number, _handler in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _handler)

# Workers take whole files in this order. The longest come first: at the end nobody waits for one that began late.
LONGEST = (
    "verify/install/test_install_level.py",
    "emulate/wave_faults/test_wave_faults.py",
    "backends/test_distributed.py",
    "docs/test_examples.py",
    "emulate/torch_device/test_torch_device.py",
    "hostile/test_nothing_runs.py",
    "perf/inspect/test_inspect.py",
    "hostile/test_signals.py",
    "verify/test_pyramid.py",
    "port/test_stand_in_run.py",
    "emulate/conformance/test_lane.py",
    "backends/amd/test_rocm_compiler.py",
    "perf/ladder/test_environment_trial.py",
    "hostile/test_exit_status.py",
    "emulate/conformance/test_wave.py",
    "port/templates/test_placed.py",
    "perf/decode/test_decode_kernels.py",
    "models/kernels/test_kernels_build.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    turn = {here / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turn.get(item.path, len(turn)))  # stable: the rest keeps its order


STAND_IN_TORCH = {
    "version.py": "__version__ = '9.9.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n",
    "utils/cpp_extension.py": "flags = ['-std=c++17']\n",
    "include/torch/extension.h": "#pragma once\nnamespace torch { struct Tensor { float *data; int size; }; }\n",
    "include/ATen/cuda/CUDAContext.h": "#pragma once\n#include <cuda_runtime.h>\n"
    "namespace at::cuda { inline cudaStream_t getCurrentCUDAStream() { return nullptr; } }\n",
}


@pytest.fixture
def stand_in_torch(tmp_path: Path) -> Path:
    """A folder like an installed torch: headers of three lines, and the renaming tool of the torch that is here."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        pytest.skip("torch is not installed: its torch.utils.hipify is what is tested")
    folder = tmp_path / "site-packages/torch"
    for name, text in STAND_IN_TORCH.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    shutil.copytree(Path(spec.origin).parent / "utils/hipify", folder / "utils/hipify")
    return folder
