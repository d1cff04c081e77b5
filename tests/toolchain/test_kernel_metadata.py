"""One kernel's description, found without reading the others, is the one that a whole reading gives."""

from __future__ import annotations

import pytest

from kernel_pytorch.toolchain.code_object import CodeObjectError, kernel_symbols, read_code_object, read_kernel
from kernel_pytorch.toolchain.elf import ElfFile
from kernel_pytorch.toolchain.kernel_metadata import kernel_entry
from tests.toolchain.device_ir import Spec, compile_ir, kernel_ir, link

# The last byte of a size that looks like the beginning of a map of three to fifteen keys.
LIKE_MAPS = (0x83, 0x8F, 0x183, 0x18F, 0x585)


def code_object(target: str) -> bytes:
    kernels = [kernel_ir(f"sized{lds}", Spec(lds=lds, vgprs=5 + at, sgprs=20)) for at, lds in enumerate(LIKE_MAPS)]
    # One name ends like another, and an argument is called like a kernel.
    kernels.append("define amdgpu_kernel void @ed131(ptr addrspace(1) %sized131, i32 %n) { ret void }\n")
    kernels.append(
        "define amdgpu_kernel void @n(" + ", ".join(f"i32 %a{one}" for one in range(200)) + ") { ret void }\n"
    )
    kernels.append(f"define amdgpu_kernel void @{'long' * 70}() {{ ret void }}\n")
    return link(compile_ir('target triple = "amdgcn-amd-amdhsa"\n' + "".join(kernels), target))


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])  # with and without accumulation registers
def test_each_kernel_is_found_as_a_whole_reading_finds_it(target: str) -> None:
    payload = code_object(target)
    elf, whole = ElfFile(payload), read_code_object(payload)
    (document,) = [note.content for note in elf.notes() if note.owner == "AMDGPU"]
    assert len(whole.kernels) == len(LIKE_MAPS) + 3
    assert kernel_symbols(elf) == {kernel.symbol for kernel in whole.kernels}
    for kernel in whole.kernels:
        assert kernel_entry(document, kernel.symbol) is not None, kernel.symbol
        one = read_kernel(elf, kernel.symbol)
        assert (one.kernels, one.target_id, one.version, one.size) == (
            (kernel,), whole.target_id, whole.version, whole.size,
        )  # fmt: skip


def test_a_name_that_is_no_kernels() -> None:
    payload = code_object("gfx942")
    assert read_kernel(ElfFile(payload), "a7").kernels == ()  # an argument
    assert read_kernel(ElfFile(payload), "nobody").kernels == ()


def test_a_file_that_is_no_code_object() -> None:
    payload = bytearray(code_object("gfx942"))
    payload[18:20] = (62).to_bytes(2, "little")  # x86-64
    with pytest.raises(CodeObjectError, match="ELF machine 62 is not AMDGPU"):
        read_kernel(ElfFile(bytes(payload)), "n")
