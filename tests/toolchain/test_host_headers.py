"""HIP's headers as a plain C++ compiler reads them: torch compiles the .cpp files of an extension that way."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

PROGRAM = """
#include <hip/hip_runtime.h>
#include <hip/hip_bf16.h>
#include <hip/hip_complex.h>
#include <hip/hip_fp16.h>
#include <hip/hip_fp8.h>
#include <hip/hip_math_constants.h>
float sum(__half h, __hip_bfloat16 b) { return __half2float(h) + __bfloat162float(b) + float(__float2half(1.0f)); }
"""


def test_the_host_compiler_reads_hips_headers(tmp_path: Path) -> None:
    try:
        toolchain = find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    source = tmp_path / "a.cpp"
    source.write_text(PROGRAM)
    folders = [word for folder in toolchain.include_dirs for word in ("-I", str(folder))]
    flags = ["-x", "c++", "-std=c++17", "-D__HIP_PLATFORM_AMD__", "-fsyntax-only"]
    command = [*toolchain.compiler, *toolchain.host_flags, *flags, *folders, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]
