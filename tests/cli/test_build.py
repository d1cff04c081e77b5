from __future__ import annotations

import json
import os
import re
import stat
import struct
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.toolchain.code_object import read_code_object
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

SCALE = """
#include <hip/hip_runtime.h>
#ifdef EXTRA
#include "extra.h"
#endif
#ifndef FACTOR
#define FACTOR 2
#endif
__global__ void scale(float* values, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] *= FACTOR;
}
"""
NARROW_MASK = """
#include <hip/hip_runtime.h>
__global__ void sum(float* values) {
  float v = values[threadIdx.x];
  v += __shfl_down_sync(0xffffffffu, v, 16);
  values[threadIdx.x] = v;
}
"""
HOST_ERROR = SCALE + "\nint main() { return undeclared_on_the_host; }\n"


@pytest.fixture(autouse=True)
def pip_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The toolchain of the pip packages, whatever else the machine has."""
    monkeypatch.setenv("KPT_TOOLCHAIN", "zig")
    monkeypatch.setenv("KPT_HEADERS", "triton")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    try:
        find_toolchain()
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    path = tmp_path / "scale.hip"
    path.write_text(SCALE)
    return path


def test_table_and_files(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "scale.hip", "--arch", "gfx942,gfx1100", "-o", "out"]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == "scale.hip"
    assert [line.split()[:2] for line in lines[2:]] == [["scale", "gfx942"], ["scale", "gfx1100"]]
    assert lines[2].endswith("8/8  wave slots")
    assert "2 code objects written to out" in said.err
    assert sorted(path.name for path in Path("out").iterdir()) == ["scale.gfx1100.hsaco", "scale.gfx942.hsaco"]
    for path in Path("out").iterdir():
        assert read_code_object(path.read_bytes()).kernels[0].name == "scale(float*, int)"
        umask = os.umask(0)
        os.umask(umask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask

    assert main(["build", "out/scale.gfx942.hsaco", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert (result["kind"], result["arch"]) == ("code-object", "gfx942")
    assert result["kernels"][0]["symbol"] == "_Z5scalePfi"


def test_json(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "scale.hip", "--gpu", "mi300x", "--json", "-o", "out"]) == 0
    said = capsys.readouterr()
    data = json.loads(said.out)
    assert said.err == ""
    assert data["toolchain"]["kind"] == "zig"
    device, host = data["results"]
    assert (device["arch"], device["status"], host["arch"], host["status"]) == ("gfx942", "built", "host", "built")
    assert device["output"] == os.path.join("out", "scale.gfx942.hsaco")  # noqa: PTH118
    (kernel,) = device["kernels"]
    assert kernel["occupancy"]["limiter"] == "wave slots"
    assert [arg["kind"] for arg in kernel["args"][:2]] == ["global_buffer", "by_value"]


def literals(path: str, *values: float) -> list[bool]:
    """Which of the numbers are in the machine code of a file, as 32-bit literals."""
    return [struct.pack("<f", value) in Path(path).read_bytes() for value in values]


def test_defines_includes_and_flags_after_dashes(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("inc").mkdir()
    Path("inc/extra.h").write_text("#define FACTOR (LEFT * RIGHT)\n")
    common = ["build", "scale.hip", "--arch", "gfx942", "--no-host", "-o", "out"]
    assert main([*common, "-D", "EXTRA", "-I", "inc", "-D", "LEFT=7", "--", "-DRIGHT=11"]) == 0
    assert literals("out/scale.gfx942.hsaco", 77.0, 91.0) == [True, False]
    entry = {"directory": ".", "file": "scale.hip", "command": "hipcc -DEXTRA -DLEFT=7 -Iinc -c scale.hip"}
    Path("compile_commands.json").write_text(json.dumps([entry]))
    assert main([*common, "--compile-commands", "compile_commands.json", "-D", "RIGHT=13"]) == 0
    assert literals("out/scale.gfx942.hsaco", 77.0, 91.0) == [False, True]
    assert main([*common, "-D", "EXTRA", "-I", "none"]) == 2
    assert "-I none: no such directory" in capsys.readouterr().err


def test_errors_are_mapped_and_shown_once(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("narrow.hip").write_text(NARROW_MASK)
    assert main(["build", "narrow.hip", "scale.hip", "--arch", "gfx942,gfx1100", "--no-host", "-o", "out"]) == 1
    said = capsys.readouterr()
    assert "narrow.hip: does not compile for gfx942, gfx1100" in said.err
    errors = [line for line in said.err.splitlines() if ": error: " in line]
    assert len(errors) == len(set(errors))
    assert any("[KP301]" in line for line in errors)
    assert said.out.startswith("scale.hip\n")
    assert sorted(path.name for path in Path("out").iterdir()) == ["scale.gfx1100.hsaco", "scale.gfx942.hsaco"]


def test_host_pass(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("host.hip").write_text(HOST_ERROR)
    line = HOST_ERROR.splitlines().index("int main() { return undeclared_on_the_host; }") + 1
    assert main(["build", "host.hip", "--arch", "gfx942"]) == 1
    said = capsys.readouterr().err
    assert f"host.hip:{line}:" in said
    assert "does not compile for" in said


def test_nothing_is_left_of_a_failed_build(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("narrow.hip").write_text(NARROW_MASK)
    assert main(["build", "narrow.hip", "--arch", "gfx942", "--no-host", "-o", "out"]) == 1
    assert not Path("out").exists()


def test_cuda_source(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("scale.cu").write_text(SCALE)
    assert main(["build", "scale.cu", "--arch", "gfx942", "--as-hip", "--no-host", "--asm"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("; scale.cu gfx942\n")  # the listing is the data here, the table is talk
    assert "s_endpgm" in said.out
    assert "wave slots" in said.err


def test_triton_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("triton")
    Path("k.py").write_text(
        "import triton\nimport triton.language as tl\n@triton.jit\ndef fill(p, B: tl.constexpr):\n"
        "    tl.store(p + tl.arange(0, B), 1.0)\n"
    )
    command = ["build", "k.py::fill", "--arch", "gfx942", "--signature", "*fp32", "--constexpr", "B=256", "-o", "out"]
    assert main(command) == 0
    line = capsys.readouterr().out.splitlines()[2].split()
    assert line[:2] == ["fill", "gfx942"]
    assert read_code_object(Path("out/fill.gfx942.hsaco").read_bytes()).kernels[0].name == "fill"
    assert main(["build", "k.py::fill", "--arch", "gfx942"]) == 2
    assert "--signature" in capsys.readouterr().err
    assert main(["build", "k.py", "--arch", "gfx942"]) == 2
    assert "k.py::KERNEL" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "needs a file"),
        (["none.hip"], "none.hip: no such file"),
        (["."], "a directory"),
        (["notes.txt"], "neither a HIP or CUDA source"),
        (["empty.hip", "--arch", "gfx943"], "did you mean gfx942"),
        (["empty.hip", "--arch", "sm_90"], "not an AMD target"),
        (["empty.hip", "--arch", ","], "at least one name"),
        (["empty.hip", "--gpu", "mi300"], "did you mean mi300x"),
        (["empty.hip", "--gpu", "h100"], "not an AMD GPU"),
        (["empty.hip", "-j", "0"], "at least 1"),
        (["broken.hsaco"], "broken.hsaco: damaged ELF file"),
        (["broken.hsaco", "--asm"], "--asm is for sources"),
        (["lib.a"], "static library"),
    ],
)
def test_usage_errors(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("empty.hip").touch()
    Path("notes.txt").write_text("notes")
    Path("broken.hsaco").write_bytes(b"\x7fELF broken")
    Path("lib.a").write_bytes(b"!<arch>\n")
    assert main(["build", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_two_sources_of_one_name(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("other").mkdir()
    Path("other/scale.hip").write_text(SCALE.replace("values", "numbers"))
    assert main(["build", "scale.hip", "other/scale.hip", "--arch", "gfx942", "--no-host", "-o", "out"]) == 2
    assert "would both be written to" in capsys.readouterr().err
    assert not Path("out").exists()


def test_unwritable_directory(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken").touch()
    assert main(["build", "scale.hip", "--arch", "gfx942", "--no-host", "-o", "taken"]) == 2
    assert "taken: cannot be written" in capsys.readouterr().err


def test_disassembly_falls_back_to_the_listing(
    scale: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pytorch.toolchain.disassemble._objdumps", lambda: iter(()))
    assert main(["build", "scale.hip", "--arch", "gfx906,gfx942", "--no-host", "--disassemble", "-o", "out"]) == 0
    assert "s_endpgm" in Path("out/scale.gfx906.dis").read_text()
    said = capsys.readouterr().err
    assert "no llvm-objdump knows gfx906" in said and "gfx942" not in said
    assert re.search(r"s_endpgm +// 0000000\w+: BF810000", Path("out/scale.gfx942.dis").read_text())
    assert main(["build", "out/scale.gfx906.hsaco", "--disassemble"]) == 2
    assert "install ROCm, or LLVM's tools" in capsys.readouterr().err


def test_toolchain_report(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "--toolchain", "--compiler", "zig"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[7:12].strip() for line in lines[:3]] == ["rocm", "clang", "zig"]
    assert lines[2].startswith("used   zig")
    assert main(["build", "--toolchain", "--json", "--compiler", "zig"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["chosen"]["kind"] == "zig"
    assert [candidate["kind"] for candidate in data["candidates"]] == ["rocm", "clang", "zig"]


def test_no_toolchain(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("KPT_ROCM_ROOT", raising=False)
    monkeypatch.setattr("kernel_pytorch.toolchain.find.package_directory", lambda name: None)
    Path("a.hip").write_text(SCALE)
    assert main(["build", "a.hip"]) == 2
    assert 'pip install "ziglang==0.17.0" "triton>=3.5"' in capsys.readouterr().err
    assert main(["build", "--toolchain"]) == 2
    said = capsys.readouterr()
    assert "To get one" in said.err
    assert "lacks" in said.out


CUDA = """\
#include <cuda_runtime.h>
#include "lanes.cuh"

