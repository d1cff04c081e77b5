"""Addresses that are reserved, memory that is made apart, and mappings between them."""

from __future__ import annotations

from tests.emulate.runtime.conftest import Run

START = """
        import struct
        GRANULE = 2 << 20
        PROPERTIES = struct.pack("=iiiiQBBHI", 1, 1, 1, 0, 0, 0, 0, 0, 0)
        READ_WRITE, NOTHING = struct.pack("=iii", 1, 0, 3), struct.pack("=iii", 1, 0, 0)

        def reserve(count):
            place = ctypes.c_void_p()
            good("hipMemAddressReserve", ctypes.byref(place), size(count), size(0), None, ctypes.c_ulonglong(0))
            return place.value

        def make(count):
            handle = ctypes.c_void_p()
            code = call("hipMemCreate", ctypes.byref(handle), size(count), PROPERTIES, ctypes.c_ulonglong(0))
            return handle if code == 0 else code

        def put(at, count, handle, offset=0):
            return call("hipMemMap", ctypes.c_void_p(at), size(count), size(offset), handle, ctypes.c_ulonglong(0))

        def allow(at, count, access=READ_WRITE):
            return call("hipMemSetAccess", ctypes.c_void_p(at), size(count), access, size(1))

        def free():
            left, all_of_it = ctypes.c_size_t(), ctypes.c_size_t()
            good("hipMemGetInfo", ctypes.byref(left), ctypes.byref(all_of_it))
            return left.value
"""


def test_one_buffer_out_of_pieces_and_one_piece_at_two_places(run: Run) -> None:
    ran = run(
        START
        + """
        value = ctypes.c_int()
        good("hipDeviceGetAttribute", ctypes.byref(value), 89, 0)
        assert value.value == 1
        before = free()
        place, one, two = reserve(3 * GRANULE), make(GRANULE), make(GRANULE)
        assert before - free() == 2 * GRANULE
        assert put(place, GRANULE, one) == put(place + GRANULE, GRANULE, two) == 0
        assert put(place + 2 * GRANULE, GRANULE, one) == 0
        assert put(place, GRANULE, two) == INVALID_VALUE  # taken
        assert allow(place, 3 * GRANULE) == 0
        upload(place + GRANULE - 8, b"0123456789abcdef")  # across the border
        assert download(place + 3 * GRANULE - 8, 8) == b"01234567"
        assert call("hipMemAddressFree", ctypes.c_void_p(place), size(3 * GRANULE)) == INVALID_VALUE  # in use
        good("hipMemUnmap", ctypes.c_void_p(place), size(3 * GRANULE))
        good("hipMemRelease", one)
        good("hipMemRelease", two)
        good("hipMemAddressFree", ctypes.c_void_p(place), size(3 * GRANULE))
        assert free() == before
        print("done")
        """
    )
    assert (ran.code, ran.out) == (0, "done\n"), ran.err


def test_what_may_not_be_accessed_is_an_error_and_not_a_crash(run: Run) -> None:
    ran = run(
        START
        + """
        place, memory = reserve(2 * GRANULE), make(GRANULE)
        buffer = ctypes.create_string_buffer(8)
        read = lambda at: call("hipMemcpy", buffer, ctypes.c_void_p(at), size(8), D2H)
        assert read(place) == INVALID_VALUE  # nothing there
        assert allow(place, GRANULE) == INVALID_VALUE  # nothing to allow
        assert put(place, GRANULE, memory) == 0
        assert read(place) == INVALID_VALUE  # not allowed yet
        assert allow(place, 2 * GRANULE) == INVALID_VALUE  # half of it is not mapped
        assert allow(place, GRANULE) == 0 and read(place) == 0
        assert read(place + GRANULE - 4) == INVALID_VALUE  # past its end
        assert allow(place, GRANULE, NOTHING) == 0 and read(place) == INVALID_VALUE
        assert make(1 << 50) == OUT_OF_MEMORY
        assert put(place + GRANULE, GRANULE, memory, GRANULE) == INVALID_VALUE  # past the memory's end
        print("done")
        """
    )
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert "reserved, but nothing is mapped there" in ran.err


def test_memory_is_shared_through_a_file_descriptor(run: Run) -> None:
    ran = run(
        START
        + """
        memory, file, same = make(GRANULE), ctypes.c_int(-1), ctypes.c_void_p()
        good("hipMemExportToShareableHandle", ctypes.byref(file), memory, 1, ctypes.c_ulonglong(0))
        good("hipMemImportFromShareableHandle", ctypes.byref(same), ctypes.c_void_p(file.value), 1)
        first, second = reserve(GRANULE), reserve(GRANULE)
        assert put(first, GRANULE, memory) == put(second, GRANULE, same) == 0
        assert allow(first, GRANULE) == allow(second, GRANULE) == 0
        upload(first, b"the same")
        assert download(second, 8) == b"the same"
        kept = ctypes.c_void_p()
        good("hipMemRetainAllocationHandle", ctypes.byref(kept), ctypes.c_void_p(first + 5))
        assert kept.value == memory.value
        print("done")
        """
    )
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
