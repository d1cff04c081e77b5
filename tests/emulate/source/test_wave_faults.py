"""The twenty programs that go wrong at wave 64 are right as CUDA means them, whatever the order of lanes."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.emulate.run import RunSettings
from kernel_pytorch.emulate.source.build import SourceProgram, build_source
from kernel_pytorch.emulate.source.run import run_source

SOURCE = Path(__file__).parents[1] / "wave_faults" / "faults.cu"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> SourceProgram:
    return build_source([SOURCE], tmp_path_factory.mktemp("wave-faults") / "program")


@pytest.mark.parametrize("number", range(1, 21))
def test_it_is_right_from_source(number: int, program: SourceProgram) -> None:
    run = run_source(program, [str(number)], RunSettings(checked=True, races=True, timeout_s=60), seed=number)
    assert run.exit_code == 0, run.stdout
    assert run.events.faults == () and run.events.launches
