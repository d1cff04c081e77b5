"""A HIP program compiled against ROCm's own headers, linked against the stand-ins and run on the emulated GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import RunSettings, run_program
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

LIBRARIES = (
    "hipblas",
    "hipblaslt",
    "hipfft",
    "hiprand",
    "hipsparse",
    "hipsolver",
    "rocblas",
    "rocsolver",
    "rccl",
    "roctx64",
)


@pytest.mark.rocm_headers
def test_every_library_through_its_header(rocm_headers: Path, tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain(rocm_root=rocm_headers.parent)
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    source = Path(__file__).parent / "programs" / "every_library.hip"
    program = build_emulated([source], "gfx942", toolchain, tmp_path / "every_library", libraries=LIBRARIES)
    outcome = run_program(program.executable, [], gpu_by_alias("mi300x"), RunSettings(timeout_s=120))
    assert outcome.exit_code == 0, outcome.stdout + outcome.stderr
    assert outcome.stdout == "0 failed\n"
    near = outcome.events.fidelity
    assert near is not None
    calls = near.stand_in_calls
    assert {"hipblasSgemm", "rocblas_sgemm"} & set(calls) and all(count > 0 for count in calls.values())
    assert {name[:7] for name in calls} >= {"hipblas", "hiprand", "hipspar"}, calls
