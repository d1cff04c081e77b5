"""Kernels: arguments, initial state, barriers, spinning blocks, watchdog."""

from __future__ import annotations

import pytest

from tests.emulate.runtime.conftest import TARGETS, Run


def test_vector_add_over_many_blocks(run: Run) -> None:
    ran = run(
        """
        n = 10000
        a, b, c = malloc(4 * n), malloc(4 * n), malloc(4 * n)
        upload(a, struct.pack(f"<{n}f", *range(n)))
        upload(b, struct.pack(f"<{n}f", *(2 * i for i in range(n))))
        values = [ctypes.c_uint64(a), ctypes.c_uint64(b), ctypes.c_uint64(c), ctypes.c_int(n)]
        assert launch(function(module(), "add"), (40, 1, 1), (256, 1, 1), values) == 0
        assert struct.unpack(f"<{n}f", download(c, 4 * n)) == tuple(3.0 * i for i in range(n))
        """
    )
    assert ran.code == 0, ran.err
    (launched,) = [event for event in ran.events if event["event"] == "launch"]
    assert (launched["kernel"], launched["grid"], launched["block"]) == ("add", [40, 1, 1], [256, 1, 1])
    assert ran.events[-1]["event"] == "end" and ran.events[-1]["launches"] == 1


@pytest.mark.parametrize("gpu", TARGETS)
def test_waves_start_as_the_target_says(run: Run, gpu: str) -> None:
    target, wave = TARGETS[gpu]
    ran = run(
        """
        out = malloc(64 * 128 * 8)
        block = (20, 5, 1)
        assert launch(function(module(), "state"), (2, 3, 4), block, pointer_and_number(out, 0), 64) == 0
        first = words(out, 32)
        print(*first)
        """,
        gpu=gpu,
        env={"KPT_EMULATE_THREADS": "1"},
    )
    assert ran.code == 0, ran.err
    state = [int(word) for word in ran.out.split()]
    # The slot of block x = 0 was written last by block (0, 2, 3).
    if target == "gfx1201":
        assert state[16] == 2 | 3 << 16 and state[18] == 0  # TTMP7 and TTMP9
    else:
        assert state[2:5] == [0, 2, 3]
    exec_mask = state[19] | state[20] << 32
    assert exec_mask == (1 << wave) - 1
    if target == "gfx1030":
        assert state[21:24] == [1, 0, 0]
    else:
        assert state[21] == 1
    assert state[24] & 0xFF == 0xC0  # float mode of the descriptor
    assert (state[25], state[26]) == (128 + 64, 16)


def test_hidden_arguments(run: Run) -> None:
    ran = run(
        """
        out = malloc(128)
        assert launch(function(module(), "hidden"), (7, 5, 3), (32, 2, 1), [ctypes.c_uint64(out)], 512) == 0
        raw = download(out, 128)
        assert struct.unpack_from("<3I3HH", raw, 8) == (7, 5, 3, 32, 2, 1, 0)
        assert struct.unpack_from("<H", raw, 32) == (3,)
        hostcall, sync, heap, lds, private, shared = struct.unpack_from("<3Q3I", raw, 40)
        assert hostcall and not sync and heap and lds == 512
        assert (private, shared) == (0x20000, 0x10000)
        """
    )
    assert ran.code == 0, ran.err


def test_barriers_and_waves_that_end_early(run: Run) -> None:
    script = """
        loaded = module()
        out = malloc(4 * 64)
        assert launch(function(loaded, "barrier"), (8, 1, 1), (512, 1, 1), pointer_and_number(out, 8)) == 0
        expected = [(wave + 1) % 8 + 1 + 100 * group for group in range(8) for wave in range(8)]
        assert words(out, 64) == expected
        good("hipMemset", ctypes.c_void_p(out), 0, size(256))
        assert launch(function(loaded, "early"), (1, 1, 1), (256, 1, 1), pointer_and_number(out, 0)) == 0
        assert words(out, 4) == [0, 1, 1, 1]
        """
    plain = run(script)
    assert (plain.code, plain.faults) == (0, []), plain.err
    checked = run(script, env={"KPT_EMULATE_FLAGS": "checked"})
    assert checked.code == 0, checked.err
    assert [fault["kind"] for fault in checked.faults] == ["barrier"]
    assert "1 of 4 waves ended" in checked.faults[0]["detail"]


def test_blocks_that_wait_for_later_blocks_finish(run: Run) -> None:
    ran = run(
        """
        flag = malloc(8)
        good("hipMemset", ctypes.c_void_p(flag), 0, size(8))
        assert launch(function(module(), "wait"), (2000, 1, 1), (64, 1, 1), pointer_and_number(flag, 1999)) == 0
        assert words(flag, 2) == [1, 1]
        """
    )
    assert (ran.code, ran.faults) == (0, []), ran.err


