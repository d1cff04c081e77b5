"""The figures we read are those LLVM's own tools read from the same files."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from kernel_pytorch.toolchain.build import HOST, BuildOutcome, Source, build_sources, default_targets
from kernel_pytorch.toolchain.code_object import read_code_object
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.demangle import demangle, short_name
from kernel_pytorch.toolchain.disassemble import DisassemblerNotFoundError, disassemble, find_objdump, find_readelf
from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain
from kernel_pytorch.toolchain.resource_table import (
    HEADINGS,
    by_kernel,
    footnotes,
    plain_table,
    print_rich_table,
    resource_rows,
)
from tests.toolchain.device_ir import Spec, build

SOURCE = Path(__file__).with_name("resources.hip")
DEFAULT_TARGETS = default_targets()


@cache
def built() -> tuple[BuildOutcome, ...]:
    """The sample, with the pip-only toolchain, for every default target: compiled once per test run."""
    try:
        toolchain = find_toolchain(prefer="zig", headers="triton")
    except ToolchainNotFoundError as error:
        pytest.skip(str(error))
    found = build_sources([Source(SOURCE, CompileOptions())], DEFAULT_TARGETS, toolchain)
    return tuple(found)


def one(arch: str) -> BuildOutcome:
    return next(item for item in built() if item.arch == arch)


def test_all_targets_and_the_host_pass() -> None:
    assert [item.arch for item in built()] == [*DEFAULT_TARGETS, HOST]
    assert all(item.ok for item in built())
    assert all((item.code_object is None) == (item.arch == HOST) for item in built())


@pytest.mark.rocm_headers
@pytest.mark.parametrize("arch", DEFAULT_TARGETS)
def test_equals_llvm_readelf(arch: str, tmp_path: Path) -> None:
    readelf = find_readelf()
    if readelf is None:
        pytest.skip("no llvm-readelf of LLVM 18 or newer (make rocm-debian unpacks one)")
    path = tmp_path / "code.hsaco"
    path.write_bytes(one(arch).payload)
    said = subprocess.run([str(readelf), "--notes", str(path)], capture_output=True, text=True, check=True).stdout
    metadata = yaml.safe_load(said[said.index("---") : said.index("...")])
    code_object = one(arch).code_object
    assert code_object is not None
    assert metadata["amdhsa.target"].endswith(f"--{code_object.target_id}")
    assert len(metadata["amdhsa.kernels"]) == len(code_object.kernels) == 5
    for theirs, ours in zip(metadata["amdhsa.kernels"], code_object.kernels, strict=True):
        assert ours.symbol == theirs[".name"]
        assert ours.vgprs == theirs[".vgpr_count"]
        assert ours.agprs == theirs.get(".agpr_count", 0)
        assert ours.sgprs == theirs[".sgpr_count"]
        assert ours.vgpr_spills == theirs[".vgpr_spill_count"]
        assert ours.sgpr_spills == theirs[".sgpr_spill_count"]
        assert ours.scratch_bytes == theirs[".private_segment_fixed_size"]
        assert ours.lds_bytes == theirs[".group_segment_fixed_size"]
        assert ours.kernarg_bytes == theirs[".kernarg_segment_size"]
        assert ours.kernarg_align == theirs[".kernarg_segment_align"]
        assert ours.max_workgroup_size == theirs[".max_flat_workgroup_size"]
        assert ours.wave_size == theirs[".wavefront_size"]
        assert ours.uses_dynamic_stack == theirs[".uses_dynamic_stack"]
        assert ours.workgroup_processor_mode == bool(theirs.get(".workgroup_processor_mode", 0))
        assert [(a.offset, a.size, a.kind, a.address_space) for a in ours.args] == [
            (a[".offset"], a[".size"], a[".value_kind"], a.get(".address_space", "")) for a in theirs[".args"]
        ]


@pytest.mark.rocm_headers
@pytest.mark.parametrize("arch", DEFAULT_TARGETS)
def test_descriptors_equal_llvm_objdump(arch: str, tmp_path: Path) -> None:
    try:
        objdump = find_objdump(arch)
    except DisassemblerNotFoundError as error:
        pytest.skip(str(error))
    path = tmp_path / "code.hsaco"
    path.write_bytes(one(arch).payload)
    code_object = one(arch).code_object
    assert code_object is not None
    for kernel in code_object.kernels:
        command = [str(objdump), "-d", "-j", ".rodata", f"--disassemble-symbols={kernel.symbol}.kd", str(path)]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        theirs = {name: int(value) for name, value in re.findall(r"\.amdhsa_(\w+) (\d+)", said)}
        ours = kernel.descriptor
        assert ours is not None
        assert ours.lds_bytes == theirs["group_segment_fixed_size"] == kernel.lds_bytes
        assert ours.scratch_bytes == theirs["private_segment_fixed_size"] == kernel.scratch_bytes
        assert ours.kernarg_bytes == theirs["kernarg_size"] == kernel.kernarg_bytes
        assert ours.vgprs_at_most(arch) == theirs["next_free_vgpr"]
        assert ours.vgprs_at_most(arch) >= kernel.vgprs
        assert ours.wave_size == (32 if theirs.get("wavefront_size32") else 64) == kernel.wave_size
        assert ours.workgroup_processor_mode == bool(theirs.get("workgroup_processor_mode", 0))
        assert ours.uses_dynamic_stack == bool(theirs["uses_dynamic_stack"])
        if "accum_offset" in theirs:
            assert ours.accum_offset == theirs["accum_offset"]


@pytest.mark.rocm_headers
def test_disassembly_of_one_kernel() -> None:
    text = disassemble(one("gfx942").payload, "block_sum")
    assert "<block_sum>:" in text
    assert "s_endpgm" in text
    assert "scale" not in text


def test_disassembler_is_refused_when_it_does_not_know_the_target(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / "bin"
    old.mkdir()
    script = old / "llvm-objdump"
    script.write_text("#!/bin/sh\necho '  LLVM version 14.0.6'\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(old))
    monkeypatch.delenv("KPT_ROCM_ROOT", raising=False)
    monkeypatch.delenv("ROCM_PATH", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DisassemblerNotFoundError, match=r"LLVM 14.*pip packages have none.*--asm"):
        disassemble(build((Spec(vgprs=8),), "gfx906"))


def test_table_of_the_sample() -> None:
    rows = [row for item in built() for row in resource_rows(item)]
    text = plain_table(rows)
    lines = text.splitlines()
    assert lines[0].split("  ")[0] == "kernel"
    assert len(lines) == 1 + 5 * len(DEFAULT_TARGETS)
    assert all(heading in lines[0] for heading in HEADINGS)
    block_sum = next(line for line in lines if line.startswith("block_sum") and "gfx942" in line)
    assert re.search(r" 1024 +20 +256 +8/8  wave slots$", block_sum)
    spilling = next(row for row in rows if short_name(row.kernel.name) == "spilling" and row.arch == "gfx90a")
    assert spilling.kernel.vgpr_spills > 0
    assert spilling.kernel.scratch_bytes > 0
    assert any("workgroup-processor mode" in note for note in footnotes(rows))
    assert all(row.mismatches == () for row in rows)


def test_launch_figures_change_the_occupancy() -> None:
    row = next(r for r in resource_rows(one("gfx942"), 256, 31 * 1024) if r.kernel.symbol == "block_sum")
    assert row.occupancy is not None
    assert (row.occupancy.waves_per_simd, row.occupancy.limiter) == (2, "LDS")
    assert row.cells()[7] == "1024+31744"
    too_large = next(r for r in resource_rows(one("gfx942"), 512) if r.kernel.symbol == "block_sum")
    assert too_large.occupancy is None
    assert too_large.cells()[-1] == "takes workgroups up to 256"


def test_a_target_outside_the_hardware_table() -> None:
    payload = build((Spec(vgprs=8),), "gfx1010")
    item = BuildOutcome("k.hsaco", "k", "gfx1010", "code-object", payload, read_code_object(payload))
    (row,) = resource_rows(item)
    assert row.occupancy is None
    assert row.cells()[-2:] == ("?", "target not in the hardware table")


def test_unified_registers_are_explained() -> None:
    payload = build((Spec(vgprs=8, agprs=8),), "gfx90a")
    item = BuildOutcome("k.hsaco", "k", "gfx90a", "code-object", payload, read_code_object(payload))
    assert footnotes(resource_rows(item)) == (
        "VGPR counts AGPRs too on gfx90a and later: they share one register file",
    )


@pytest.mark.parametrize(
    ("symbol", "name", "short"),
    [
        ("block_sum", "block_sum", "block_sum"),
        ("_Z5scalePfi", "scale(float*, int)", "scale"),
        ("_ZN4math5scaleIfEEvPT_S1_i", "void math::scale<float>(float*, float, int)", "math::scale<float>"),
        ("_ZN12_GLOBAL__N_11kEv", "(anonymous namespace)::k()", "(anonymous namespace)::k"),
        ("_Z1kIXadL_Z1fvEEEvv", "void k<&(f())>()", "k<&(f())>"),
        ("_Znonsense", "_Znonsense", "_Znonsense"),
    ],
)
def test_names(symbol: str, name: str, short: str) -> None:
    assert demangle(symbol) == name
    assert short_name(demangle(symbol)) == short


@pytest.mark.parametrize(("columns", "heading"), [("140", "workgroup"), ("60", "max workgroup")])
def test_table_on_a_terminal(
    columns: str, heading: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    payload = build((Spec(vgprs=40), Spec(vgprs=50)), "gfx942")
    rows = resource_rows(
        BuildOutcome("[bold]k.hsaco", "k", "gfx942", "code-object", payload, read_code_object(payload))
    )
    print_rich_table(by_kernel(rows), "[bold]k.hsaco")
    said = capsys.readouterr().out
    assert "[bold]k.hsaco" in said  # a file name is not markup
    assert heading in said
    lines = [line.split() for line in said.splitlines()]
    assert [line[:3] for line in lines if line and line[0] in ("k0", "k1")] == [
        ["k0", "gfx942", "40"],
        ["k1", "gfx942", "50"],
    ]


def test_rows_of_one_kernel_come_together() -> None:
    rows = by_kernel([row for item in built() for row in resource_rows(item)])
    names = [row.kernel.symbol for row in rows]
    assert len({name for name, other in pairwise(names) if name != other}) == 4
    assert [row.arch for row in rows[: len(DEFAULT_TARGETS)]] == list(DEFAULT_TARGETS)
