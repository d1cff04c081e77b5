"""DPP controls and SDWA selects that do not exist are refused, with a message that names them."""

from __future__ import annotations

import pytest

from kernel_pytorch.emulate.assembly.instruction import AssemblyError
from kernel_pytorch.emulate.codegen import dpp, sdwa


@pytest.mark.parametrize(
    ("modifiers", "code"),
    [
        ({"quad_perm": (3, 0, 1, 2)}, 0b10_01_00_11),
        ({"row_shr": 1}, 0x111),
        ({"row_mirror": True, "fi": 1}, 0x140 | 1 << 30),
        ({"row_bcast": 31}, 0x143),
        ({"row_newbcast": 5}, 0x155),
        ({"dpp8": (7, 6, 5, 4, 3, 2, 1, 0)}, 1 << 31 | 0o01234567),
    ],
)
def test_a_control_is_encoded_as_the_hardware_has_it(modifiers: dict[str, object], code: int) -> None:
    assert int(dpp.control(modifiers).removesuffix("u"), 16) == code


@pytest.mark.parametrize(
    "modifiers",
    [{}, {"row_shl": 16}, {"wave_shl": 2}, {"row_bcast": 7}, {"quad_perm": (0, 1, 2)}, {"row_shl": 1, "row_shr": 1}],
)
def test_what_is_no_control_is_refused(modifiers: dict[str, object]) -> None:
    with pytest.raises(AssemblyError, match=r"control|row_|wave_|quad_perm"):
        dpp.control(modifiers)


def test_unknown_sdwa_words_are_refused() -> None:
    with pytest.raises(AssemblyError, match="BYTE_4"):
        sdwa.source("x", "BYTE_4", False)
    with pytest.raises(AssemblyError, match="UNUSED_DROP"):
        sdwa.merge("x", "y", "BYTE_0", "UNUSED_DROP")
