"""torch's headers in their ROCm form: made once by torch's own tool, never by importing torch."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.toolchain import torch_headers
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.torch_headers import (
    TorchHeadersError,
    extension_options,
    hipify,
    installed_torch,
    rocm_headers,
    torch_at,
)


def test_a_torch_is_read_and_not_imported(stand_in_torch: Path) -> None:
    torch = torch_at(stand_in_torch)
    assert (torch.version, torch.hip, torch.standard) == ("9.9.0+cpu", None, "c++17")
    code = (
        "import sys; from kernel_pytorch.verify.build_level import *; installed_torch(); print('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"


def test_headers_are_renamed_once_and_the_wheel_is_left_alone(
    stand_in_torch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path: path.read_bytes() for path in stand_in_torch.rglob("*") if path.is_file()}
    torch = torch_at(stand_in_torch)
    made = rocm_headers(torch, tmp_path / "cache")
    assert "hipStream_t" in (made / "ATen/hip/HIPContext.h").read_text()
    assert "AT_ROCM_ENABLED() 1" in (made / "ATen/hip/HIPConfig.h").read_text()
    assert {path: path.read_bytes() for path in stand_in_torch.rglob("*") if path.is_file()} == before
    monkeypatch.setattr(torch_headers, "hipify", lambda *_: pytest.fail("made a second time"))
    assert rocm_headers(torch, tmp_path / "cache") == made
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [made.name]


def test_another_torch_gets_headers_of_its_own(stand_in_torch: Path, tmp_path: Path) -> None:
    first = rocm_headers(torch_at(stand_in_torch), tmp_path / "cache")
    version = stand_in_torch / "version.py"
    version.write_text(version.read_text().replace("9.9.0", "9.9.1"))
    assert rocm_headers(torch_at(stand_in_torch), tmp_path / "cache") != first


def test_headers_of_a_rocm_torch_are_used_as_they_are(stand_in_torch: Path, tmp_path: Path) -> None:
    (stand_in_torch / "version.py").write_text("__version__ = '9.9.0+rocm7.2'\nhip: Optional[str] = '7.2.5'\n")
    torch = torch_at(stand_in_torch)
    assert torch.hip == "7.2.5"
    assert rocm_headers(torch, tmp_path / "cache") == stand_in_torch / "include"
    assert not (tmp_path / "cache").exists()


def test_without_torch_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TorchHeadersError, match="torch is not installed: pip install torch"):
        installed_torch()


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("include/torch", "has no headers"),
        ("utils/hipify", "torch.utils.hipify of torch 9.9.0.cpu failed: FileNotFoundError"),
        ("version.py", "is not a whole torch"),
    ],
)
def test_a_torch_with_a_piece_missing(stand_in_torch: Path, tmp_path: Path, gone: str, said: str) -> None:
    piece = stand_in_torch / gone
    shutil.rmtree(piece) if piece.is_dir() else piece.unlink()
    with pytest.raises(TorchHeadersError, match=said):
        rocm_headers(torch_at(stand_in_torch), tmp_path / "cache")
    assert not list(tmp_path.glob("cache/*"))


def test_a_cache_that_cannot_be_written_is_said(stand_in_torch: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(TorchHeadersError, match="KPT_CACHE_DIR names another folder"):
        rocm_headers(torch_at(stand_in_torch), tmp_path / "cache")


def test_a_header_of_an_include_folder_is_found_under_its_new_name(stand_in_torch: Path, tmp_path: Path) -> None:
    for folder in ("src", "include"):
        (tmp_path / "project" / folder).mkdir(parents=True)
    project = tmp_path / "project"
    (project / "include/kernel.h").write_text("inline cudaError_t f() { return cudaSuccess; }\n")
    (project / "src/main.cu").write_text('#include "kernel.h"\n')
    renamed = hipify(torch_at(stand_in_torch), project, "extension", [f"{project}/*"], [project / "include"])
    assert "hipSuccess" in renamed[project / "include/kernel.h"].read_text()
    assert '#include "kernel_hip.h"' in renamed[project / "src/main.cu"].read_text()


def test_a_source_without_kernels_is_plain_cxx(stand_in_torch: Path) -> None:
    torch = torch_at(stand_in_torch)
    kernels = extension_options(CompileOptions(), torch, torch.include, kernels=True)
    host = extension_options(CompileOptions(), torch, torch.include, kernels=False)
    assert host.extra[-2:] == ("-x", "c++") and "-x" not in kernels.extra
    assert "__HIP_NO_HALF_OPERATORS__=1" in kernels.defines and "__HIP_NO_HALF_OPERATORS__=1" not in host.defines
    assert kernels.std == host.std == "c++17" and "USE_ROCM=1" in host.defines