def test_more_waiting_blocks_than_fit_are_a_deadlock(run: Run) -> None:
    # Blocks of 1024 threads: two per compute unit. Block 0 waits for one that waits for room on the GPU.
    ran = run(
        """
        flag = malloc(8)
        good("hipMemset", ctypes.c_void_p(flag), 0, size(8))
        kernel = function(module(), "forever")
        assert launch(kernel, (3, 1, 1), (64, 1, 1), pointer_and_number(flag, 0)) == 0
        assert call("hipDeviceSynchronize") == LAUNCH_FAILURE
        """,
        env={"KPT_EMULATE_WATCHDOG_S": "1"},
    )
    assert ran.code == 0, ran.err
    assert [fault["kind"] for fault in ran.faults] == ["watchdog"]
    assert "deadlock" in ran.faults[0]["detail"] and "0 of 3 blocks are done" in ran.faults[0]["detail"]


def test_a_loop_without_end_runs_into_the_watchdog(run: Run) -> None:
    ran = run(
        """
        flag = malloc(8)
        assert launch(function(module(), "forever"), (1, 1, 1), (64, 1, 1), pointer_and_number(flag, 1)) == 0
        assert call("hipDeviceSynchronize") == LAUNCH_TIMEOUT
        """,
        env={"KPT_EMULATE_WATCHDOG_S": "1"},
    )
    assert ran.code == 0, ran.err
    assert "KPT_EMULATE_WATCHDOG_S" in ran.faults[0]["detail"]


def test_grid_barrier(run: Run) -> None:
    ran = run(
        """
        data = malloc(8 * 50)
        assert launch(function(module(), "grid"), (50, 1, 1), (64, 1, 1), pointer_and_number(data, 50)) == 0
        assert words(data, 100)[50:] == [(i + 1) % 50 + 1 for i in range(50)]
        """
    )
    assert ran.code == 0, ran.err


def test_trap_stops_the_device(run: Run) -> None:
    ran = run(
        """
        assert launch(function(module(), "trap"), (5, 1, 1), (64, 1, 1), pointer_and_number(0, 0)) == 0
        assert call("hipDeviceSynchronize") == LAUNCH_FAILURE
        """
    )
    assert ran.code == 0, ran.err
    assert (ran.faults[0]["kind"], ran.faults[0]["lane"], ran.faults[0]["line"]) == ("trap", 7, 34)


def test_launches_that_cannot_be(run: Run) -> None:
    ran = run(
        """
        loaded = module()
        kernel = function(loaded, "add")
        values = [ctypes.c_uint64(0)] * 3 + [ctypes.c_int(0)]
        assert launch(kernel, (1, 1, 1), (2048, 1, 1), values) == INVALID_VALUE
        assert launch(kernel, (1, 1, 1), (0, 1, 1), values) == INVALID_CONFIGURATION
        assert launch(kernel, (1, 1, 1), (64, 1, 1), values, 1 << 20) == INVALID_VALUE
        assert launch(kernel, (1 << 31, 1, 1), (64, 1, 1), values) == INVALID_VALUE
        assert call("hipModuleGetFunction", ctypes.byref(ctypes.c_void_p()), loaded, b"nothing") == NOT_FOUND
        """
    )
    assert ran.code == 0, ran.err
    assert "its launch bounds" in ran.err or "at most 1024" in ran.err
    assert [fault["kind"] for fault in ran.faults] == ["resources", "resources"]  # threads, then LDS


def test_printf_through_the_host_call_buffer(run: Run) -> None:
    ran = run('assert launch(function(module(), "print"), (1, 1, 1), (1, 1, 1), []) == 0')
    assert (ran.code, ran.out) == (0, "n=42 s=abc\n"), ran.err


def test_block_order_can_be_shuffled_and_repeated(run: Run) -> None:
    script = """
        out = malloc(64 * 128 * 40)
        k = function(module(), "add")
        n = 40 * 64
        a = malloc(4 * n)
        upload(a, struct.pack(f"<{n}f", *range(n)))
        values = [ctypes.c_uint64(a), ctypes.c_uint64(a), ctypes.c_uint64(out), ctypes.c_int(n)]
        assert launch(k, (40, 1, 1), (64, 1, 1), values) == 0
        assert struct.unpack(f"<{n}f", download(out, 4 * n)) == tuple(2.0 * i for i in range(n))
        """
    ran = run(script, env={"KPT_EMULATE_FLAGS": "shuffle-blocks", "KPT_EMULATE_SEED": "77"})
    assert ran.code == 0, ran.err
    assert "seed 77" in ran.err
