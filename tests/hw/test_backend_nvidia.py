"""The runtime on an NVIDIA GPU.

With pytest: `python -m pytest tests/hw -m nvidia`. Without: `python tests/hw/test_backend_nvidia.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

import torch  # noqa: E402
from backend_cases import COMMON_CASES, Vendor, run_as_script  # noqa: E402

from kernel_pytorch.backends.amd import AMDBackend  # noqa: E402
from kernel_pytorch.backends.nvidia import NVIDIABackend  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402
from kernel_pytorch.core.errors import ROCmNotAvailableError  # noqa: E402

NVIDIA = Vendor("nvidia", NVIDIABackend)
HAS_GPU = torch.version.cuda is not None and torch.cuda.is_available()


def case_amd_backend_falls_back_or_refuses(vendor: Vendor) -> None:
    backend = AMDBackend()
    assert backend.device.type == "cpu" and "CUDA build" in backend.fallback_reason
    try:
        AMDBackend(AMDConfig(enable_strict_validation=True))
    except ROCmNotAvailableError as error:
        assert "CUDA build" in str(error)
    else:
        raise AssertionError("strict validation let a machine without ROCm pass")


def case_tensor_cores_are_used_by_default(vendor: Vendor) -> None:
    with NVIDIABackend() as backend:
        assert backend.precision.name == ("bf16" if torch.cuda.get_device_capability() >= (8, 0) else "fp32")


CASES = [*COMMON_CASES, *(value for name, value in list(globals().items()) if name.startswith("case_"))]

try:
    import pytest
except ImportError:
    pass
else:
    pytestmark = [
        pytest.mark.nvidia,
        pytest.mark.skipif(not HAS_GPU, reason="needs an NVIDIA GPU and a CUDA build of torch"),
    ]

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("case_"))
    def test_backend(case: Callable[[Vendor], None]) -> None:
        case(NVIDIA)


if __name__ == "__main__":
    if not HAS_GPU:
        sys.exit("not run: this needs an NVIDIA GPU and a CUDA build of torch")
    sys.exit(min(run_as_script(NVIDIA, CASES), 1))
