"""Facts about targets are columns of the hardware table: nothing else in the source keeps a list of gfx names."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from kernel_pytorch.core import hardware
from kernel_pytorch.core.architecture import AMDArchitecture
from kernel_pytorch.core.pages import PACKAGE

NAME = re.compile(r"gfx\d[0-9a-f]*(?:-[\w-]+)?")
QUOTED = re.compile(r"""["']gfx\d[0-9a-f]*["']\s*,\s*["']gfx\d""")

# Files that may name several targets in one literal, and why.
ALLOWED = {
    "port/templates/rocm_attention.py": "copied into the user's project, where it stands alone",
    "port/templates/rocm_fp8.py": "copied into the user's project, where it stands alone",
    "port/rules/python/kp584_device_capability.py": "source text that is written into the user's file",
}


def lists_of_targets(tree: ast.Module) -> list[int]:
    """Lines of literals (tuple, list, set, dict) with two or more gfx names, and of source text that holds such one."""
    documented = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    lines = []
    for node in ast.walk(tree):
        parts: list[ast.expr | None] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            parts = [*node.elts]
        elif isinstance(node, ast.Dict):
            parts = [*node.keys, *node.values]
        names = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if sum(NAME.fullmatch(name) is not None for name in names) > 1:
            lines.append(node.lineno)
        if isinstance(node, ast.Constant) and id(node) not in documented:
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else str(node.value)
            if QUOTED.search(text):
                lines.append(node.lineno)
    return lines


def test_no_list_of_targets_in_code() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix(): lines
        for path in sorted(PACKAGE.rglob("*.py"))
        if "gfx" in (text := path.read_text(encoding="utf-8")) and (lines := lists_of_targets(ast.parse(text)))
    }
    assert found.keys() == ALLOWED.keys(), "put the fact into core/data/targets.csv, gpus.csv or processors.csv"


@pytest.mark.parametrize(
    "source",
    ['X = ("gfx942", "gfx950")', 'X = {"gfx942": 1, "gfx950": 2}', 'x.startswith(("gfx94", "gfx95"))',
     "X = {1: 'gfx942', 2: 'gfx9-4-generic'}", "X = b'arch in (\"gfx1200\", \"gfx1201\")'"],
)  # fmt: skip
def test_a_new_list_would_be_seen(source: str) -> None:
    assert lists_of_targets(ast.parse(source))


@pytest.mark.parametrize(
    "source",
    ['X = ("gfx942",)', 'X = "gfx942,gfx1100"', '"""A page: `in ("gfx90a", "gfx942")`."""', 'f("gfx942", "gfx950")'],
)
def test_examples_and_defaults_are_not_lists(source: str) -> None:
    assert not lists_of_targets(ast.parse(source))


def test_generated_code_asks_for_the_fp8_format_that_the_table_has() -> None:
    """The prefixes in text that is written into users' files, against every target of the table."""
    from kernel_pytorch.port.python.fp8 import IS_FNUZ_GPU
    from kernel_pytorch.port.rules.python.kp584_device_capability import _HAS_FP8

    template = (PACKAGE / "port" / "templates" / "rocm_fp8.py").read_text(encoding="utf-8")
    fnuz, ocp = (re.findall(r'"(gfx\w+)"', line) for line in re.findall(r"base\.startswith\((.*)\):", template))
    assert re.findall(rb'"(gfx\w+)"', IS_FNUZ_GPU) == [name.encode() for name in fnuz]
    assert re.findall(rb'"(gfx\w+)"', _HAS_FP8) == [name.encode() for name in (*fnuz, *ocp)]
    for target in hardware.targets("amd"):
        expected = {"e4m3fnuz": (True, False), "e4m3fn": (False, True), None: (False, False)}[target.fp8_format]
        assert (target.name.startswith(tuple(fnuz)), target.name.startswith(tuple(ocp))) == expected, target.name


def test_kp247_knows_the_lds_of_a_block() -> None:
    """Its message says "on all but gfx950 and gfx1250"."""
    from kernel_pytorch.port.rules.cuda.kp247_dynamic_shared_size import _LDS_BYTES

    others = {row.name for row in hardware.targets("amd") if row.max_lds_bytes_per_workgroup != _LDS_BYTES}
    assert others == {"gfx950", "gfx1250"}


