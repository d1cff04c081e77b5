"""What checked runs find: unwritten bytes, bounds, races."""

from __future__ import annotations

from tests.emulate.runtime.conftest import Run

CHECKED = {"KPT_EMULATE_FLAGS": "checked"}
RACES = {"KPT_EMULATE_FLAGS": "races"}


def test_reads_of_bytes_nobody_wrote(run: Run) -> None:
    ran = run(
        """
        k = function(module(), "checked")
        a, b = malloc(256), malloc(256)
        upload(a, bytes(128))
        assert launch(k, (1, 1, 1), (32, 1, 1), pointer_and_number(a, 1)) == 0
        print("half", flush=True)
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 1)) == 0
        good("hipMemcpy", ctypes.c_void_p(b), ctypes.c_void_p(a), size(128), D2D)
        assert launch(k, (1, 1, 1), (32, 1, 1), pointer_and_number(b, 1)) == 0
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(b, 2)) == 0
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(b, 1)) == 0
        good("hipDeviceSynchronize")
        """,
        env=CHECKED,
    )
    assert ran.code == 0, ran.err
    assert {fault["kind"] for fault in ran.faults} == {"unwritten"}
    assert ran.faults[0]["lane"] == 32 and len(ran.faults) == 3  # the rest of the place is only counted
    assert ran.events[-1]["faults"] == 32


def test_reads_of_lds_nobody_wrote(run: Run) -> None:
    script = """
        k = function(module(), "checked")
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(0, {flags})) == 0
        good("hipDeviceSynchronize")
        """
    read = run(script.format(flags=1 | 8), env=CHECKED)
    assert read.code == 0, read.err
    assert {fault["kind"] for fault in read.faults} == {"unwritten"}
    assert "in LDS: no wave of the block wrote it" in read.faults[0]["detail"]
    written = run(script.format(flags=2 | 8), env=CHECKED)
    assert (written.code, written.faults) == (0, []), written.err


def test_faults_are_said_once(run: Run) -> None:
    script = """
        k = function(module(), "checked")
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(0, 1 | 8)) == 0
        """
    loud = run(script, env=CHECKED)
    quiet = run(script, env={"KPT_EMULATE_FLAGS": "checked,quiet-faults"})
    assert "fault: unwritten" in loud.err and "fault" not in quiet.err
    assert loud.faults == quiet.faults != []


def test_what_a_library_wrote_counts_as_written(run: Run) -> None:
    ran = run(
        """
        k = function(module(), "checked")
        a = malloc(256)
        library.kptHostLibraryWrites()
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 1)) == 0
        """,
        env=CHECKED,
    )
    assert (ran.code, ran.faults) == (0, []), ran.err


def test_bounds_are_exact(run: Run) -> None:
    ran = run(
        """
        k = function(module(), "checked")
        a = malloc(250)
        good("hipMemset", ctypes.c_void_p(a), 0, size(250))
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a, 1)) == 0
        assert call("hipDeviceSynchronize") == ILLEGAL_ADDRESS
        """,
        env=CHECKED,
    )
    assert ran.code == 0, ran.err
    assert (ran.faults[0]["kind"], ran.faults[0]["lane"]) == ("bounds", 62)


def test_host_memory_that_the_device_does_not_know(run: Run) -> None:
    ran = run(
        """
        k = function(module(), "checked")
        own = ctypes.create_string_buffer(512)
        assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(ctypes.addressof(own), 1)) == 0
        assert call("hipDeviceSynchronize") == ILLEGAL_ADDRESS
        """,
        env=CHECKED,
    )
    assert ran.code == 0, ran.err
    assert "memory of the host" in ran.faults[0]["detail"]
    assert "checked: argument 1 p points to memory of the host" in ran.err


def test_races_in_lds_and_between_blocks(run: Run) -> None:
    script = """
        k = function(module(), "checked")
        a = malloc(256)
        good("hipMemset", ctypes.c_void_p(a), 0, size(256))
        assert launch(k, ({blocks}, 1, 1), ({threads}, 1, 1), pointer_and_number({where}, {flags})) == 0
        good("hipDeviceSynchronize")
        """
    lds_writes = run(script.format(blocks=1, threads=128, where=0, flags=2 | 8), env=RACES)
    assert lds_writes.code == 0, lds_writes.err
    assert {fault["kind"] for fault in lds_writes.faults} == {"race"}
    assert "no barrier lies between" in lds_writes.faults[0]["detail"]
    assert lds_writes.faults[0]["bytes"] == 4
    for blocks, threads, where, flags in ((1, 128, 0, 1 | 8), (1, 64, 0, 2 | 8), (2, 64, "a", 1), (2, 64, "a", 4)):
        quiet = run(script.format(blocks=blocks, threads=threads, where=where, flags=flags), env=RACES)
        assert quiet.code == 0, quiet.err
        assert [fault for fault in quiet.faults if fault["kind"] == "race"] == [], (flags, quiet.err)
    between = run(script.format(blocks=2, threads=64, where="a", flags=2), env=RACES)
    assert {fault["kind"] for fault in between.faults} == {"race"}


def test_a_launch_comes_after_the_one_before(run: Run) -> None:
    """What one launch writes the next may read, whichever block of it."""
    ran = run(
        """
        k = function(module(), "checked")
        a = malloc(256)
        for flags, blocks in ((2, 1), (1, 2), (2, 1), (1, 2)):
            assert launch(k, (blocks, 1, 1), (64, 1, 1), pointer_and_number(a, flags)) == 0
        good("hipDeviceSynchronize")
        """,
        env=RACES,
    )
    assert ran.code == 0, ran.err
    assert [fault for fault in ran.faults if fault["kind"] == "race"] == [], ran.err
