"""What cannot be had is said before anything runs, by its name and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.emulate.source.build import SourceBuildFailed, SourceOptions, build_source
from kernel_pytorch.emulate.source.run import run_source


def problem(folder: Path, text: str, suffix: str = ".cu") -> str:
    source = folder / f"program{suffix}"
    source.write_text(text)
    with pytest.raises(SourceBuildFailed) as failure:
        build_source([source], folder / "program")
    return str(failure.value)


def test_a_header_that_is_not_there(tmp_path: Path) -> None:
    said = problem(tmp_path, "#include <cublas_v2.h>\nint main() {}\n")
    assert said.startswith("not supported at source level: #include <cublas_v2.h>")
    assert "program.cu:1" in said


def test_a_function_that_is_not_there(tmp_path: Path) -> None:
    said = problem(tmp_path, "int main() {\n cudaGraphCreate(nullptr, 0);\n}\n")
    assert said.startswith("not supported at source level: cudaGraphCreate\n")
    assert "program.cu:2" in said


def test_inline_ptx(tmp_path: Path) -> None:
    said = problem(tmp_path, '__global__ void k() {\n asm("membar.gl;");\n}\nint main() {}\n')
    assert "not supported at source level" in said and 'program.cu:2: inline PTX: "membar.gl;"' in said


def test_an_error_of_the_program_s_own(tmp_path: Path) -> None:
    said = problem(tmp_path, "int main() {\n return nothing;\n}\n")
    assert "does not build for the CPU" in said and "program.cu:2" in said


def test_no_main(tmp_path: Path) -> None:
    assert problem(tmp_path, "__global__ void k() {}\n").endswith("has no main()")


def test_several_files_headers_and_defines(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "scale.cuh").write_text("__device__ __forceinline__ int scaled(int x) { return x * FACTOR; }\n")
    (tmp_path / "kernel.cu").write_text(
        '#include "scale.cuh"\n__global__ void k(int *x) { x[threadIdx.x] = scaled(threadIdx.x); }\n'
        "void go(int *x) { k<<<1, 4>>>(x); }\n"
    )
    (tmp_path / "main.cpp").write_text(
        "#include <cuda_runtime.h>\n#include <cstdio>\nvoid go(int *);\nint main(int n, char **v) {\n"
        " int *x, y[4]; cudaMalloc(&x, 16); go(x); cudaMemcpy(y, x, 16, cudaMemcpyDeviceToHost);\n"
        ' printf("%d %s\\n", y[3], v[1]); return n; }\n'
    )
    options = SourceOptions((tmp_path / "inc",), ("FACTOR=7",))
    program = build_source([tmp_path / "kernel.cu", tmp_path / "main.cpp"], tmp_path / "program", options)
    run = run_source(program, ["word"])
    assert (run.stdout, run.exit_code) == ("21 word\n", 2)


def test_a_binary_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "binary.cu").write_bytes(bytes(range(256)))
    with pytest.raises(SourceBuildFailed, match=r"binary\.cu: not a text file"):
        build_source([tmp_path / "binary.cu"], tmp_path / "out")