def test_every_target_is_a_processor_and_the_tables_agree() -> None:
    known = {row.name: row for row in hardware.processors()}
    for target in hardware.targets("amd"):
        row = known[target.name]
        assert row.has_accum_offset == (target.agprs == "unified"), target.name
        assert (row.vgpr_step_wave32 is not None) == (target.wave_size == 32), target.name
    numbers = [row.elf_machine for row in known.values() if row.elf_machine is not None]
    assert len(numbers) == len(set(numbers)) > 50


@pytest.mark.parametrize(
    ("name", "like"),
    [("gfx1202", "gfx1201"), ("gfx1252", "gfx1251"), ("gfx9-5-generic", "gfx9-4-generic"), ("gfx1310", "gfx1251")],
)
def test_a_processor_newer_than_the_table_is_taken_for_its_sibling(name: str, like: str) -> None:
    assert hardware.processor(name).name == like
    assert hardware.processor(like).name == like


def test_integrated_gpus() -> None:
    assert all(hardware.is_integrated(name) for name in ("gfx1036", "gfx1103", "gfx90c", "gfx1151"))
    assert not any(
        hardware.is_integrated(name) for name in ("gfx942", "gfx1100", "gfx942:sramecc+:xnack-", "", "sm_90")
    )


def test_one_target_stands_for_each_architecture() -> None:
    counted = Counter(row.arch for row in hardware.targets("amd") if row.stands_for_arch)
    assert counted == dict.fromkeys((one.name for one in AMDArchitecture if one is not AMDArchitecture.AUTO), 1)


def test_at_most_one_usual_product_of_a_target() -> None:
    assert max(Counter(gpu.target.name for gpu in hardware.gpus() if gpu.usual).values()) == 1
    assert [hardware.usual_gpu(name) for name in ("gfx942", "gfx90a", "gfx906", "gfx1036")] == [
        hardware.gpu_by_alias("mi300x"),
        hardware.gpu_by_alias("mi250x"),
        hardware.gpu_by_alias("mi50"),
        None,
    ]


@pytest.mark.parametrize("gpu", hardware.gpus(), ids=lambda gpu: gpu.alias)
def test_dies_and_memory_bus_fit_the_product(gpu: hardware.GPU) -> None:
    assert gpu.compute_units % gpu.xccs == 0
    gigabits_per_pin = gpu.bandwidth_gbs * 8 / gpu.bus_bits
    # HBM2 to HBM3E: 2 to 10 Gbit/s a pin. LPDDR5X: up to 10.7. GDDR6: 14 to 24.
    low, high = {"HBM": (2, 10), "LPD": (6, 10.7), "GDD": (14, 24)}[gpu.memory_type[:3]]
    assert low <= gigabits_per_pin <= high


def test_attributes_have_the_numbers_of_hips_own_header() -> None:
    import csv
    import importlib.util

    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        pytest.skip("triton, which carries HIP's headers, is not installed")
    header = Path(spec.origin).parent / "backends" / "amd" / "include" / "hip" / "hip_runtime_api.h"
    text = header.read_text(encoding="utf-8")
    body = re.search(r"typedef enum hipDeviceAttribute_t \{(.*?)\} hipDeviceAttribute_t", text, re.DOTALL)
    assert body is not None
    numbers: dict[str, int] = {}
    number = -1
    for name, value in re.findall(r"(\w+)(?:\s*=\s*(\w+))?\s*,", re.sub(r"//.*", "", body[1]) + ","):
        number = number + 1 if not value else int(value) if value.isdigit() else numbers[value]
        numbers[name] = number
    with (PACKAGE / "emulate" / "data" / "hip_attributes.csv").open(encoding="utf-8", newline="") as file:
        ours = {f"hipDeviceAttribute{row['attribute']}": int(row["number"]) for row in csv.DictReader(file)}
    assert len(ours.keys() & numbers.keys()) > 100
    assert {name: numbers[name] for name in ours if name in numbers} == {
        name: ours[name] for name in ours if name in numbers
    }
