"""Loops over lanes that the host's compiler has to make vector code of: as scalar code each takes ten times as long."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernel_pytorch.emulate.host_compiler import HostCompiler, find_host_compiler
from kernel_pytorch.emulate.single import build_snippets

# Each has a branch, or counts bits, or mixes words of 32 and 64 bits.
LINES = (
    "v_min_f32 v32, v0, v4",
    "v_max3_f32 v32, v0, v4, v8",
    "v_max_f64 v[32:33], v[0:1], v[4:5]",
    "v_max_f16 v32, v0, v4",
    "v_pk_max_f16 v32, v0, v4",
    "v_mbcnt_lo_u32_b32 v32, v0, v4",
    "v_mbcnt_hi_u32_b32 v32, v0, v4",
    "v_ffbh_u32 v32, v0",
    "v_ffbl_b32 v32, v0",
    "v_div_scale_f32 v32, s[62:63], v0, v4, v8",
    "v_div_fmas_f32 v32, v0, v4, v8",
    "v_div_fixup_f32 v32, v0, v4, v8",
    "v_div_fmas_f64 v[32:33], v[0:1], v[4:5], v[8:9]",
    "v_div_fixup_f16 v32, v0, v4, v8",
    "v_pk_fma_f32 v[32:33], v[0:1], v[4:5], v[8:9]",
)


@dataclass(frozen=True)
class Telling(HostCompiler):
    """gcc that writes down which loops it made vector code of."""

    notes: str = ""

    def flags(self, optimization: str) -> tuple[str, ...]:
        return (*super().flags(optimization), f"-fopt-info-vec-optimized={self.notes}")


def test_loops_over_lanes_are_vectorised(tmp_path: Path) -> None:
    found = find_host_compiler()
    if found.kind != "gcc" or int(found.version.split()[1]) < 12:
        pytest.skip("what gcc makes of them is known from version 12 on")
    notes = tmp_path / "notes"
    build_snippets(
        LINES, "gfx942", 64, compiler=Telling(found.command, found.kind, found.version, str(notes)), keep=tmp_path
    )
    made = {int(one) for one in re.findall(r"kernels0\.c:(\d+):.*loop vectorized", notes.read_text())}
    scalar: dict[str, int] = {}
    current = ""
    for number, line in enumerate((tmp_path / "kernels0.c").read_text().splitlines(), 1):
        if function := re.match(r"int kpt_snippet_(\d+)\(", line):
            current = LINES[int(function[1])]
        # gcc names the line of the loop, or one of its first statements.
        if ("KPT_LANES(l)" in line or "KPT_ROW(" in line) and not made & set(range(number, number + 3)):
            scalar[current] = scalar.get(current, 0) + 1
    assert not scalar
