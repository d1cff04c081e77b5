"""Two processes on the CPU (gloo): DDP, FSDP2, and every way a rank can fail, each within a time limit."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")

WORKER = Path(__file__).with_name("distributed_worker.py")
ROOT = Path(__file__).parents[2]
LIMIT_S = 120  # generous: a busy machine takes ten seconds to import torch


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(arguments: list[str], rank: int, port: int, world_size: int = 2) -> subprocess.Popen[str]:
    variables = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT / "src"),
        "GLOO_SOCKET_IFNAME": "lo",
    }
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(processes: list[subprocess.Popen[str]]) -> list[Ended]:
    """Wait for all; none may outlive the limit."""
    deadline = time.monotonic() + LIMIT_S
    ended = []
    try:
        for process in processes:
            out, err = process.communicate(timeout=max(1.0, deadline - time.monotonic()))
            ended.append(Ended(process.returncode, out, err))
    finally:
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                process.communicate()
    return ended


def run(*arguments: str) -> list[Ended]:
    port = free_port()
    return end([start([str(WORKER), *arguments], rank, port) for rank in range(2)])


def test_ddp_and_fsdp_train_alike_and_keep_the_keys() -> None:
    sums = []
    for kind in ("ddp", "fsdp"):
        first, second = run(kind)
        assert first.code == second.code == 0, first.err + second.err
        assert "loaded again" in first.out
        sums.append(float(first.out.split()[1]))
    assert sums[0] == pytest.approx(sums[1], abs=1e-3)


@pytest.mark.parametrize("kind", ["ddp", pytest.param("fsdp", marks=pytest.mark.slow)])
def test_bf16(kind: str) -> None:
    first, second = run(f"{kind}:bf16")
    assert first.code == second.code == 0, first.err + second.err


@pytest.mark.parametrize(
    ("how", "own", "others"),
    [
        ("raises", "ValueError: bad batch 17", "rank 1 failed: ValueError: bad batch 17"),
        pytest.param("memory", "can't allocate memory", "rank 1 failed: RuntimeError", marks=pytest.mark.slow),
        ("guarded", "a training step needs", "rank 1 failed: ROCmMemoryError: a training step needs"),
    ],
)
def test_a_rank_that_fails_ends_all_with_its_reason(how: str, own: str, others: str) -> None:
    first, second = run(f"fail:{how}")
    assert first.code != 0 and second.code != 0
    assert own in second.err
    assert "rank 0 of 2 stops because " + others in first.err, first.err


def test_a_rank_that_is_killed_is_missed() -> None:
    first, second = run("fail:killed")
    assert second.code == -signal.SIGKILL
    assert first.code not in (0, None)
    lost = "lost the connection to another rank" in first.err
    assert lost or "rank 0 of 2 stops because rank 1 failed: not heard of" in first.err, first.err


@pytest.mark.slow
def test_a_rank_that_stands_still_is_missed() -> None:
    port = free_port()
    ranks = [start([str(WORKER), "fail:hangs"], rank, port) for rank in range(2)]
    try:
        out, err = ranks[0].communicate(timeout=LIMIT_S)
    finally:
        for process in ranks:
            if process.poll() is None:
                process.kill()
                process.communicate()
    assert ranks[0].returncode == 1
    assert "rank 0 of 2 stops because rank 1 failed: not heard of for 8 s" in err, out + err


def test_an_uncaught_exception_is_announced_too() -> None:
    first, second = run("uncaught")
    assert first.code != 0 and second.code != 0
    assert "KeyError: 'label'" in second.err
    assert "rank 0 of 2 stops because rank 1 failed: KeyError: 'label'" in first.err, first.err


def test_an_unreachable_master_is_named_on_every_rank() -> None:
    # Nobody listens: rank 0 does not exist, ranks 1 and 2 do.
    port = free_port()
    ended = end([start([str(WORKER), "unreachable", "2"], rank, port, world_size=3) for rank in (1, 2)])
    for rank, one in zip((1, 2), ended, strict=True):
        assert one.code == 1
        assert f"rank {rank} of 3 could not join the job at 127.0.0.1:{port} within 2 s" in one.err, one.err


def test_a_missing_rank_is_noticed_by_the_master() -> None:
    port = free_port()
    (only,) = end([start([str(WORKER), "unreachable", "2"], 0, port)])
    assert only.code == 1 and "rank 0 of 2 could not join the job" in only.err, only.err
    assert "all 2 ranks were started" in only.err


def test_incomplete_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from kernel_pytorch.backends.cpu import CPUBackend
    from kernel_pytorch.backends.distributed import DistributedError, join

    monkeypatch.setenv("WORLD_SIZE", "2")
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DistributedError, match="RANK, MASTER_ADDR, MASTER_PORT is not set: start the program with"):
        join(CPUBackend())
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("MASTER_ADDR", "localhost")
    monkeypatch.setenv("MASTER_PORT", "1")
    with pytest.raises(DistributedError, match="RANK=2 is outside 0 to 1"):
        join(CPUBackend())


def test_the_example_runs_alone_and_in_twos(tmp_path: Path) -> None:
    script = str(ROOT / "examples" / "train.py")
    small = ["--steps", "3", "--batch", "2", "--length", "8", "--width", "32", "--save"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        environment.pop(name, None)
    alone = subprocess.run(
        [sys.executable, script, *small, str(tmp_path / "one.pt")], env=environment, capture_output=True, text=True
    )
    assert alone.returncode == 0 and "3 steps on 1 x" in alone.stdout, alone.stderr
    port = free_port()
    first, second = end([start([script, *small, str(tmp_path / "two.pt")], rank, port) for rank in range(2)])
    assert first.code == second.code == 0 and "3 steps on 2 x" in first.out, first.err + second.err
    import torch

    one, two = (torch.load(tmp_path / name) for name in ("one.pt", "two.pt"))
    assert list(one) == list(two)
