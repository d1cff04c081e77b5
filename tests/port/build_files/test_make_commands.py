"""What `make -n` prints, read as commands of nvcc; and the switches of a Makefile that ask for GPU code."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.port.build_files.make_commands import gpu_switches, nvcc_units

HERE = Path("/project")


@pytest.mark.parametrize(
    ("condition", "switches"),
    [
        ("ifeq ($(GPU), 1)", ("GPU=1",)),
        ("ifeq (${USE_CUDA},yes)", ("USE_CUDA=yes",)),
        ("ifeq (ON, $(WITH_CUDA))", ("WITH_CUDA=ON",)),
        ('ifeq "$(CUDA)" "true"', ("CUDA=true",)),
        ("ifdef GGML_CUBLAS", ("GGML_CUBLAS=1",)),
        ("  ifneq ($(ENABLE_GPU),0)", ("ENABLE_GPU=1",)),
        ("ifneq ($(GPU),)", ("GPU=1",)),
        ("ifeq ($(GPU), 0)", ()),
        ("ifeq ($(DEBUG), 1)", ()),
        ("ifdef CUDA_PATH", ()),
        ("ifneq ($(CUDA_HOME),)", ()),
        ("ifdef GPU_ARCH", ()),
        ("ifdef CUDNN", ()),
    ],
)
def test_switches(condition: str, switches: tuple[str, ...]) -> None:
    assert gpu_switches(f"GPU=0\n{condition}\nX=1\nendif\n") == switches


def test_the_flags_of_each_source() -> None:
    printed = (
        "make: Entering directory '/project'\n"
        "echo building\n"
        "nvcc -arch=sm_70 -Iinclude -I/usr/local/cuda/include -DGPU -D N=4 -std=c++20 \\\n"
        '  --compiler-options "-Wall -DHOST -fPIC" -Xcompiler=-DALSO,-O2 -include first.h -c src/a.cu -o a.o\n'
        "gcc -DNOT_THIS -c src/b.c -o b.o\n"
        "make: Leaving directory '/project'\n"
    )
    (unit,) = nvcc_units(printed, HERE)
    assert unit.source == HERE / "src/a.cu"
    assert unit.defines == ("GPU", "N=4", "HOST", "ALSO")
    assert unit.include_dirs == (HERE / "include", Path("/usr/local/cuda/include"))
    assert (unit.included, unit.std) == (("first.h",), "c++20")


def test_folders_of_makes_that_make_calls_and_of_cd() -> None:
    printed = (
        "make[1]: Entering directory '/project/sub'\n"
        "/opt/cuda/bin/nvcc -DX a.cu b.cu -o ab\n"
        "make[1]: Leaving directory '/project/sub'\n"
        "cd other && ccache nvcc -I. -c c.cu\n"
        "test -d x || (nvcc -c d.cu; true)\n"
    )
    units = {unit.source: unit for unit in nvcc_units(printed, HERE)}
    assert list(units) == [HERE / one for one in ("sub/a.cu", "sub/b.cu", "other/c.cu", "d.cu")]
    assert units[HERE / "sub/b.cu"].defines == ("X",)
    assert units[HERE / "other/c.cu"].include_dirs == (HERE / "other",)


@pytest.mark.parametrize("line", ["nvcc 'a.cu", "nvcc", "nvcc -D", "echo nvcc_a.cu", "nvcc -o x.cu.o x.cpp"])
def test_what_is_no_command_of_nvcc_for_a_source_gives_nothing(line: str) -> None:
    assert nvcc_units(line, HERE) == ()
