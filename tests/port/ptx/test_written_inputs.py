"""PTX that writes the register of an input: nvcc accepts it, and the rest of the block sees the new value."""

from __future__ import annotations

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file


def ported(asm: str) -> tuple[str, list[str]]:
    source = f"__device__ void f(const unsigned* a, float* c) {{ {asm} }}"
    result = hipify_file(cxx_file("a.cu", source.encode()), None, HipifyOptions())
    return result.after.decode(), [finding.code for finding in result.findings if not finding.edits]


def test_the_block_works_on_a_copy() -> None:
    asm = 'asm("cvt.rna.tf32.f32 %1, %1; add.f32 %0, %0, %1;" : "+f"(c[0]) : "r"(a[0]));'
    text, left = ported(asm)
    assert left == []
    assert "\n  unsigned kpt_1 = (unsigned)(a[0]);" in text  # not const
    assert "a[0] =" not in text and "c[0] = kpt_0;" in text


def test_other_inputs_stay_constant() -> None:
    asm = 'asm("add.u32 %1, %1, %2; mov.b32 %0, %1;" : "=f"(c[0]) : "r"(a[0]), "r"(a[1]));'
    text, left = ported(asm)
    assert left == [] and "const unsigned kpt_2 = (unsigned)(a[1]);" in text


def test_an_instruction_that_does_nothing_else_is_a_finding() -> None:
    _, left = ported('asm volatile("cvt.rna.tf32.f32 %0, %0;" :: "r"(a[0]));')
    assert left == ["KP230"]
