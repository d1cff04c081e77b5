"""Compiling with nothing but PyPI packages: what comes out, and what happens when it cannot."""

from __future__ import annotations

import re
import struct
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import UnknownTargetError
from kernel_pytorch.toolchain.compile import (
    CompileFailed,
    CompileOptions,
    check_host,
    check_unit,
    compile_device,
    compile_device_text,
)
from kernel_pytorch.toolchain.find import Toolchain
from kernel_pytorch.toolchain.oclc import control_constants, isa_version
from kernel_pytorch.toolchain.other_passes import link_device
from tests.toolchain.pip_only import KERNELS, pip_toolchain

SIX_TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201")
# EF_AMDGPU_MACH of the ELF header, from LLVM's AMDGPU usage page.
MACHINE = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F, "gfx1030": 0x36, "gfx1100": 0x41, "gfx1201": 0x4E}
FAST = CompileOptions(optimization="-O1")
ADD_ONE = "__attribute__((global)) void add_one(float* p) { p[0] += 1.0f; }\n"


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return pip_toolchain()


def one_unit(kernels: list[Path]) -> str:
    """Several kernel files as one translation unit: headers first, then each file in a namespace of its own."""
    headers = {"#include <hip/hip_runtime.h>"}
    bodies = []
    for kernel in kernels:
        text = kernel.read_text()
        headers |= set(re.findall(r"^#include <.*>$", text, re.MULTILINE))
        body = re.sub(r"^#include <.*>$", "", text, flags=re.MULTILINE)
        bodies.append(f'namespace kpt_{kernel.stem} {{\n#line 1 "{kernel}"\n{body}\n}}')
    return "\n".join([*sorted(headers), *bodies]) + "\n"


@pytest.mark.parametrize("target", ["gfx942", pytest.param("gfx1100", marks=pytest.mark.slow)])
def test_every_kernel_builds(toolchain: Toolchain, target: str) -> None:
    halves = [KERNELS[start::2] for start in range(2)]
    with ThreadPoolExecutor(2) as pool:
        built = list(pool.map(lambda group: compile_device_text(one_unit(group), target, toolchain, FAST), halves))
    for group, code_object in zip(halves, built, strict=True):
        assert elf_machine(code_object) == MACHINE[target]
        for kernel in group:
            names = re.findall(r"__global__[^;{]*?\bvoid (\w+)\(", kernel.read_text())
            assert any(name.encode() in code_object for name in names), f"{kernel.stem}: {names}"


def test_every_host_side_checks(toolchain: Toolchain, tmp_path: Path) -> None:
    unit = tmp_path / "all.hip"
    unit.write_text(one_unit(KERNELS))
    check_host(unit, toolchain)


def test_host_side_checks_without_a_cxx_installation(tmp_path: Path) -> None:
    unit = tmp_path / "all.hip"
    unit.write_text(one_unit(KERNELS))
    hermetic = pip_toolchain("zig")
    assert not any("/usr/include" in flag for flag in hermetic.host_flags)
    check_host(unit, hermetic)


@pytest.mark.slow
@pytest.mark.parametrize("target", SIX_TARGETS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.stem)
def test_kernel_by_target(toolchain: Toolchain, kernel: Path, target: str) -> None:
    code_object = check_unit(kernel, target, toolchain)
    assert elf_machine(code_object) == MACHINE[target]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.stem)
def test_kernel_with_zigs_own_cxx_library(kernel: Path) -> None:
    check_unit(kernel, "gfx942", pip_toolchain("zig"))


def elf_machine(code_object: bytes) -> int:
    assert code_object[:5] == b"\x7fELF\x02"
    machine, flags = struct.unpack_from("<H", code_object, 18)[0], struct.unpack_from("<I", code_object, 48)[0]
    assert machine == 224
    return int(flags & 0xFF)


def test_matrix_instructions_are_used(toolchain: Toolchain) -> None:
    folder = KERNELS[0].parent
    cdna = compile_device(folder / "mfma_cdna.hip", "gfx942", toolchain, output="assembly").decode()
    rdna = compile_device(folder / "wmma_rdna.hip", "gfx1201", toolchain, output="assembly").decode()
    assert "v_mfma_f32_16x16x16" in cdna
    assert "v_mfma_f64_16x16x4" in cdna
    assert "v_wmma_f32_16x16x16_f16" in rdna


