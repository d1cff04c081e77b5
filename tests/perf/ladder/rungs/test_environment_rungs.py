from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import FOLDER
from kernel_pytorch.perf.ladder.rungs import environment, tunable_op


@pytest.fixture
def on_amd(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (environment, tunable_op):
        monkeypatch.setattr(module, "vendor_of", lambda model: "amd")
    for one in (*environment.AMD_VARIABLES, environment.UNWANTED):
        monkeypatch.delenv(one.name, raising=False)


def test_defaults_are_not_set_again() -> None:
    names = {one.name for one in environment.wanted("amd", {})}
    assert names == {"HSA_NO_SCRATCH_RECLAIM", "TORCH_BLAS_PREFER_HIPBLASLT", "GPU_MAX_HW_QUEUES"}
    changed = {one.name for one in environment.wanted("amd", {"HIP_FORCE_DEV_KERNARG": "0", "AMD_LOG_LEVEL": "4"})}
    assert changed - names == {"HIP_FORCE_DEV_KERNARG", "AMD_LOG_LEVEL"}


def test_what_is_set_already_is_left_out() -> None:
    here = {one.name: one.value for one in environment.AMD_VARIABLES}
    assert environment.wanted("amd", here) == ()
    assert environment.wanted("nvidia", {}) == ()
    assert [one.name for one in environment.wanted("nvidia", {"TORCHINDUCTOR_MAX_AUTOTUNE": "1"})] == [
        "TORCHINDUCTOR_MAX_AUTOTUNE"
    ]


def test_amd_tries_them_with_and_without_the_queue_limit(on_amd: None) -> None:
    text = environment.ENVIRONMENT.find(nn.Linear(2, 2), Inputs())
    assert "HSA_NO_SCRATCH_RECLAIM=1 (scratch memory" in text
    both = environment.ENVIRONMENT.choices(nn.Linear(2, 2), Inputs(), ())
    assert [("GPU_MAX_HW_QUEUES" in one) for one in both] == [True, False]
    assert all(isinstance(value, str) for one in both for value in one.values())


def test_the_vendor_is_that_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.vendor_of(nn.Linear(2, 2)) == "cpu"
    with pytest.raises(NotApplicable, match="not on a GPU"):
        environment.ENVIRONMENT.find(nn.Linear(2, 2), Inputs())

    class OnGpu(nn.Module):
        def parameters(self, recurse: bool = True):  # type: ignore[no-untyped-def]
            return iter([type("P", (), {"device": torch.device("cuda")})()])

    assert environment.vendor_of(OnGpu()) == "nvidia"
    monkeypatch.setattr(torch.version, "hip", "7.0", raising=False)
    assert environment.vendor_of(OnGpu()) == "amd"


def test_numa_balancing_is_told(tmp_path: Path) -> None:
    file = tmp_path / "numa_balancing"
    file.write_text("1\n")
    assert "echo 0" in environment._numa_note(file)
    file.write_text("0\n")
    assert environment._numa_note(file) == ""
    assert environment._numa_note(tmp_path / "absent") == ""


def test_tunable_op_tunes_in_one_run_and_reads_in_the_next(on_amd: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (tunable_op.ENABLED, tunable_op.FILENAME):
        monkeypatch.delenv(name, raising=False)
    assert "tunableop_results.csv" in tunable_op.TUNABLE_OP.find(nn.Linear(2, 2), Inputs())
    (used,) = tunable_op.TUNABLE_OP.choices(nn.Linear(2, 2), Inputs(), ())
    assert used[tunable_op.TUNING] == "0" and used[tunable_op.FILENAME].startswith(FOLDER)
    assert tunable_op.TUNABLE_OP.prepare is not None
    before = tunable_op.TUNABLE_OP.prepare(used)
    assert before[tunable_op.TUNING] == "1" and before[tunable_op.FILENAME] == used[tunable_op.FILENAME]
    monkeypatch.setenv(tunable_op.ENABLED, "1")
    monkeypatch.setenv(tunable_op.FILENAME, "mine.csv")
    with pytest.raises(NotApplicable, match=r"mine\.csv"):
        tunable_op.TUNABLE_OP.find(nn.Linear(2, 2), Inputs())


def test_tunable_op_has_nothing_to_choose_on_nvidia(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunable_op, "vendor_of", lambda model: "nvidia")
    with pytest.raises(NotApplicable, match="rocBLAS and hipBLASLt"):
        tunable_op.TUNABLE_OP.find(nn.Linear(2, 2), Inputs())
