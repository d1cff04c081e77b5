"""Every HIP name of the table is one that ROCm's own headers declare, asked of the compiler itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kernel_pytorch.port.names.table import Name, all_names
from kernel_pytorch.toolchain.compile import CompileFailed, CompileOptions, check_host
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain

pytestmark = pytest.mark.rocm_headers

HEADERS = {
    "blas": ("hipblas/hipblas.h",),
    "complex": ("hip/hip_complex.h",),
    "constants": ("hip/hip_math_constants.h",),
    "driver": ("hip/hip_gl_interop.h", "hip/hiprtc.h"),
    "fft": ("hipfft/hipfft.h", "hipfft/hipfftXt.h"),
    "fp16": ("hip/hip_fp16.h",),
    "nccl": ("rccl/rccl.h",),
    "rand": ("hiprand/hiprand.h", "hiprand/hiprand_kernel.h", "hiprand/hiprand_mtgp32_host.h"),
    "rtc": ("hip/hiprtc.h",),
    "runtime": ("hip/hip_gl_interop.h",),
    "solver": ("hipsolver/hipsolver.h",),
    "sparse": ("hipsparse/hipsparse.h",),
}
# Behind an option that a program has to set (several processes in hipFFT, C in hipBLAS), or in a header of its own.
BEHIND_AN_OPTION = (
    "hipblasBfloat16_public",
    "hipfftMp",
    "HIPFFT_COMM_",
    "hipfftXtSetDistribution",
    "hipfftXtSetSubformatDefault",
    "hipRound",
)
# Types of C++ itself: the flags of CUDA's driver, and cuSOLVER's integer.
LANGUAGE = ("int", "unsigned")


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        found = find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    if found.headers != "debian" and found.kind != "rocm":
        pytest.skip("ROCm's own headers are needed")
    return found


def program(headers: Sequence[str], rows: Sequence[Name]) -> str:
    """A name that is no macro is named by a using-declaration: that takes functions, types and enumerators alike."""
    lines = ["#include <hip/hip_runtime.h>", *(f"#include <{header}>" for header in headers), "namespace rows {"]
    for name in sorted({row.hip for row in rows}):
        lines += [f"#ifndef {name}", f"using ::{name};", "#endif"]
    return "\n".join([*lines, "}\n"])


@pytest.mark.parametrize("library", sorted(HEADERS))
def test_every_name_is_declared(library: str, toolchain: Toolchain, tmp_path: Path) -> None:
    rows = [row for row in all_names() if row.library == library and row.hip.isidentifier()]
    rows = [row for row in rows if not row.hip.startswith(BEHIND_AN_OPTION) and row.hip not in LANGUAGE]
    assert rows
    (tmp_path / "rows.hip").write_text(program(HEADERS[library], rows))
    include = Path(toolchain.rocm_path or "/") / "include"
    options = CompileOptions(include_dirs=(include,), extra=("-ferror-limit=0",))
    try:
        check_host(tmp_path / "rows.hip", toolchain, options)
    except CompileFailed as failure:
        pytest.fail("\n".join(str(message) for message in failure.messages[:20]))


def test_a_name_that_nobody_declares_is_found(toolchain: Toolchain, tmp_path: Path) -> None:
    row = Name("cudaNothing", "hipNothingOfThisName", "function", "runtime", "ok", "", "")
    (tmp_path / "rows.hip").write_text(program((), [row]))
    with pytest.raises(CompileFailed, match="hipNothingOfThisName"):
        check_host(tmp_path / "rows.hip", toolchain, CompileOptions())
