"""Two processes on the CPU (gloo): DDP, FSDP2, and every way a rank can fail, each within a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
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


def rank_variables(rank: int, port: int, world_size: int = 2) -> dict[str, str]:
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
    }


class Ranks:
    """Programs started by rank_server.py, and how they ended."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server, self._folder = server, folder
        self._started: list[int] = []

    def start(self, arguments: list[str], rank: int, port: int, world_size: int = 2) -> int:
        """Start a rank; returns the number of its process."""
        return self.program(arguments, rank_variables(rank, port, world_size))

    def program(self, arguments: list[str], variables: dict[str, str]) -> int:
        at = self._folder / str(len(self._started))
        process = self._ask({"arguments": arguments, "variables": variables, "output": [f"{at}.out", f"{at}.err"]})
        self._started.append(process)
        return process

    def end(self, processes: list[int]) -> list[Ended]:
        """Wait for all; none may outlive the limit."""
        limit = threading.Timer(LIMIT_S, self.kill, [processes, signal.SIGABRT])
        limit.start()
        try:
            return [self._end(process) for process in processes]
        finally:
            limit.cancel()

    def kill(self, processes: list[int], how: signal.Signals = signal.SIGKILL) -> None:
        for process in processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, how)

    def _end(self, process: int) -> Ended:
        code = self._ask({"wait": process})
        at = self._folder / str(self._started.index(process))
        return Ended(code, *(Path(f"{at}.{which}").read_text() for which in ("out", "err")))

    def _ask(self, request: dict[str, object]) -> int:
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    for name in ("WORLD_SIZE", "RANK", "LOCAL_RANK"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "tests.backends.rank_server"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as server:
        yield Ranks(server, tmp_path_factory.mktemp("ranks"))
        assert server.stdin is not None
        server.stdin.close()


def run_apart(*words: str) -> list[Ended]:
    """Run a program as two ranks that share nothing, not even the process that started them."""
    port = free_port()
    started = []
    for rank in range(2):
        variables = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), **rank_variables(rank, port)}
        command = [sys.executable, *words]
        started.append(
            subprocess.Popen(
                command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    ended = []
    try:
        for process in started:
            out, err = process.communicate(timeout=LIMIT_S)
            ended.append(Ended(process.returncode, out, err))
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return ended


Run = Callable[..., list[Ended]]


@pytest.fixture
def run(ranks: Ranks) -> Run:
    """Runs the worker as two ranks."""

    def two(*arguments: str) -> list[Ended]:
        port = free_port()
        return ranks.end([ranks.start([str(WORKER), *arguments], rank, port) for rank in range(2)])

    return two


def test_ddp_and_fsdp_train_alike_and_keep_the_keys() -> None:
    sums = []
    for kind in ("ddp", "fsdp"):
        first, second = run_apart(str(WORKER), kind)
        assert first.code == second.code == 0, first.err + second.err
        assert "loaded again" in first.out
        sums.append(float(first.out.split()[1]))
    assert sums[0] == pytest.approx(sums[1], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_bf16(kind: str) -> None:
    first, second = run_apart(str(WORKER), f"{kind}:bf16")
    assert first.code == second.code == 0, first.err + second.err


@pytest.mark.parametrize(
    ("how", "own", "others"),
    [
        ("raises", "ValueError: bad batch 17", "rank 1 failed: ValueError: bad batch 17"),
        pytest.param("memory", "can't allocate memory", "rank 1 failed: RuntimeError", marks=pytest.mark.slow),
        ("guarded", "a training step needs", "rank 1 failed: ROCmMemoryError: a training step needs"),
    ],
)
def test_a_rank_that_fails_ends_all_with_its_reason(run: Run, how: str, own: str, others: str) -> None:
    first, second = run(f"fail:{how}")
    assert first.code != 0 and second.code != 0
    assert own in second.err
    assert "rank 0 of 2 stops because " + others in first.err, first.err


def test_a_rank_that_is_killed_is_missed(run: Run) -> None:
    first, second = run("fail:killed")
    assert second.code == -signal.SIGKILL
    assert first.code not in (0, None)
    lost = "lost the connection to another rank" in first.err
    assert lost or "rank 0 of 2 stops because rank 1 failed: not heard of" in first.err, first.err


@pytest.mark.slow
def test_a_rank_that_stands_still_is_missed(ranks: Ranks) -> None:
    port = free_port()
    first, second = (ranks.start([str(WORKER), "fail:hangs"], rank, port) for rank in range(2))
    (ended,) = ranks.end([first])
    ranks.kill([second])
    ranks.end([second])
    assert ended.code == 1
    assert "rank 0 of 2 stops because rank 1 failed: not heard of for 8 s" in ended.err, ended.out + ended.err


def test_an_uncaught_exception_is_announced_too(run: Run) -> None:
    first, second = run("uncaught")
    assert first.code != 0 and second.code != 0
    assert "KeyError: 'label'" in second.err
    assert "rank 0 of 2 stops because rank 1 failed: KeyError: 'label'" in first.err, first.err


def test_an_unreachable_master_is_named_on_every_rank(ranks: Ranks) -> None:
    # Nobody listens: rank 0 does not exist, ranks 1 and 2 do.
    port = free_port()
    started = [ranks.start([str(WORKER), "unreachable", "2"], rank, port, world_size=3) for rank in (1, 2)]
    for rank, one in zip((1, 2), ranks.end(started), strict=True):
        assert one.code == 1
        assert f"rank {rank} of 3 could not join the job at 127.0.0.1:{port} within 2 s" in one.err, one.err


def test_a_missing_rank_is_noticed_by_the_master(ranks: Ranks) -> None:
    (only,) = ranks.end([ranks.start([str(WORKER), "unreachable", "2"], 0, free_port())])
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


EXAMPLE = [
    str(ROOT / "examples" / "train.py"), "--steps", "3", "--batch", "2", "--length", "8", "--width", "32", "--save",
]  # fmt: skip


def test_the_example_runs_alone(ranks: Ranks, tmp_path: Path) -> None:
    (alone,) = ranks.end([ranks.program([*EXAMPLE, str(tmp_path / "one.pt")], {})])
    assert alone.code == 0 and "3 steps on 1 x" in alone.out, alone.err


@pytest.mark.slow
def test_the_example_runs_in_twos_and_saves_the_same_keys(ranks: Ranks, tmp_path: Path) -> None:
    (alone,) = ranks.end([ranks.program([*EXAMPLE, str(tmp_path / "one.pt")], {})])
    assert alone.code == 0, alone.err
    first, second = run_apart(*EXAMPLE, str(tmp_path / "two.pt"))
    assert first.code == second.code == 0 and "3 steps on 2 x" in first.out, first.err + second.err
    import torch

    one, two = (torch.load(tmp_path / name) for name in ("one.pt", "two.pt"))
    assert list(one) == list(two)
