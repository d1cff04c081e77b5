"""The torch device. Each file of cases/ runs in a process of its own: torch can get one emulated GPU in a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

CASES = Path(__file__).parent / "cases"
NO_CUDA_BUILD = pytest.mark.skipif(
    torch.version.cuda is not None, reason="a CUDA build of torch has to be imported inside the block"
)
# torch's own threads and those of the emulator: the tests run beside others.
QUIET = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def run(*command: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, env={**os.environ, **QUIET, **more}, check=False
    )


def run_cases(name: str, gpu: str, devices: int = 1) -> subprocess.CompletedProcess[str]:
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(CASES), "--confcutdir", str(CASES)]
    chosen = ["--emulated-gpu", gpu, "--emulated-gpus", str(devices)]
    return run("-m", "pytest", *options, *chosen, str(CASES / f"{name}.py"))


@pytest.mark.parametrize(
    ("name", "gpu", "devices"),
    [
        ("operators", "mi300x", 1),
        ("training", "mi300x", 1),
        ("torch_cuda", "mi300x", 2),
        ("refused", "rx7900xtx", 2),
        ("sparse", "mi300x", 1),
        ("nested", "mi300x", 1),
        ("programs", "mi300x", 1),
    ],
)
def test_cases(name: str, gpu: str, devices: int) -> None:
    done = run_cases(name, gpu, devices)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert f"emulated {gpu}: " in done.stdout


SCRIPT = """
import json, sys, torch
x = torch.ones(3, device="cuda", requires_grad=True)
(x * 2).sum().backward()
print(json.dumps([torch.cuda.is_available(), torch.version.hip is not None, torch.version.cuda,
                  torch.cuda.device_count(), torch.cuda.get_device_properties(0).gcnArchName,
                  x.grad.tolist(), sys.argv[1:]]))
"""


def test_a_command_sees_the_gpu_and_the_report_counts_operators(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    command = ["emulate", "--gpu", "mi300x", "--gpus", "2", "--json", "--", sys.executable, str(script), "--lr", "1"]
    done = run("-m", "kernel_pytorch", *command)
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout)["runs"][0]
    wanted = [True, True, None, 2, "gfx942:sramecc+:xnack-", [2.0, 2.0, 2.0], ["--lr", "1"]]
    assert json.loads(outcome["stdout"]) == wanted
    operators = outcome["events"]["operators"]
    assert operators["aten::mul.Tensor"] >= 2
    assert not any(name.startswith("torch") for name in operators)


def test_a_sitecustomize_of_the_users_own_still_runs(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import builtins\nbuiltins.from_the_users_own = 7\n")
    script = "import builtins; print(builtins.from_the_users_own)"
    path = os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))
    done = run("-m", "kernel_pytorch", "emulate", "--", sys.executable, "-c", script, PYTHONPATH=path)
    assert done.stdout.strip().splitlines()[-1] == "7", done.stderr


IN_PROCESS = """
import torch
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.torch_session import emulated_gpu

stream = torch.cuda.Stream
assert not torch.cuda.is_available()
for _ in range(2):
    with emulated_gpu("mi300x") as session:
        x = torch.arange(4.0, device="cuda", requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.tolist() == [0.0, 2.0, 4.0, 6.0]
        assert torch.cuda.get_device_name() == "AMD Instinct MI300X" and torch.version.hip
        assert session.operators["aten::mul.Tensor"] >= 1 and session.launches == ()
    assert not torch.cuda.is_available() and torch.version.hip is None
    assert torch.cuda.Stream is stream
    try:
        torch.ones(3, device="cuda")
        raise SystemExit("a GPU after the block")
    except (RuntimeError, AssertionError) as refused:
        assert "not compiled with CUDA" in str(refused), refused
try:
    with emulated_gpu("rx7900xtx"):
        raise SystemExit("two GPUs in one process")
except UsageError as refused:
    assert "MI300X" in str(refused)
print("good")
"""


@NO_CUDA_BUILD
def test_a_block_gives_the_gpu_and_takes_it_back() -> None:
    done = run("-c", IN_PROCESS)
    assert done.stdout.strip() == "good", done.stdout + done.stderr


TOO_LATE = """
import torch
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.torch_session import emulated_gpu

torch.ones(1, requires_grad=True).sum().backward()
try:
    with emulated_gpu("mi300x"):
        raise SystemExit("entered")
except UsageError as refused:
    print(refused)
"""


@NO_CUDA_BUILD
def test_a_backward_pass_before_the_block_is_answered_with_what_to_do() -> None:
    done = run("-c", TOO_LATE)
    assert "enter emulated_gpu earlier" in done.stdout, done.stdout + done.stderr


CUDA_BUILD_TOO_LATE = """
import torch
torch.version.cuda = "13.0"
torch._C._cuda_getDeviceCount = lambda: 0
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.emulate.torch_session import emulated_gpu

try:
    with emulated_gpu("mi300x"):
        raise SystemExit("entered")
except UsageError as refused:
    print(refused)
"""


def test_a_cuda_build_that_was_imported_before_the_block_is_answered_with_what_to_do() -> None:
    done = run("-c", CUDA_BUILD_TOO_LATE)
    assert "enter emulated_gpu before torch" in done.stdout, done.stdout + done.stderr


RANKS = """
import subprocess, sys
started = [subprocess.Popen([sys.executable, *sys.argv[1:2], str(rank), sys.argv[2]]) for rank in range(2)]
sys.exit(max(process.wait() for process in started))
"""


def test_two_processes_with_a_gpu_each_talk_through_nccl(tmp_path: Path) -> None:
    script = str(CASES / "distributed_ranks.py")
    command = [sys.executable, "-c", RANKS, script, str(tmp_path / "store")]
    done = run("-m", "kernel_pytorch", "emulate", "--gpu", "mi300x", "--", *command)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "rank 0 good" in done.stdout and "rank 1 good" in done.stdout


def test_races_between_streams_are_found_with_both_lines_and_nothing_else_is() -> None:
    script = CASES / "stream_races.py"
    command = ["-m", "kernel_pytorch", "emulate", "--gpu", "mi300x", "--check", "races", "--json", "--"]
    done = run(*command, sys.executable, str(script))
    found = json.loads(done.stdout)["runs"][0]
    assert found["exit_code"] == 0, found["stderr"]
    lines = script.read_text().splitlines()
    racy = {number for number, line in enumerate(lines, 1) if line.endswith("  # racy")}
    faults = found["events"]["faults"]
    assert {fault["kind"] for fault in faults} == {"stream-race"}
    assert {(fault["file"], fault["line"]) for fault in faults} == {(str(script), number) for number in racy}
    for fault in faults:
        # The other side: the line that wrote, read or freed the memory.
        assert f" at {script}:" in fault["detail"]
    assert done.returncode == 1
