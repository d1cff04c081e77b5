"""Which instructions of a large kernel are fused in place."""

from __future__ import annotations

from kernel_pytorch.emulate.assembly.instruction import Function
from kernel_pytorch.emulate.assembly.instruction_text import parse_instruction
from kernel_pytorch.emulate.codegen.flow import Flow, lay_out
from kernel_pytorch.emulate.codegen.outline import INLINE_INSTRUCTIONS, ONE_LOOP_INSTRUCTIONS, inlined_instructions


def flow(before: int, loops: tuple[int, ...]) -> Flow:
    """Straight code, then loops of so many instructions one behind the other."""
    add = parse_instruction("v_add_u32_e32 v0, 1, v0")
    instructions, labels = [add] * before, {"k": 0}
    for number, length in enumerate(loops):
        labels[f".LBB0_{number}"] = len(instructions)
        instructions += [add] * (length - 1) + [parse_instruction(f"s_cbranch_scc1 .LBB0_{number}")]
    instructions.append(parse_instruction("s_endpgm"))
    return lay_out((Function("k", tuple(instructions), labels),), {"k": 0})


def test_small_kernels_are_fused_whole() -> None:
    assert inlined_instructions(flow(10, (20,))) is None


def test_small_loops_of_a_large_kernel_are_fused() -> None:
    assert inlined_instructions(flow(INLINE_INSTRUCTIONS, (40, 30))) == frozenset(
        range(INLINE_INSTRUCTIONS, INLINE_INSTRUCTIONS + 70)
    )


def test_the_smallest_of_large_loops_is_fused() -> None:
    first, second = INLINE_INSTRUCTIONS + 100, INLINE_INSTRUCTIONS + 50
    assert inlined_instructions(flow(7, (first, second))) == frozenset(range(7 + first, 7 + first + second))
    assert inlined_instructions(flow(7, (ONE_LOOP_INSTRUCTIONS + 1,))) == frozenset()
