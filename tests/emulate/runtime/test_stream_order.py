"""Races between streams: what the runtime knows of their order."""

from __future__ import annotations

import pytest

from tests.emulate.runtime.conftest import Run

RACES = {"KPT_EMULATE_FLAGS": "races"}
START = """
        k = function(module(), "checked")
        a = malloc(512)
        good("hipMemset", ctypes.c_void_p(a), 0, size(512))
        good("hipDeviceSynchronize")
        one, two, event = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        good("hipStreamCreateWithFlags", ctypes.byref(one), {flags})
        good("hipStreamCreateWithFlags", ctypes.byref(two), {flags})
        good("hipEventCreate", ctypes.byref(event))

        def use(stream, flags, at=0):
            assert launch(k, (1, 1, 1), (64, 1, 1), pointer_and_number(a + at, flags), stream=stream) == 0

"""
READS, WRITES, ATOMIC = 1, 2, 4
NON_BLOCKING = 1


def faults(run: Run, script: str, flags: int = NON_BLOCKING) -> list[str]:
    lines = "".join(f"        {line.strip()}\n" for line in script.strip().splitlines())
    ran = run(START.format(flags=flags) + lines, env=RACES)
    assert ran.code == 0, ran.err
    assert {fault["kind"] for fault in ran.faults} <= {"stream-race"}
    return [fault["detail"] for fault in ran.faults]


@pytest.mark.parametrize(
    "script",
    [
        "use(one, 2)\nuse(two, 1)",
        "use(one, 1)\nuse(two, 2)",
        "use(one, 2)\nuse(None, 1)",
        "use(one, 4)\nuse(two, 1)",
        "good('hipEventRecord', event, one)\nuse(one, 2)\ngood('hipStreamWaitEvent', two, event, 0)\nuse(two, 1)",
        "good('hipMemsetAsync', ctypes.c_void_p(a), 0, size(256), one)\nuse(two, 1)",
    ],
)
def test_two_streams_without_order(run: Run, script: str) -> None:
    (detail,) = faults(run, script)
    assert "nothing orders the two" in detail


@pytest.mark.parametrize(
    "script",
    [
        "use(one, 2)\ngood('hipEventRecord', event, one)\ngood('hipStreamWaitEvent', two, event, 0)\nuse(two, 1)",
        "use(one, 2)\ngood('hipStreamSynchronize', one)\nuse(two, 2)",
        "use(one, 2)\ngood('hipEventRecord', event, one)\ngood('hipEventSynchronize', event)\nuse(two, 2)",
        "use(one, 2)\ngood('hipDeviceSynchronize')\nuse(two, 2)",
        "use(one, 1)\nuse(two, 1)",
        "use(one, 4)\nuse(two, 4)",
        "use(one, 2)\nuse(two, 2, 256)",
        "use(one, 2)\nuse(one, 2)",
    ],
)
def test_streams_in_order(run: Run, script: str) -> None:
    assert faults(run, script) == []


def test_the_default_stream_and_blocking_streams_wait_for_each_other(run: Run) -> None:
    assert faults(run, "use(one, 2)\nuse(None, 1)\nuse(two, 2)", flags=0) == []
    assert len(faults(run, "use(one, 2)\nuse(two, 1)", flags=0)) == 1
