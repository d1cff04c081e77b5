"""Our decoder of machine code: one instruction of each format and of each kind of operand, for each target.

The pairs in machine_code/TARGET.txt are our own lines, assembled and disassembled again by LLVM 22.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.toolchain.machine_code.decode import decode, decoder_of, is_known
from kernel_pytorch.toolchain.machine_code.operands import EncodingError
from kernel_pytorch.toolchain.machine_code.table import decodable_targets, rows_of

PAIRS = Path(__file__).parent / "machine_code"


def pairs(target: str) -> list[tuple[bytes, str]]:
    lines = (PAIRS / f"{target}.txt").read_text().splitlines()
    return [(bytes.fromhex(code), text) for code, _, text in (line.partition(" ") for line in lines)]


@pytest.mark.parametrize("target", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"])
def test_every_format(target: str) -> None:
    expected = pairs(target)
    assert len(expected) > 25
    code = b"".join(one for one, _ in expected)
    decoded = [(one.text, one.size) for _, one in decode(code, 0x1000, target)]
    assert decoded == [(text, len(one)) for one, text in expected]


def test_a_branch_tells_how_far_it_goes() -> None:
    backwards = decoder_of("gfx942").instruction(bytes.fromhex("f2ff85bf") + bytes(16))
    assert (backwards.text, backwards.branch) == ("s_cbranch_scc1 65522", -56)
    assert decoder_of("gfx942").instruction(bytes.fromhex("000080bf")).branch is None


def test_unknown_bits_are_refused_with_address_and_bytes() -> None:
    with pytest.raises(EncodingError, match=r"gfx1100 machine code at 0x1004 \(ffffffff\): no format has these bits"):
        list(decode(bytes.fromhex("000080bfffffffff"), 0x1000, "gfx1100"))
    with pytest.raises(EncodingError, match="SOP2 has no opcode 62 here"):
        decoder_of("gfx942").instruction(bytes.fromhex("0000009f"))
    with pytest.raises(EncodingError, match="no such operand"):
        decoder_of("gfx942").instruction(bytes.fromhex("d102007e"))


def test_code_that_ends_within_an_instruction() -> None:
    with pytest.raises(EncodingError, match="ends within an instruction"):
        decoder_of("gfx942").instruction(bytes.fromhex("ff00008078"))


def test_targets_without_a_table() -> None:
    assert not is_known("gfx803")
    with pytest.raises(EncodingError, match="no machine code of gfx803"):
        decoder_of("gfx803")


@pytest.mark.parametrize("target", decodable_targets())
def test_every_row_of_the_table_can_be_written(target: str) -> None:
    decoder = decoder_of(target)
    rows = [(form, row) for (form, _), row in rows_of(target).items() if form not in ("HWREG", "MESSAGE")]
    assert len(rows) > 1500
    for form, row in rows:
        decoder.row_printer(form, row)
