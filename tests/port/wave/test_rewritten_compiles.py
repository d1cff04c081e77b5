"""What the rewrites give is HIP that builds for 64-lane and 32-lane targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.wave.analysis import hazards
from kernel_pytorch.toolchain.compile import CompileOptions, compile_device_text
from kernel_pytorch.toolchain.find import Toolchain, ToolchainNotFoundError, find_toolchain

CASES = sorted((Path(__file__).parent / "hazards").glob("buggy_*.cu"))
# Not rewritten, by design: findings for a person.
LEFT_ALONE = {"cub_storage_reuse", "group_scan", "cub_lane_id", "width_by_vendor", "width_by_flag"}


@pytest.fixture(scope="module")
def toolchain() -> Toolchain:
    try:
        return find_toolchain()
    except ToolchainNotFoundError as missing:
        pytest.skip(str(missing))


def rewritten(path: Path) -> bytes:
    return rewrite(path.name, path.read_bytes())


def rewrite(name: str, data: bytes) -> bytes:
    """The source with every edit of the analysis applied."""
    source = cxx_file(name, data)
    edits = sorted(
        {edit for hazard in hazards(source, unit_of(source)) for edit in hazard.edits}, key=lambda edit: edit.span.start
    )
    pieces, at = [], 0
    for edit in edits:
        assert edit.span.start >= at, "edits overlap"
        pieces += [source.data[at : edit.span.start], edit.text]
        at = edit.span.end
    return b"".join([*pieces, source.data[at:]])


def unit_of_all(paths: list[Path]) -> str:
    """All cases in one source: a namespace each, and their macros taken back."""
    parts = ["#include <hip/hip_runtime.h>\n#include <cfloat>\n"]
    for path in paths:
        text = rewritten(path).decode()
        if "#include" in text or "cudaDeviceProp" in text:
            continue
        names = re.findall(r"^#define (\w+)", text, re.MULTILINE)
        parts.append(f"namespace {path.stem} {{\n{text}}}\n" + "".join(f"#undef {name}\n" for name in names))
    return "".join(parts)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_builds(target: str, toolchain: Toolchain) -> None:
    text = unit_of_all([path for path in CASES if path.stem.removeprefix("buggy_") not in LEFT_ALONE])
    assert text.count("namespace ") > 30
    # Templates are only looked at when used: this uses the ones that hold a collective.
    text += "template __device__ int buggy_mask_parameter::broadcast<int>(unsigned, int);\n"
    assert compile_device_text(text, target, toolchain, CompileOptions(optimization="-O1"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_rewriting_twice_changes_nothing(path: Path) -> None:
    once = cxx_file(path.name, rewritten(path))
    assert not [hazard for hazard in hazards(once, unit_of(once)) if hazard.edits]
