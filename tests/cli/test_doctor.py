"""`kpt doctor` and `kpt explain` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.platform import using
from kernel_pytorch.core.stand_in import stand_in

SRC = Path(__file__).resolve().parents[2] / "src"


def test_clean_machine_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    with using(stand_in(None)):
        assert main(["doctor", "--quick"]) == 0
    first = capsys.readouterr().out.splitlines()[0]  # "in a docker container" may stand between
    assert first.startswith("machine  no GPU") and ": kpt scan, port, build" in first


def test_red_flag_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    with using(stand_in("mi300x", 8, env={"TORCHINDUCTOR_MAX_AUTOTUNE": "1"})):
        assert main(["doctor", "--quick"]) == 1
    assert "KP130" in capsys.readouterr().out


def test_nvidia_machine_is_not_red_for_amd_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    env = {"TORCHINDUCTOR_MAX_AUTOTUNE": "1", "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"}
    with using(stand_in("h200", env=env)):
        assert main(["doctor", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["platform"]["vendor"] == "nvidia"
    assert data["counts"].get("red", 0) == 0


def test_env_block_of_this_machine_and_of_another(capsys: pytest.CaptureFixture[str]) -> None:
    with using(stand_in("mi300x", 8)):
        assert main(["doctor", "--env"]) == 0
        assert "export HSA_NO_SCRATCH_RECLAIM=1" in capsys.readouterr().out
    with using(stand_in(None)):
        assert main(["doctor", "--env"]) == 0
        assert "no AMD GPU on this machine" in capsys.readouterr().out
        for name in ("mi300x", "gfx942:sramecc+:xnack-"):
            assert main(["doctor", "--env", "--gpu", name]) == 0
            assert "(gfx942)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["doctor", "--gpu", "mi300x"], "--gpu goes with --env"),
        (["doctor", "--env", "--gpu", "mi999"], "unknown GPU 'mi999'"),
        (["doctor", "--env", "--gpu", "h200"], "not an AMD GPU"),
        (["doctor", "--python", "/nowhere/python"], "not a working Python"),
        (["explain", "KP999"], "no page for 'KP999'"),
    ],
)
def test_bad_input_exits_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.out == ""


def test_fix_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with using(stand_in("mi300x", env={"HIP_LAUNCH_BLOCKING": "1"})):
        assert main(["doctor", "--quick", "--fix"]) == 1
    assert "unset HIP_LAUNCH_BLOCKING" in capsys.readouterr().out.splitlines()


def test_explain_prints_a_page_and_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "kp103"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("KP103 rocm-torch-overwritten\n")
    assert "\nFix: " in out
    assert main(["explain"]) == 0
    assert "KP160  inductor-settings" in capsys.readouterr().out
    assert main(["explain", "KP103", "KP104", "--json"]) == 0
    assert [row["code"] for row in json.loads(capsys.readouterr().out)] == ["KP103", "KP104"]


def test_runs_with_the_standard_library_only_and_loads_no_torch() -> None:
    """-S leaves site-packages out: no rich, no packaging, no torch. That is how a bare machine looks."""
    code = (
        f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
        "from kernel_pytorch.cli.main import main\n"
        "status = main(['doctor', '-v'])\n"
        "assert not {'torch', 'rich', 'numpy', 'triton'} & set(sys.modules)\n"
        "sys.exit(status)\n"
    )
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    assert "KP101" in done.stdout
    assert "torch is not installed" in done.stdout


def test_on_a_terminal_the_table_is_drawn_with_rich(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rich")
    from kernel_pytorch.doctor import report
    from kernel_pytorch.doctor.machine import examine
    from kernel_pytorch.doctor.run import run_checks

    machine = examine(stand_in("mi300x", 8, env={"HIP_LAUNCH_BLOCKING": "1"}), with_torch=False)
    report.print_rich(machine, list(run_checks(machine)), verbose=True)
    out = capsys.readouterr().out
    assert "8 x MI300X" in out
    assert "KP132" in out