def test_same_input_same_bytes(toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = "#include <hip/hip_runtime.h>\nstatic __device__ int counter;\n" + ADD_ONE
    options = CompileOptions(debug=True)
    first = compile_device_text(source, "gfx942", toolchain, options)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    monkeypatch.chdir(tmp_path)
    second = compile_device_text(source, "gfx942", toolchain, options)
    assert first == second
    assert str(elsewhere).encode() not in second


@pytest.mark.parametrize("source", [ADD_ONE, "this is not C++"])
def test_no_temporary_files_are_left(
    toolchain: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: str
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    try:
        compile_device_text(source, "gfx942", toolchain)
    except CompileFailed:
        assert "not C++" in source
    assert list(tmp_path.iterdir()) == []


def test_defines_standard_and_optimisation_take_effect(toolchain: Toolchain) -> None:
    source = ADD_ONE + '#if VALUE != 7\n#error "not seven"\n#endif\nstatic_assert(__cplusplus > 201703L, "C++20");\n'
    good = CompileOptions(defines=("VALUE=7",), std="c++20", optimization="-O0")
    unoptimised = compile_device_text(source, "gfx942", toolchain, good, "assembly").decode()
    optimised = compile_device_text(
        source, "gfx942", toolchain, CompileOptions(defines=("VALUE=7",), std="c++20"), "assembly"
    ).decode()
    assert unoptimised.count("\n") > optimised.count("\n")
    with pytest.raises(CompileFailed, match="not seven"):
        compile_device_text(source, "gfx942", toolchain, CompileOptions(defines=("VALUE=8",), std="c++20"))
    with pytest.raises(CompileFailed, match=r"C\+\+20"):
        compile_device_text(source, "gfx942", toolchain, CompileOptions(defines=("VALUE=7",)))


def test_include_directories(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc/mine.h").write_text("#define MINE 3\n")
    monkeypatch.chdir(tmp_path)
    source = '#include "mine.h"\n' + ADD_ONE + 'static_assert(MINE == 3, "");\n'
    assert compile_device_text(source, "gfx942", toolchain, CompileOptions(include_dirs=(Path("inc"),)))


@pytest.mark.parametrize("name", ["-O3.hip", "@response.hip", "with space and ü.hip", "quote'\".hip", "a;b&c.hip"])
def test_odd_file_names(toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(ADD_ONE + "__attribute__((global)) void broken() { nothing; }\n")
    with pytest.raises(CompileFailed) as caught:
        compile_device(Path(name), "gfx942", toolchain)
    message = caught.value.messages[0]
    assert message.path is not None
    assert Path(message.path) == Path(name)
    assert (message.line, message.column, message.severity) == (2, 41, "error")
    Path(name).write_text(ADD_ONE)
    assert b"add_one" in compile_device(Path(name), "gfx942", toolchain)


def test_messages_name_the_callers_file(toolchain: Toolchain) -> None:
    with pytest.raises(CompileFailed) as caught:
        compile_device_text("int x = y;\n", "gfx942", toolchain, name="mine.hip")
    assert str(caught.value).startswith("mine.hip:1:9: error: use of undeclared identifier 'y'")
    assert caught.value.command[0] == toolchain.compiler[0]


@pytest.mark.parametrize("source", ["\x00\x01", "}{", "#include <no_such_header.h>", "__global__ void k() {", "\udc80"])
def test_garbage_fails(toolchain: Toolchain, source: str) -> None:
    with pytest.raises(CompileFailed) as caught:
        compile_device_text(source, "gfx942", toolchain)
    assert any(message.severity == "error" for message in caught.value.messages)


def test_source_without_kernels_gives_an_empty_code_object(toolchain: Toolchain) -> None:
    assert b"add_one" not in compile_device_text("", "gfx942", toolchain)


def test_undefined_device_function_is_named(toolchain: Toolchain) -> None:
    source = '#include <hip/hip_runtime.h>\nextern "C" __device__ int elsewhere(int);\n'
    source += "__global__ void k(int* p) { p[0] = elsewhere(p[1]); }\n"
    with pytest.raises(CompileFailed, match="undefined in device code: elsewhere"):
        compile_device_text(source, "gfx942", toolchain)


def test_relocatable_objects_link(toolchain: Toolchain) -> None:
    separate = CompileOptions(extra=("-fgpu-rdc",))
    caller = '#include <hip/hip_runtime.h>\nextern "C" __device__ int elsewhere(int);\n'
    caller += "__global__ void k(int* p) { p[0] = elsewhere(p[1]); }\n"
    callee = '#include <hip/hip_runtime.h>\nextern "C" __device__ int elsewhere(int x) { return x + 1; }\n'
    objects = [compile_device_text(text, "gfx942", toolchain, separate, "object") for text in (caller, callee)]
    assert elf_machine(link_device(objects, toolchain)) == MACHINE["gfx942"]
    with pytest.raises(CompileFailed, match="undefined in device code: elsewhere"):
        link_device(objects[:1], toolchain)
    assert elf_machine(compile_device_text(caller, "gfx942", toolchain, separate)) == MACHINE["gfx942"]


def test_timeout_is_a_failure(toolchain: Toolchain) -> None:
    with pytest.raises(CompileFailed, match=r"did not finish within 0\.01 s"):
        compile_device(KERNELS[0], "gfx942", toolchain, CompileOptions(timeout_s=0.01))


def test_a_compiler_that_cannot_start(toolchain: Toolchain, tmp_path: Path) -> None:
    broken = replace(toolchain, compiler=(str(tmp_path / "missing"),))
    with pytest.raises(CompileFailed, match="could not start"):
        compile_device(KERNELS[0], "gfx942", broken)


def test_host_errors_are_found_by_the_host_pass_only(toolchain: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "host.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n__global__ void k(int* p) { p[0] = 1; }\n"
        '#if !__HIP_DEVICE_COMPILE__\nint main() { k<<<1, 1>>>("text"); }\n#endif\n'
    )
    assert compile_device(source, "gfx942", toolchain)
    with pytest.raises(CompileFailed) as caught:
        check_host(source, toolchain)
    assert caught.value.messages[0].line == 4
    with pytest.raises(CompileFailed):
        check_unit(source, "gfx942", toolchain)


def test_bad_arguments(toolchain: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        compile_device(tmp_path / "absent.hip", "gfx942", toolchain)
    with pytest.raises(UnknownTargetError):
        compile_device(KERNELS[0], "gfx9999", toolchain)
    with pytest.raises(UnknownTargetError, match="not an AMD target"):
        compile_device(KERNELS[0], "sm_90", toolchain)
    with pytest.raises(UsageError, match="not an output"):
        compile_device(KERNELS[0], "gfx942", toolchain, output="exe")
    with pytest.raises(UsageError, match="-O9"):
        compile_device(KERNELS[0], "gfx942", toolchain, CompileOptions(optimization="-O9"))
    with pytest.raises(UsageError, match="64-lane waves only"):
        compile_device(KERNELS[0], "gfx942", toolchain, CompileOptions(extra=("-mno-wavefrontsize64",)))
    with pytest.raises(UsageError, match="plain file name"):
        compile_device_text(ADD_ONE, "gfx942", toolchain, name="../x.hip")


@pytest.mark.parametrize(
    ("name", "number"),
    [("gfx906", 9006), ("gfx908", 9008), ("gfx90a", 9010), ("gfx90c", 9012), ("gfx942:sramecc+:xnack-", 9402),
     ("gfx950", 9500), ("gfx1030", 10300), ("gfx1100", 11000), ("gfx1151", 11501), ("gfx1201", 12001)],
)  # fmt: skip
def test_isa_numbers(name: str, number: int) -> None:
    assert isa_version(name) == number


def test_control_constants_follow_target_and_flags() -> None:
    def value(text: str, name: str) -> int:
        found = re.search(rf"@__oclc_{name} = .* constant i\d+ (\d+)", text)
        assert found is not None
        return int(found.group(1))

    plain = control_constants("gfx942")
    assert (value(plain, "wavefrontsize64"), value(plain, "wavefrontsize_log2")) == (1, 6)
    assert (value(plain, "unsafe_math_opt"), value(plain, "finite_only_opt")) == (0, 0)
    assert value(plain, "correctly_rounded_sqrt32") == 1
    fast = control_constants("gfx1100", ("-ffast-math",))
    assert (value(fast, "wavefrontsize64"), value(fast, "wavefrontsize_log2")) == (0, 5)
    assert (value(fast, "unsafe_math_opt"), value(fast, "finite_only_opt")) == (1, 1)
    assert value(control_constants("gfx1100", ("-mwavefrontsize64",)), "wavefrontsize64") == 1
    assert value(control_constants("gfx942", ("-ffast-math", "-fno-finite-math-only")), "finite_only_opt") == 0


@pytest.mark.parametrize(
    ("target", "extra", "size"), [("gfx942", (), 64), ("gfx1100", (), 32), ("gfx1100", ("-mwavefrontsize64",), 64)]
)
def test_wave_size_of_the_code(toolchain: Toolchain, target: str, extra: tuple[str, ...], size: int) -> None:
    source = "#include <hip/hip_runtime.h>\n__global__ void k(int* p) { p[threadIdx.x] = warpSize; }\n"
    text = compile_device_text(source, target, toolchain, CompileOptions(extra=extra), "assembly").decode()
    assert f".wavefront_size: {size}" in text
    assert re.search(rf"v_mov_b32_e32 v\d+, (?:{size}|0x{size:x})\b|v_dual_mov_b32 v\d+, {size}\b", text)


def test_math_is_linked_and_folded(toolchain: Toolchain) -> None:
    source = "#include <hip/hip_runtime.h>\n__global__ void k(double* p, float* q) {\n"
    source += "  p[0] = sin(p[0]);\n  q[0] = powf(q[0], q[1]);\n}\n"
    text = compile_device_text(source, "gfx942", toolchain, output="llvm-ir").decode()
    assert re.search(r"define .*amdgpu_kernel void @_Z1k", text)
    assert not re.findall(r"declare .*@__oc[km]l_\w+", text)
    assert "__oclc_" not in text
