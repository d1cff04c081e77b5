"""Whole HIP programs: assembly and code object of one compile, bundles, and an executable that carries them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.toolchain.code_object import read_code_object
from kernel_pytorch.toolchain.compile import CompileFailed
from kernel_pytorch.toolchain.elf import ElfFile
from kernel_pytorch.toolchain.find import Toolchain, find_toolchain
from kernel_pytorch.toolchain.offload_bundle import device_images
from kernel_pytorch.toolchain.program import build_device_code_text, build_program
from kernel_pytorch.toolchain.stages import assemble_device, bundle

SOURCE = """#include <hip/hip_runtime.h>
static __device__ int counter;
__global__ void add(int *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { x[i] += i; atomicAdd(&counter, 1); }
}
int main() {
  int c;
  add<<<2, 64>>>(nullptr, 0);
  return hipMemcpyFromSymbol(&c, HIP_SYMBOL(counter), 4);
}
"""


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    return find_toolchain(prefer="zig", headers="triton")


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_text_and_code_object_are_of_one_compile(toolchain: Toolchain, target: str) -> None:
    device = build_device_code_text(SOURCE, target, toolchain, name="add.hip")
    assert [kernel.symbol for kernel in read_code_object(device.code_object).kernels] == ["_Z3addPii"]
    assert "s_endpgm" in device.assembly and "add.hip" in device.assembly
    labels = {symbol.name for symbol in ElfFile(device.code_object).symbols()}
    assert any(name.startswith(".LBB0_") for name in labels)


def test_what_the_assembler_refuses_is_said(toolchain: Toolchain) -> None:
    with pytest.raises(CompileFailed, match="invalid instruction"):
        assemble_device('.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nv_no_such_thing v0\n', "gfx942", toolchain)


def test_a_bundle_gives_its_code_objects_back(toolchain: Toolchain) -> None:
    contents = {"gfx942": b"\x7fELF" + b"a" * 5000, "gfx1100": b"\x7fELF" + b"b" * 7}
    found = {image.entry.rpartition("--")[2]: image.content for image in device_images(bundle(contents))}
    assert found == contents


def test_an_executable_carries_its_device_code(toolchain: Toolchain, tmp_path: Path) -> None:
    source = tmp_path / "add.hip"
    source.write_text(SOURCE)
    link = ["-Wl,--unresolved-symbols=ignore-all"]
    program = build_program([source], "gfx942", toolchain, tmp_path / "add", link=link)
    (image,) = device_images(program.executable.read_bytes())
    assert image.content == program.device[0].code_object
    # A static variable is registered under a name that both passes make from the same id.
    names = {symbol.name for symbol in ElfFile(image.content).symbols() if "counter" in symbol.name}
    (name,) = names
    assert name.encode() in program.executable.read_bytes()


def test_no_sources_is_a_usage_error(toolchain: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sources"):
        build_program([], "gfx942", toolchain, tmp_path / "x")
