"""Allocation, copies, fills, guard pages."""

from __future__ import annotations

from tests.emulate.runtime.conftest import Run


def test_copies_go_both_ways_and_new_memory_is_not_zero(run: Run) -> None:
    ran = run(
        """
        a, b = malloc(1000), malloc(1000)
        assert download(a, 1000) == b"\\xff" * 1000
        data = bytes(i % 251 for i in range(1000))
        upload(a, data)
        good("hipMemcpy", ctypes.c_void_p(b), ctypes.c_void_p(a), size(1000), D2D)
        assert download(b, 1000) == data
        host = malloc(64, "hipHostMalloc", 0)
        ctypes.memmove(host, b"x" * 64, 64)
        good("hipMemcpyAsync", ctypes.c_void_p(a), ctypes.c_void_p(host), size(64), H2D, None)
        assert download(a, 64) == b"x" * 64
        print("done")
        """
    )
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert [event["bytes"] for event in ran.events if event["event"] == "buffer"] == [1000, 1000]


def test_rows_and_fills(run: Run) -> None:
    ran = run(
        """
        pointer, pitch = ctypes.c_void_p(), ctypes.c_size_t()
        good("hipMallocPitch", ctypes.byref(pointer), ctypes.byref(pitch), size(100), size(4))
        assert pitch.value == 256
        good("hipMemset2D", pointer, pitch, 7, size(100), size(4))
        rows = b"".join(bytes([row]) * 100 for row in range(4))
        good("hipMemcpy2D", pointer, pitch, rows, size(100), size(100), size(4), H2D)
        out = ctypes.create_string_buffer(400)
        good("hipMemcpy2D", out, size(100), pointer, pitch, size(100), size(4), D2H)
        assert out.raw == rows
        a = malloc(400)
        good("hipMemsetD32", ctypes.c_void_p(a), 0x01020304, size(100))
        assert download(a, 400) == bytes([4, 3, 2, 1]) * 100
        good("hipMemsetD16", ctypes.c_void_p(a), 0x0908, size(4))
        assert download(a, 12) == bytes([8, 9] * 4 + [4, 3, 2, 1])
        assert call("hipMemset", ctypes.c_void_p(a), 0, size(401)) == INVALID_VALUE
        assert call("hipMemcpy2D", out, size(50), pointer, pitch, size(100), size(4), D2H) == 12
        """
    )
    assert ran.code == 0, ran.err
    assert "400 bytes" in ran.err  # the fill that is too long names the buffer


def test_limits_errors_and_pointers(run: Run) -> None:
    ran = run(
        """
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        good("hipMemGetInfo", ctypes.byref(free), ctypes.byref(total))
        assert free.value == total.value == 1 << 30
        pointer = ctypes.c_void_p()
        assert call("hipMalloc", ctypes.byref(pointer), size(2 << 30)) == OUT_OF_MEMORY
        assert call("hipPeekAtLastError") == OUT_OF_MEMORY and call("hipGetLastError") == OUT_OF_MEMORY
        assert call("hipGetLastError") == 0
        a = malloc(600 << 20)
        assert call("hipMalloc", ctypes.byref(pointer), size(600 << 20)) == OUT_OF_MEMORY
        good("hipFree", ctypes.c_void_p(a))
        a = malloc(600 << 20)
        assert call("hipFree", ctypes.c_void_p(a + 16)) == INVALID_VALUE
        good("hipFree", ctypes.c_void_p(a))
        assert call("hipFree", ctypes.c_void_p(a)) == INVALID_VALUE
        good("hipFree", None)
        assert malloc(0) == 0
        b = malloc(100, "hipMallocManaged", 1)
        attributes = (ctypes.c_uint64 * 5)()
        good("hipPointerGetAttributes", attributes, ctypes.c_void_p(b + 10))
        assert attributes[0] & 0xffffffff == 3 and attributes[1] == b + 10
        start, length = ctypes.c_void_p(), ctypes.c_size_t()
        good("hipMemGetAddressRange", ctypes.byref(start), ctypes.byref(length), ctypes.c_void_p(b + 99))
        assert (start.value, length.value) == (b, 100)
        assert name_of(2) == "hipErrorOutOfMemory"
        assert call("hipMemcpy", ctypes.c_void_p(b), b"x" * 200, size(200), H2D) == INVALID_VALUE
        """,
        env={"KPT_EMULATE_MEMORY_GB": "1"},
    )
    assert ran.code == 0, ran.err
    assert "was freed before" in ran.err


