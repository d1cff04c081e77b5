"""RCCL between ranks in one process: one thread for all ranks in a group, and one thread per rank."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import numpy as np
import pytest

from tests.emulate.libraries.arrays import Array, call, pointer
from tests.emulate.libraries.conftest import Load

FLOAT, DOUBLE, INT64 = 7, 8, 4
SUM, PRODUCT, MAX, MIN, AVERAGE = range(5)


@pytest.fixture(scope="module")
def rccl(load: Load) -> ctypes.CDLL:
    return load("rccl")


def communicators(rccl: ctypes.CDLL, ranks: int) -> list[ctypes.c_void_p]:
    table = (ctypes.c_void_p * ranks)()
    assert call(rccl, "ncclCommInitAll", table, ranks, None) == 0
    return [ctypes.c_void_p(entry) for entry in table]


def in_group(rccl: ctypes.CDLL, calls: list[Callable[[], int]]) -> None:
    assert call(rccl, "ncclGroupStart") == 0
    for one in calls:
        assert one() == 0
    assert call(rccl, "ncclGroupEnd") == 0


def inputs(ranks: int, count: int) -> list[Array]:
    return [np.random.default_rng(rank).standard_normal(count).astype(np.float32) for rank in range(ranks)]


@pytest.mark.parametrize(
    ("op", "reduce"), [(SUM, np.sum), (PRODUCT, np.prod), (MAX, np.max), (MIN, np.min), (AVERAGE, np.mean)]
)
def test_all_reduce_in_a_group(rccl: ctypes.CDLL, op: int, reduce: Callable[..., Array]) -> None:
    comms, data = communicators(rccl, 3), inputs(3, 10)
    out = [np.zeros(10, dtype=np.float32) for _ in range(3)]
    in_group(rccl, [
        lambda r=r: call(rccl, "ncclAllReduce", data[r], out[r], 10, FLOAT, op, comms[r], None) for r in range(3)
    ])  # fmt: skip
    for result in out:
        np.testing.assert_allclose(result, reduce(np.stack(data), axis=0), rtol=1e-5)


def test_integers_keep_all_bits(rccl: ctypes.CDLL) -> None:
    comms = communicators(rccl, 2)
    data = [np.array([2**62 + 1], dtype=np.int64), np.array([5], dtype=np.int64)]
    in_group(
        rccl,
        [lambda r=r: call(rccl, "ncclAllReduce", data[r], data[r], 1, INT64, SUM, comms[r], None) for r in range(2)],
    )
    assert data[0][0] == data[1][0] == 2**62 + 6


def test_other_collectives(rccl: ctypes.CDLL) -> None:
    ranks, n = 3, 4
    comms, data = communicators(rccl, ranks), inputs(ranks, n * ranks)
    gathered = [np.zeros(n * ranks * ranks, dtype=np.float32) for _ in range(ranks)]
    scattered, sent, turned = (
        [np.zeros(n * (ranks if wide else 1), dtype=np.float32) for _ in range(ranks)] for wide in (0, 1, 1)
    )
    reduced = np.zeros(n * ranks, dtype=np.float32)
    in_group(rccl, [
        one for r in range(ranks) for one in (
            lambda r=r: call(rccl, "ncclAllGather", data[r], gathered[r], n * ranks, FLOAT, comms[r], None),
            lambda r=r: call(rccl, "ncclReduceScatter", data[r], scattered[r], n, FLOAT, SUM, comms[r], None),
            lambda r=r: call(rccl, "ncclBroadcast", data[r], sent[r], n * ranks, FLOAT, 1, comms[r], None),
            lambda r=r: call(rccl, "ncclAllToAll", data[r], turned[r], n, FLOAT, comms[r], None),
            lambda r=r: call(
                rccl, "ncclReduce", data[r], reduced if r == 2 else None, n * ranks, FLOAT, MAX, 2, comms[r], None
            ),
        )
    ])  # fmt: skip
    stacked = np.stack(data)
    for r in range(ranks):
        assert (gathered[r] == stacked.ravel()).all()
        np.testing.assert_allclose(scattered[r], stacked.sum(axis=0)[r * n :][:n], rtol=1e-5)
        assert (sent[r] == data[1]).all()
        assert (turned[r] == stacked[:, r * n : (r + 1) * n].ravel()).all()
    assert (reduced == stacked.max(axis=0)).all()


def test_ring_of_sends(rccl: ctypes.CDLL) -> None:
    ranks = 4
    comms, data = communicators(rccl, ranks), inputs(ranks, 5)
    out = [np.zeros(5, dtype=np.float32) for _ in range(ranks)]
    in_group(rccl, [
        one for r in range(ranks) for one in (
            lambda r=r: call(rccl, "ncclSend", data[r], 5, FLOAT, (r + 1) % ranks, comms[r], None),
            lambda r=r: call(rccl, "ncclRecv", out[r], 5, FLOAT, (r - 1) % ranks, comms[r], None),
        )
    ])  # fmt: skip
    for r in range(ranks):
        assert (out[r] == data[r - 1]).all()


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


def test_one_thread_per_rank(rccl: ctypes.CDLL) -> None:
    ranks, rounds = 3, 20
    identity = UniqueId()
    assert rccl.ncclGetUniqueId(ctypes.byref(identity)) == 0
    results: dict[int, Array] = {}

    def work(rank: int) -> None:
        comm = ctypes.c_void_p()
        assert rccl.ncclCommInitRank(ctypes.byref(comm), ranks, identity, rank) == 0
        value = np.full(8, rank + 1.0)
        for _ in range(rounds):
            assert (
                rccl.ncclAllReduce(pointer(value), pointer(value), ctypes.c_size_t(8), DOUBLE, AVERAGE, comm, None) == 0
            )
            value *= rank + 1
        results[rank] = value
        assert rccl.ncclCommDestroy(comm) == 0

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    # The mean of (1, 2, 3) times the running value doubles it every round.
    for rank in range(ranks):
        np.testing.assert_allclose(results[rank], 2.0**rounds * (rank + 1), rtol=1e-9)


def test_errors(rccl: ctypes.CDLL) -> None:
    assert call(rccl, "ncclGroupEnd") == 5
    assert call(rccl, "ncclAllReduce", None, None, 1, FLOAT, SUM, None, None) == 4
    comm = communicators(rccl, 1)[0]
    assert call(rccl, "ncclBroadcast", None, None, 1, FLOAT, 3, comm, None) == 4
    rccl.ncclGetErrorString.restype = ctypes.c_char_p
    assert rccl.ncclGetErrorString(0) == b"no error"
