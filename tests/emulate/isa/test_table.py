"""The table as a whole: every row is well formed, families find their own names."""

from __future__ import annotations

import re

import pytest

from kernel_pytorch.emulate.codegen.bodies import statements
from kernel_pytorch.emulate.isa import row as rows_module
from kernel_pytorch.emulate.isa.row import KINDS, SOURCE_NAMES, Row, TableError, lane, signature
from kernel_pytorch.emulate.isa.table import family, find, rows

ALL = [one for found in rows().values() for one in found]


def test_names_carry_no_encoding() -> None:
    assert not [one.name for one in ALL if re.search(r"_(e32|e64|dpp|sdwa)$", one.name)]
    assert len(ALL) > 1000


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_kind_are_well_formed(kind: str) -> None:
    of_kind = [one for one in ALL if one.kind == kind]
    assert of_kind
    for one in of_kind:
        if kind == "memory":
            assert one.fact("action") and one.fact("space"), one.name
        elif kind == "control":
            assert one.fact("action"), one.name
        else:
            _check_body(one)


def _check_body(one: Row) -> None:
    text = statements(one.body, bool(one.results))
    used = set(re.findall(r"(?<![\w.>])([a-h])\b(?!\s*\()", text))
    if one.body in ("0", "1"):  # comparisons that are always false or true
        return
    for name in SOURCE_NAMES[: len(one.sources)]:
        assert name in used, f"{one.name} never reads its source {name}: {text}"
    assert text.count("(") == text.count(")"), one.name


def test_families_have_their_own_names() -> None:
    for old, new in (
        ("ds_read_b32", "ds_load_b32"),
        ("global_load_dword", "global_load_b32"),
        ("s_add_u32", "s_add_co_u32"),
        ("v_add_u32", "v_add_nc_u32"),
        ("s_load_dwordx4", "s_load_b128"),
    ):
        first, second = find(old, "gfx942"), find(new, "gfx1201")
        assert first is not None and second is not None
        assert (first.body, first.facts) == (second.body, second.facts)
    assert find("v_frobnicate_f32", "gfx942") is None


def test_targets_belong_to_families() -> None:
    assert [family(one) for one in ("gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201")] == [
        "gfx9", "gfx9", "gfx10", "gfx11", "gfx12",
    ]  # fmt: skip
    with pytest.raises(TableError, match="sm_90"):
        family("sm_90")


def test_malformed_rows_are_refused() -> None:
    with pytest.raises(TableError, match="q7"):
        lane("v_x", "u32 = q7", "a")
    with pytest.raises(TableError, match="'='"):
        signature("u32 u32")
    assert signature("+f32 mask = f32 f32") == (("+f32", "mask"), ("f32", "f32"))
    assert rows_module.TYPES["f64"][1] == 2
