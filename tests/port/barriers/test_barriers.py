"""libcu++'s barriers, pipelines, latches, semaphores and copies in a port, emulated at both widths."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.hipify.file import HipifyOptions, hipify_file

PROGRAM = Path(__file__).parent / "barriers.cu"


def test_all_of_it_is_written_out_and_nothing_is_left_for_a_person() -> None:
    result = hipify_file(cxx_file("barriers.cu", PROGRAM.read_bytes()), None, HipifyOptions())
    # KP330: the program's roles and its mutex go by whole waves, which the rule cannot know.
    assert {finding.code for finding in result.findings if not finding.edits} <= {"KP330"}
    for name in ("CUDA_BARRIER", "CUDA_PIPELINE", "CUDA_LATCH", "CUDA_COUNTING_SEMAPHORE", "CG_MEMCPY_ASYNC"):
        assert f"#ifndef KPT_SHIM_{name}\n".encode() in result.after
    assert b"<cuda/" not in result.after


@pytest.mark.slow
@pytest.mark.parametrize("gpu", ["mi300x", "rx7900xtx"])
def test_the_program_passes_at_both_widths(gpu: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", str(PROGRAM), "--gpu", gpu]) == 0
    assert capfd.readouterr().out.splitlines()[0] == "passed"