__global__ void sum(float* values) {
  values[threadIdx.x] = warp_sum(values[threadIdx.x]);
}
int launch(float* values) {
  sum<<<1, 64>>>(values);
  return cudaDeviceSynchronize() == cudaSuccess;
}
"""
CUDA_HEADER = """\
#pragma once
__device__ inline float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset >>= 1)
    v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}
"""


def test_cuda_is_translated_first(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sum.cu").write_text(CUDA)
    Path("lanes.cuh").write_text(CUDA_HEADER)
    assert main(["build", "sum.cu", "--arch", "gfx942,gfx1100", "-o", "out"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "sum.cu"
    assert sorted(path.name for path in Path("out").iterdir()) == ["sum.gfx1100.hsaco", "sum.gfx942.hsaco"]
    assert Path("sum.cu").read_text() == CUDA


def test_headers_of_include_folders_are_translated_too(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("src", "include"):
        Path(folder).mkdir()
    Path("src/sum.cu").write_text(CUDA)
    Path("include/lanes.cuh").write_text(CUDA_HEADER)
    assert main(["build", "src/sum.cu", "--arch", "gfx942", "-I", "include"]) == 0, capsys.readouterr().err
    assert Path("include/lanes.cuh").read_text() == CUDA_HEADER


def test_errors_in_translated_cuda_are_on_the_users_lines(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("sum.cu").write_text(CUDA)
    Path("lanes.cuh").write_text(CUDA_HEADER.replace("return v;", "return missing;"))
    assert main(["build", "sum.cu", "--arch", "gfx942"]) == 1
    assert "lanes.cuh:5:10: error: use of undeclared identifier 'missing'" in capsys.readouterr().err


def test_headers_that_are_included_through_the_folder_above(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("samples/sum", "common"):
        Path(folder).mkdir(parents=True)
    Path("samples/sum/sum.cu").write_text(CUDA.replace("lanes.cuh", "../../common/lanes.cuh"))
    Path("common/lanes.cuh").write_text(CUDA_HEADER)
    assert main(["build", "samples/sum/sum.cu", "--arch", "gfx942"]) == 0, capsys.readouterr().err


def test_a_header_outside_the_project_is_named_in_a_finding(scale: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("project/.git").mkdir(parents=True)
    Path("project/sum.cu").write_text(CUDA.replace("lanes.cuh", "../lanes.cuh"))
    Path("lanes.cuh").write_text(CUDA_HEADER)
    assert main(["build", "project/sum.cu", "--arch", "gfx942"]) == 1
    said = capsys.readouterr()
    assert "project/sum.cu:2:10: error: '../lanes.cuh' file not found" in said.err
    assert "KP001" in said.out + said.err
    assert "../lanes.cuh lies outside the project" in said.out + said.err
    assert main(["build", "project/sum.cu", "--arch", "gfx942", "-I", "."]) == 0, capsys.readouterr().err
