"""No row of the table without a model, and none that no test uses."""

from __future__ import annotations

from kernel_pytorch.emulate.isa.table import rows

from ..model import MODELS
from .mnemonics import WAVE32, WAVE64, cases, known
from .test_images import TESTED as IMAGES
from .test_wide_conversions import wide_programs
from .wave_programs import exchange_programs

CLOCKS = {"s_memtime", "s_memrealtime", "s_get_shader_cycles_u64"}  # what they read is no function of the state


def test_every_row_has_a_model() -> None:
    without = [name for name, found in rows().items() if found[0].kind != "control" and name not in MODELS]
    assert set(without) == CLOCKS | IMAGES


def test_every_row_is_in_a_test() -> None:
    tested = {(row.name, row.families) for kind in ("lane", "scalar", "wave", "memory") for row, _, _ in cases(kind)}
    wanted = {(row.name, row.families) for found in rows().values() for row in found if row.kind != "control"}
    assert wanted - tested == set()


def test_exchange_programs_use_every_exchange_row() -> None:
    exchanges = {row.name for row, _, _ in cases("wave") if row.counts_as != "matrix"}
    used = {p.name for target in WAVE64 for p in exchange_programs(target, 64)}
    used |= {p.name for target in WAVE32 for p in exchange_programs(target, 32)}
    used |= {p.name for p in wide_programs("gfx950", 64)}
    assert exchanges <= used


def test_the_list_of_mnemonics_is_up_to_date() -> None:
    """Run `python -m emulate.conformance.list_mnemonics LLVM_MC` in tests/ after adding rows."""
    names = {name for name, found in rows().items() if found[0].kind != "control"}
    assert names <= set(known())
