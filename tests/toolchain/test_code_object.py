from __future__ import annotations

import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.core import hardware
from kernel_pytorch.toolchain.code_object import (
    CodeObjectError,
    descriptor_mismatches,
    read_code_object,
    read_code_objects,
)
from tests.toolchain.device_ir import Spec, build, compile_ir, kernel_ir, link

EVERYTHING = """
target triple = "amdgcn-amd-amdhsa"
@l = internal addrspace(3) global [4096 x i8] poison, align 16
define amdgpu_kernel void @_ZN2ns5scaleEPfil(ptr addrspace(1) %p, i32 %n, i64 %m) #0 !reqd_work_group_size !1 {
  %a = alloca [64 x i32], align 4, addrspace(5)
  %q = getelementptr i32, ptr addrspace(5) %a, i32 %n
  store volatile i32 1, ptr addrspace(5) %q
  store volatile i8 1, ptr addrspace(3) @l
  call void asm sideeffect "", "~{v99},~{s50}"()
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="128,128" nounwind }
!1 = !{i32 64, i32 2, i32 1}
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 VERSION}
"""


@pytest.mark.parametrize("linked", [False, True])
def test_every_field_of_a_kernel(linked: bool) -> None:
    payload = compile_ir(EVERYTHING.replace("VERSION", "600"), "gfx90a")
    code_object = read_code_object(link(payload) if linked else payload)
    (kernel,) = code_object.kernels
    assert (code_object.target, code_object.version) == ("gfx90a", 6)
    assert kernel.symbol == "_ZN2ns5scaleEPfil"
    assert kernel.name == "ns::scale(float*, int, long)"
    assert (kernel.vgprs, kernel.agprs) == (100, 0)
    assert kernel.sgprs == 51 + 4  # VCC and the flat scratch and XNACK registers count
    assert (kernel.vgpr_spills, kernel.sgpr_spills, kernel.has_spills) == (0, 0, False)
    assert kernel.scratch_bytes == 260
    assert kernel.lds_bytes == 4096
    assert (kernel.kernarg_bytes, kernel.kernarg_align) == (24, 8)
    assert (kernel.max_workgroup_size, kernel.required_workgroup_size) == (128, (64, 2, 1))
    assert (kernel.wave_size, kernel.workgroup_processor_mode) == (64, False)
    assert [(a.offset, a.size, a.kind, a.name, a.address_space) for a in kernel.args] == [
        (0, 8, "global_buffer", "p", "global"),
        (8, 4, "by_value", "n", ""),
        (16, 8, "by_value", "m", ""),
    ]
    assert kernel.explicit_args == kernel.args
    assert kernel.descriptor is not None
    assert kernel.descriptor.vgprs_at_most("gfx90a") == 104
    assert kernel.descriptor.accum_offset == 100
    assert descriptor_mismatches(kernel, "gfx90a") == ()
    assert code_object.kernel("ns::scale") is kernel
    assert code_object.kernel(kernel.symbol) is kernel
    with pytest.raises(KeyError, match="ns::scale"):
        code_object.kernel("other")


@pytest.mark.parametrize(("flag", "version"), [("400", 4), ("500", 5), ("600", 6)])
def test_code_object_versions(flag: str, version: int) -> None:
    code_object = read_code_object(compile_ir(EVERYTHING.replace("VERSION", flag), "gfx1100"))
    assert code_object.version == version
    assert code_object.kernels[0].vgprs == 100


@pytest.mark.parametrize(
    ("processor", "features"),
    [
        ("gfx90a", ()),
        ("gfx90a:xnack+", ("xnack+",)),
        ("gfx90a:xnack-:sramecc-", ("sramecc-", "xnack-")),
        ("gfx942:sramecc+:xnack-", ("sramecc+", "xnack-")),
        ("gfx1100", ()),
    ],
)
def test_features_come_from_the_flags(processor: str, features: tuple[str, ...]) -> None:
    code_object = read_code_object(build((Spec(vgprs=8),), processor))
    assert code_object.target == processor.partition(":")[0]
    assert code_object.target_features == features
    assert code_object.target_id == ":".join((code_object.target, *features))


def test_every_processor_of_the_compiler_is_known() -> None:
    pytest.importorskip("ziglang")
    command = [sys.executable, "-m", "ziglang", "clang", "--target=amdgcn-amd-amdhsa", "--print-supported-cpus"]
    said = subprocess.run(command, capture_output=True, text=True, check=False)
    processors = sorted(set(re.findall(r"^\s+(gfx[0-9a-z-]+)", said.stdout + said.stderr, re.MULTILINE)))
    assert len(processors) > 40
    assert set(processors) <= {row.name for row in hardware.processors()}
    for processor in processors[::4]:  # each row of the table was made this way; a quarter of them keeps it honest
        assert read_code_object(compile_ir(kernel_ir("k", Spec()), processor)).target == processor


