"""A program with many kernels: those that it launches are translated, and no others."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.assembly.instruction import AssemblyError
from kernel_pytorch.emulate.assembly.one_kernel import OBJDUMP_VARIABLE
from kernel_pytorch.emulate.codegen.emission import TranslationError
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import run_program
from kernel_pytorch.emulate.translate import module_cache, translate_to_c
from kernel_pytorch.toolchain.disassemble import DisassemblerNotFoundError, find_objdump
from kernel_pytorch.toolchain.elf import ElfFile, Symbol
from kernel_pytorch.toolchain.find import find_toolchain
from kernel_pytorch.toolchain.program import Program

SOURCE = r"""
#include <hip/hip_runtime.h>
#include <cstdio>
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
template <int N> __global__ void add(float *x) {
  x[threadIdx.x] += N * table[N & 3];
  if (threadIdx.x == 0) atomicAdd(&counter, N);
}
template <int... N> void launch(float *x, unsigned wanted) {
  ((wanted >> N & 1 ? add<N><<<1, 64>>>(x) : void()), ...);
}
int main() {
  float *x, host[64];
  int count;
  hipMalloc(&x, 256);
  hipMemset(x, 0, 256);
  launch<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11>(x, 1u << 1 | 1u << 6);
  hipMemcpy(host, x, 256, hipMemcpyDeviceToHost);
  hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), 4);
  printf("%g %d\n", host[5], count);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "many.hip").write_text(SOURCE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernel_pytorch.emulate.program._SHORT_ASSEMBLY", 0)  # a library would be longer
        return build_emulated([folder / "many.hip"], "gfx942", find_toolchain(), folder / "many")


def test_only_launched_kernels_are_translated(program: Program) -> None:
    outcome = run_program(program.executable, [], gpu_by_alias("mi300x"))
    assert (outcome.exit_code, outcome.stdout) == (0, "20 7\n"), outcome.stderr
    digest = hashlib.sha256(program.device[0].code_object).hexdigest()
    made = [path.name for path in module_cache().glob(f"{digest}-gfx942-plain*.so")]
    assert len(made) == 2 and f"{digest}-gfx942-plain.so" not in made


def test_one_kernel_of_the_text_and_of_the_disassembly(program: Program) -> None:
    device = program.device[0]
    name = "_Z3addILi6EEvPf"
    assert translate_to_c(device.code_object, device.assembly, only=name).kernels == (name,)
    with pytest.raises(TranslationError, match="nobody: no kernel of this code object"):
        translate_to_c(device.code_object, device.assembly, only="nobody")
    assert translate_to_c(device.code_object, only=name).kernels == (name,)


def test_our_decoder_and_llvm_objdump_give_the_same_c(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_objdump("gfx942")
    except DisassemblerNotFoundError:
        pytest.skip("no llvm-objdump that knows gfx942")
    device = program.device[0]
    ours = translate_to_c(device.code_object)
    monkeypatch.setenv(OBJDUMP_VARIABLE, "1")
    assert translate_to_c(device.code_object) == ours


def test_unknown_code_is_refused_by_function_and_address(program: Program) -> None:
    device = program.device[0]
    elf = ElfFile(device.code_object)
    text = elf.section(".text")
    kernel = next(symbol for symbol in elf.symbols() if symbol.name == "_Z3addILi6EEvPf")
    assert text is not None
    at = text.offset + kernel.value - text.address
    broken = device.code_object[:at] + b"\xff" * 4 + device.code_object[at + 4 :]
    with pytest.raises(AssemblyError, match=rf"_Z3addILi6EEvPf: gfx942 machine code at 0x{kernel.value:x} \(ffffffff"):
        translate_to_c(broken, only="_Z3addILi6EEvPf")
    assert translate_to_c(broken, only="_Z3addILi1EEvPf").kernels == ("_Z3addILi1EEvPf",)


CALLS = r"""
#include <hip/hip_runtime.h>
__device__ __attribute__((noinline)) float twice(float x) { return x * 2; }
__device__ __attribute__((noinline)) float thrice(float x) { return x * 3; }
__global__ void doubles(float *x) { *x = twice(*x); }
__global__ void trebles(float *x) { *x = thrice(*x); }
int main() {}
"""


def test_functions_that_a_kernel_does_not_call_are_not_decoded(tmp_path: Path) -> None:
    (tmp_path / "calls.hip").write_text(CALLS)
    (device,) = build_emulated([tmp_path / "calls.hip"], "gfx942", find_toolchain(), tmp_path / "calls").device
    elf = ElfFile(device.code_object)
    text, thrice = elf.section(".text"), next(one for one in elf.symbols() if one.name == "_Z6thricef")
    assert text is not None
    at = text.offset + thrice.value - text.address
    broken = device.code_object[:at] + b"\xff" * 4 + device.code_object[at + 4 :]
    assert translate_to_c(broken, only="_Z7doublesPf") == translate_to_c(device.code_object, only="_Z7doublesPf")
    with pytest.raises(AssemblyError, match="_Z6thricef: gfx942 machine code"):
        translate_to_c(broken, only="_Z7treblesPf")


def test_hand_written_code_has_labels_and_no_sizes() -> None:
    from kernel_pytorch.emulate.assembly.one_kernel import code_range

    symbols = [
        Symbol("first", 0x1000, 0, 1),
        Symbol("label_0", 0x1000, 0, 1),
        Symbol("label_1", 0x1040, 0, 1),
        Symbol("second", 0x1100, 0, 1),
        Symbol("sized", 0x1200, 32, 1),
    ]
    assert code_range(symbols, "first", {"first", "second"}) == (0x1000, 0x1100)
    assert code_range(symbols, "second", {"first", "second"}) == (0x1100, 0x1200)
    assert code_range(symbols, "sized", {"sized"}) == (0x1200, None)
