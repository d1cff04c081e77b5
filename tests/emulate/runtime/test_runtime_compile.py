"""hiprtc: options, name expressions, compilation through the toolchain."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from kernel_pytorch.emulate.runtime_compile import compile_options, lowered_names, main
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from tests.emulate.runtime.conftest import Run


def test_options_are_those_of_the_toolchain(tmp_path: Path) -> None:
    given = [
        "-O1",
        "--std=c++20",
        "--gpu-architecture=gfx942:xnack-",
        "-DN=4",
        "-default-device",
        "-I/somewhere",
        "-I",
        "near",
    ]
    options, target = compile_options(given, tmp_path)
    assert (options.optimization, options.std, target) == ("-O1", "c++20", "gfx942:xnack-")
    # Folders are the program's: the compiler runs elsewhere, and is given them as absolute paths.
    assert options.extra == ("-DN=4",) and options.include_dirs == (tmp_path, Path("/somewhere"), Path("near"))


def test_names_come_from_the_assembly() -> None:
    assembly = "\t.p2align 3\n__kpt_name_0:\n\t.quad\t_Z5scaleIfEvPT_@rel64\n\n__kpt_name_12:\n\t.quad\t_Z1kv.kd\n"
    assert lowered_names(assembly) == {0: "_Z5scaleIfEvPT_", 12: "_Z1kv"}


def test_another_target_than_the_gpus_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gpu.json").write_text(json.dumps({"target": "gfx942"}))
    (tmp_path / "a.hip").write_text("")
    code = main(
        [str(tmp_path / "a.hip"), str(tmp_path / "out"), str(tmp_path / "gpu.json"), "a", "--offload-arch=gfx1100"]
    )
    assert code == 2
    assert "asks for gfx1100; the emulated GPU is a gfx942" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.rocm_headers
def test_a_program_compiles_while_it_runs(run: Run) -> None:
    try:
        find_toolchain()
    except ToolchainNotFoundError as problem:
        pytest.skip(str(problem))
    ran = run(
        """
        source = b'''#include "factor.h"
        template <class T> __global__ void scale(T *p) { p[threadIdx.x] *= FACTOR; }'''
        program = ctypes.c_void_p()
        texts, names = (ctypes.c_char_p * 1)(b"#define FACTOR 2"), (ctypes.c_char_p * 1)(b"factor.h")
        good("hiprtcCreateProgram", ctypes.byref(program), source, b"scale.cu", 1, texts, names)
        good("hiprtcAddNameExpression", program, b"scale<float>")
        code, length = call("hiprtcCompileProgram", program, 0, None), ctypes.c_size_t()
        good("hiprtcGetProgramLogSize", program, ctypes.byref(length))
        log = ctypes.create_string_buffer(length.value + 1)
        good("hiprtcGetProgramLog", program, log)
        assert code == 0, log.value.decode()
        lowered = ctypes.c_char_p()
        good("hiprtcGetLoweredName", program, b"scale<float>", ctypes.byref(lowered))
        good("hiprtcGetCodeSize", program, ctypes.byref(length))
        image = ctypes.create_string_buffer(length.value)
        good("hiprtcGetCode", program, image)
        loaded = ctypes.c_void_p()
        good("hipModuleLoadData", ctypes.byref(loaded), image)
        count = ctypes.c_uint()
        good("hipModuleGetFunctionCount", ctypes.byref(count), loaded)
        print(lowered.value.decode(), count.value)
        bad = ctypes.c_void_p()
        good("hiprtcCreateProgram", ctypes.byref(bad), b"__global__ void k() { missing; }", None, 0, None, None)
        assert call("hiprtcCompileProgram", bad, 0, None) == 6
        good("hiprtcGetProgramLogSize", bad, ctypes.byref(length))
        log = ctypes.create_string_buffer(length.value)
        good("hiprtcGetProgramLog", bad, log)
        assert b"missing" in log.value
        """,
        env={"KPT_EMULATE_COMPILE": f"{sys.executable} -m kernel_pytorch.emulate.runtime_compile"},
        timeout_s=120,
    )
    assert (ran.code, ran.out) == (0, "_Z5scaleIfEvPT_ 1\n"), ran.err