def test_wave_width_and_workgroup_processor_mode() -> None:
    specs = tuple(Spec(vgprs=8, features=f) for f in ("", "+cumode", "+wavefrontsize64", "+wavefrontsize64,+cumode"))
    kernels = read_code_object(build(specs, "gfx1100")).kernels
    assert [k.wave_size for k in kernels] == [32, 32, 64, 64]
    assert [k.workgroup_processor_mode for k in kernels] == [True, False, True, False]
    assert all(descriptor_mismatches(k, "gfx1100") == () for k in kernels)


def test_accumulation_registers() -> None:
    spec = (Spec(vgprs=33, agprs=20),)
    shared = read_code_object(build(spec, "gfx90a")).kernels[0]
    assert (shared.vgprs, shared.agprs) == (36 + 20, 20)  # one file: AGPRs start at the next multiple of four
    apart = read_code_object(build(spec, "gfx908")).kernels[0]
    assert (apart.vgprs, apart.agprs) == (33, 20)


def test_descriptor_disagreement_is_reported() -> None:
    payload = bytearray(link(build((Spec(vgprs=40, lds=6160),), "gfx942")))
    kernel = read_code_object(bytes(payload)).kernels[0]
    assert descriptor_mismatches(kernel, "gfx942") == ()
    at = payload.find(struct.pack("<III", 6160, 0, kernel.kernarg_bytes))
    payload[at : at + 4] = struct.pack("<I", 2048)
    damaged = read_code_object(bytes(payload)).kernels[0]
    assert descriptor_mismatches(damaged, "gfx942") == ("LDS bytes: metadata 6160, descriptor 2048",)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not a code object"),
        (b"garbage" * 20, "not a code object"),
        (b"\x7fELF", "64 bytes"),
        (b"\x7fELF\x01\x01" + b"\0" * 60, "64-bit little-endian"),
        (b"!<arch>\n" + b"x" * 100, "static library"),
    ],
)
def test_what_is_no_code_object(data: bytes, said: str) -> None:
    with pytest.raises(CodeObjectError, match=said):
        read_code_object(data)


def test_a_host_program_without_device_code() -> None:
    data = Path(sys.executable).read_bytes()
    if data[:4] != b"\x7fELF":
        pytest.skip("this Python is no ELF program")
    with pytest.raises(CodeObjectError, match="no AMD device code"):
        read_code_objects(data)


def test_truncation_never_escapes_as_another_error() -> None:
    payload = link(build((Spec(vgprs=40, lds=1024), Spec(sgprs=30)), "gfx942"))
    whole = read_code_object(payload)
    for length in range(0, len(payload), 7):
        try:
            part = read_code_object(payload[:length])
        except CodeObjectError:
            continue
        assert part.kernels == whole.kernels


def test_bit_flips_never_escape_as_another_error() -> None:
    payload = link(build((Spec(vgprs=40, lds=1024), Spec(sgprs=30)), "gfx942"))
    numbers = random.Random(20)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(4000):
        damaged = bytearray(payload)
        for _ in range(numbers.randint(1, 6)):
            damaged[numbers.randrange(len(damaged))] ^= 1 << numbers.randrange(8)
        try:
            read_code_objects(bytes(damaged))
            outcomes["read"] += 1
        except CodeObjectError:
            outcomes["refused"] += 1
    assert outcomes["refused"] > 100
    assert outcomes["read"] > 100


def test_flips_in_headers_and_metadata_never_escape_as_another_error() -> None:
    payload = link(build((Spec(vgprs=40, lds=1024),), "gfx942"))
    note = payload.find(b"amdhsa.kernels")
    places = [*range(64 + 56 * 9), *range(note - 40, note + 600), *range(len(payload) - 64 * 14, len(payload))]
    for place in places:
        for bit in (0, 3, 7):
            damaged = bytearray(payload)
            damaged[place] ^= 1 << bit
            try:
                read_code_objects(bytes(damaged))
            except CodeObjectError:
                continue


def test_several_metadata_notes() -> None:
    """A link of two objects keeps the note of each; the kernels of both are there."""
    first = compile_ir(kernel_ir("one", Spec(vgprs=40)), "gfx942")
    second = compile_ir(kernel_ir("two", Spec(vgprs=50)), "gfx942")
    kernels = read_code_object(link(first, second)).kernels
    assert [(kernel.name, kernel.vgprs) for kernel in kernels] == [("one", 40), ("two", 50)]
    assert all(kernel.descriptor is not None for kernel in kernels)
