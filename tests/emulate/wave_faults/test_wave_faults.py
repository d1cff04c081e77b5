"""Twenty wave-width faults: right at wave 32, wrong at wave 64 as written, right at both after the port."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.emulate.program import build_emulated
from kernel_pytorch.emulate.run import RunSettings, run_program
from kernel_pytorch.jobs.program_build import UNTOUCHED_LANES, without_lane_rules
from kernel_pytorch.port.builds.hipified_tree import hipified_tree
from kernel_pytorch.toolchain.compile import CompileOptions
from kernel_pytorch.toolchain.find import find_toolchain

SOURCE = Path(__file__).with_name("faults.cu")
FAULTS = range(1, 21)
WAVE_32, WAVE_64 = "rx7900xtx", "mi300x"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], list[bool]]:
    """For the lane logic as written and as ported, on both widths: which of the programs call themselves right."""
    folder = tmp_path_factory.mktemp("faults")
    toolchain = find_toolchain(prefer="zig", headers="triton")
    right: dict[tuple[str, str], list[bool]] = {}
    for form in ("as written", "ported"):
        written = form == "as written"
        options = CompileOptions(optimization="-O2", extra=("-include", UNTOUCHED_LANES) if written else ())
        with hipified_tree(SOURCE, (), without_lane_rules() if written else None) as tree:
            assert written or not [finding for finding in tree.findings if not finding.edits]
            for name in (WAVE_32, WAVE_64):
                gpu = gpu_by_alias(name)
                program = folder / f"{form[:2]}-{name}"
                build_emulated([tree.main], gpu.target.name, toolchain, program, options)
                runs = [run_program(program, [str(number)], gpu, RunSettings(timeout_s=60)) for number in FAULTS]
                assert all(run.exit_code in (0, 1) and run.events.launches for run in runs)
                right[(form, name)] = [run.exit_code == 0 for run in runs]
    return right


def test_wave_32_is_what_cuda_means(verdicts: dict[tuple[str, str], list[bool]]) -> None:
    assert verdicts[("as written", WAVE_32)] == [True] * 20


def test_every_fault_shows_at_wave_64(verdicts: dict[tuple[str, str], list[bool]]) -> None:
    assert verdicts[("as written", WAVE_64)] == [False] * 20


@pytest.mark.parametrize("gpu", [WAVE_32, WAVE_64])
def test_the_port_is_right_at_both(verdicts: dict[tuple[str, str], list[bool]], gpu: str) -> None:
    assert verdicts[("ported", gpu)] == [True] * 20
