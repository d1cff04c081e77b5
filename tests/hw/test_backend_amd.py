"""The runtime on an AMD GPU: what could not be run elsewhere.

With pytest: `python -m pytest tests/hw -m amd`. Without: `python tests/hw/test_backend_amd.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

import torch  # noqa: E402
from backend_cases import COMMON_CASES, Vendor, run_as_script  # noqa: E402

from kernel_pytorch.backends.amd import AMDBackend  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402
from kernel_pytorch.core.errors import MatrixCoreError  # noqa: E402
from kernel_pytorch.core.hardware import base_target, target  # noqa: E402

AMD = Vendor("amd", AMDBackend)
HAS_GPU = torch.version.hip is not None and torch.cuda.is_available()


def case_the_architecture_is_that_of_the_gfx_target(vendor: Vendor) -> None:
    with AMDBackend() as backend:
        name = base_target(torch.cuda.get_device_properties(backend.device).gcnArchName)
        info = backend.get_device_info()
        assert info["gfx_target"] == name and info["architecture"] == target(name).arch.lower()
        assert info["wave_size"] == target(name).wave_size and info["rocm_available"]
        assert backend.config.architecture is target(name).amd_architecture


def case_library_settings_are_applied(vendor: Vendor) -> None:
    before = torch.cuda.tunable.is_enabled()
    with AMDBackend(AMDConfig(optimization_level="conservative", miopen_enabled=False)):
        assert torch.cuda.tunable.is_enabled() and not torch.cuda.tunable.tuning_is_enabled()
        assert not torch.backends.cudnn.enabled
    assert torch.cuda.tunable.is_enabled() == before and torch.backends.cudnn.enabled


def case_a_gemm_in_fp8_is_allowed_by_architecture(vendor: Vendor) -> None:
    with AMDBackend() as backend:
        if backend.target is not None and backend.target.fp8_format:
            assert str(backend.fp8_dtype()) == f"torch.float8_{backend.target.fp8_format}"
            return
        try:
            backend.fp8_dtype()
        except MatrixCoreError:
            return
        raise AssertionError("FP8 was allowed on a GPU without it")


CASES = [*COMMON_CASES, *(value for name, value in list(globals().items()) if name.startswith("case_"))]

try:
    import pytest
except ImportError:
    pass
else:
    pytestmark = [
        pytest.mark.amd,
        pytest.mark.skipif(not HAS_GPU, reason="needs an AMD GPU and a ROCm build of torch"),
    ]

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("case_"))
    def test_backend(case: Callable[[Vendor], None]) -> None:
        case(AMD)


if __name__ == "__main__":
    if not HAS_GPU:
        sys.exit("not run: this needs an AMD GPU and a ROCm build of torch")
    sys.exit(min(run_as_script(AMD, CASES), 1))
