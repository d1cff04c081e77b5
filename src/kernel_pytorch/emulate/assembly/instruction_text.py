"""One instruction from one line of text."""

from __future__ import annotations

import re

from kernel_pytorch.emulate.assembly.instruction import (
    AssemblyError,
    Instruction,
    Modifier,
    Operand,
    OperandPlace,
    Raw,
)
from kernel_pytorch.emulate.assembly.operand_text import flattened, parse_modifiers, parse_operand, split_operands

_ENCODINGS = ("_e64_dpp", "_e64_dpp8", "_dpp8", "_dpp", "_sdwa", "_e64", "_e32")
#: Their operands are counts and names that order execution; nothing of them is computed with.
_KEPT_RAW = re.compile(
    r"s_(waitcnt\w*|wait_\w+|delay_alu|clause|nop|sleep|sleep_var|sendmsg\w*|set_inst_prefetch_distance|inst_prefetch|"
    r"icache_inv|ttracedata\w*|setprio|sethalt|trap|code_end|version|endpgm|barrier\w*|decperflevel|incperflevel|"
    r"setkill|rfe_b64|dcache\w*|gl1_inv|prefetch\w*|set_vgpr_msb|round_mode|denorm_mode|setprio_inc_wg|cbranch_cdbg\w*)\Z"
)


def parse_instruction(text: str, address: int | None = None, place: OperandPlace | None = None) -> Instruction:
    """An instruction as the assembler writes it, without comment."""
    if " :: " in text:
        first, second = (part.strip() for part in text.split(" :: ", 1))
        return _one(first, text, address, place, _one(second, second, None, place, None))
    return _one(text, text, address, place, None)


def _one(
    text: str, whole: str, address: int | None, place: OperandPlace | None, dual: Instruction | None
) -> Instruction:
    mnemonic, _, rest = text.strip().partition(" ")
    if "\t" in mnemonic:
        mnemonic, _, more = mnemonic.partition("\t")
        rest = f"{more} {rest}"
    encoding = ""
    for suffix in _ENCODINGS:
        if mnemonic.endswith(suffix):
            mnemonic, encoding = mnemonic.removesuffix(suffix), suffix[1:]
            break
    if mnemonic.startswith("v_dual_"):
        mnemonic, encoding = "v_" + mnemonic.removeprefix("v_dual_"), "dual"
    rest = rest.strip()
    operands: tuple[Operand, ...]
    modifiers: dict[str, Modifier] = {}
    if _KEPT_RAW.match(mnemonic):
        operands = (Raw(rest),) if rest else ()
    else:
        try:
            pieces, words = split_operands(rest)
            operands = tuple(parse_operand(piece) for piece in flattened(pieces))
            modifiers = parse_modifiers(words)
        except AssemblyError as error:
            raise AssemblyError(f"{text.strip()}: {error}") from None
    return Instruction(mnemonic, encoding, operands, modifiers, whole.strip(), address, place, dual)