def test_store_past_the_end_is_reported(run: Run) -> None:
    ran = run(
        """
        k = function(module(), "store")
        a, b = malloc(4000), malloc(4000)
        good("hipMemset", ctypes.c_void_p(a), 0, size(4000))
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 4000 - 256)) == 0
        assert words(a, 1000)[-64:] == list(range(64))
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 4000 - 252)) == 0
        assert call("hipDeviceSynchronize") == ILLEGAL_ADDRESS
        assert call("hipMalloc", ctypes.byref(ctypes.c_void_p()), size(4)) == ILLEGAL_ADDRESS
        assert call("hipGetLastError") == ILLEGAL_ADDRESS and call("hipGetLastError") == ILLEGAL_ADDRESS
        good("hipDeviceReset")
        good("hipDeviceSynchronize")
        """
    )
    assert ran.code == 0, ran.err
    (fault,) = ran.faults
    assert (fault["kind"], fault["lane"], fault["line"]) == ("bounds", 63, 12)
    assert "0 bytes past the end of device buffer #1 of 4000 bytes" in fault["detail"]
    assert "global_store_dword" in ran.err


def test_in_whole_pages_a_small_overrun_goes_unseen_and_a_large_one_does_not(run: Run) -> None:
    ran = run(
        """
        k = function(module(), "store")
        a = malloc(4000)
        assert a % 4096 == 0
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 4096 - 256)) == 0
        good("hipDeviceSynchronize")
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 4096 - 252)) == 0
        assert call("hipDeviceSynchronize") == ILLEGAL_ADDRESS
        """,
        env={"KPT_EMULATE_FLAGS": "whole-pages"},
    )
    assert ran.code == 0, ran.err
    (fault,) = ran.faults
    assert "96 bytes past the end of device buffer #1 of 4000 bytes" in fault["detail"]


def test_use_after_free_is_reported(run: Run) -> None:
    ran = run(
        """
        k = function(module(), "store")
        a = malloc(4000)
        good("hipFree", ctypes.c_void_p(a))
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 0)) == 0
        assert call("hipDeviceSynchronize") == ILLEGAL_ADDRESS
        """
    )
    assert ran.code == 0, ran.err
    assert [fault["kind"] for fault in ran.faults] == ["freed"]
    assert "which was freed" in ran.faults[0]["detail"]


def test_host_faults_stay_the_programs_own(run: Run) -> None:
    ran = run(
        """
        k = function(module(), "store")
        a = malloc(4000)
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 0)) == 0
        ctypes.memset(16, 1, 1)
        """
    )
    assert ran.code == -11
    assert ran.faults == []


def test_pools_and_async_allocation(run: Run) -> None:
    ran = run(
        """
        a = malloc(1000, "hipMallocAsync", None)
        upload(a, b"q" * 1000)
        pool = ctypes.c_void_p()
        good("hipDeviceGetDefaultMemPool", ctypes.byref(pool), 0)
        used = ctypes.c_uint64()
        good("hipMemPoolGetAttribute", pool, 7, ctypes.byref(used))
        assert used.value == 1000
        good("hipFreeAsync", ctypes.c_void_p(a), None)
        good("hipMemPoolGetAttribute", pool, 7, ctypes.byref(used))
        assert used.value == 0
        good("hipMemPoolGetAttribute", pool, 8, ctypes.byref(used))
        assert used.value == 1000
        assert call("hipFreeAsync", ctypes.c_void_p(a), None) == INVALID_VALUE
        """
    )
    assert ran.code == 0, ran.err
