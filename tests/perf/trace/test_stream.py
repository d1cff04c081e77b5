"""The incremental JSON reader: every layout gives the same events, and what is no trace is named."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.trace import stream
from kernel_pytorch.perf.trace.stream import event_batches


def read(path: Path, **options: Any) -> tuple[list[Any], dict[str, Any]]:
    header: dict[str, Any] = {}
    events = [event for batch in event_batches(path, header, **options) for event in batch]
    return events, header


NAME = 'k<"%d">\u00e9 },\n  {'
EVENTS = [{"ph": "X", "name": NAME % i, "args": {"nested": [{"a": i}, {"b": [i]}]}} for i in range(500)]


@pytest.mark.parametrize("chunk", [7, 64, 1000, 1 << 20])
@pytest.mark.parametrize("indent", [None, 0, 2, 4])
@pytest.mark.parametrize("order", ["before", "after"])
def test_every_layout_and_piece_size_gives_the_same_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int, indent: int | None, order: str
) -> None:
    monkeypatch.setattr(stream, "CHUNK_BYTES", chunk)
    events = EVENTS if chunk > 100 else EVENTS[:20]
    other = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "x"}], "n": 12345678901}
    document = {**other, "traceEvents": events} if order == "before" else {"traceEvents": events, **other}
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document, indent=indent))
    found, header = read(path)
    assert found == events
    assert header == other


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    path = tmp_path / "no_suffix"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": EVENTS}).encode()))
    assert read(path)[0] == EVENTS


def test_the_bare_array_form(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(EVENTS))
    assert read(path)[0] == EVENTS


def test_bare_infinities_of_old_profilers(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": [{"name": "a", "bandwidth": inf}, {"name": "b", "bandwidth": -nan }]}')
    found, _ = read(path)
    assert found[0]["bandwidth"] == float("inf")
    assert found[1]["name"] == "b"


def test_progress_reaches_the_size_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": EVENTS}))
    seen: list[tuple[int, int]] = []
    read(path, progress=lambda done, total: seen.append((done, total)))
    size = path.stat().st_size
    assert seen[-1] == (size, size)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"   \n", "empty"),
        (b"hello", "not a trace: a trace is JSON"),
        (b'{"traceEvents": [{"ph": "X", "name": "a"}, {"ph": ', "cut off after 1 events"),
        (b'{"traceEvents": [{"ph": "X"}]', "cut off"),
        (b'{"traceEvents"', "cut off"),
        (b'{"a": 1, "b": [1, 2]}', "no traceEvents (its keys: a, b)"),
        (b"[1, 2, 3]", "holds ints"),
        (b'{"traceEvents": [{"ph": "X"}, {bad}' + b" " * 9000 + b"]}", "not valid JSON"),
    ],
)
def test_what_is_no_trace_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"t\.json") as caught:
        read(path)
    assert words in str(caught.value)


def test_a_gzip_that_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    whole = gzip.compress(json.dumps({"traceEvents": EVENTS}).encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match="gzip stream ends early"):
        read(path)


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    whole = bytearray(gzip.compress(json.dumps({"traceEvents": EVENTS}).encode()))
    whole[30:60] = b"\xff" * 30
    path.write_bytes(bytes(whole))
    with pytest.raises(UsageError, match=r"damaged gzip|not valid JSON|cut off"):
        read(path)


def test_what_is_there_of_a_cut_off_trace_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    text = json.dumps({"traceEvents": EVENTS})
    path.write_text(text[: len(text) * 3 // 4])
    found, header = read(path, allow_truncated=True)
    assert found == EVENTS[: len(found)]
    assert 300 < len(found) < 500
    assert header["truncated"] is True


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Reading eight times the file takes hardly more memory: it is never in memory as a whole."""

    def peak(repeats: int) -> int:
        path = tmp_path / f"{repeats}.json"
        with path.open("w") as file:
            file.write('{"traceEvents": [\n')
            batch = ",\n".join(json.dumps(event) for event in EVENTS)
            file.write(",\n".join([batch] * repeats) + "\n]}")
        script = (
            "import re, sys; from pathlib import Path\n"
            "from kernel_pytorch.perf.trace.stream import event_batches\n"
            "n = sum(len(b) for b in event_batches(Path(sys.argv[1]), {}))\n"
            # Not ru_maxrss: that one remembers the process this was forked from.
            "print(n, re.search(r'VmHWM:\\s*(\\d+)', Path('/proc/self/status').read_text())[1])"
        )
        result = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
        count, kilobytes = map(int, result.stdout.split())
        assert count == repeats * len(EVENTS)
        return kilobytes

    small, large = peak(100), peak(800)
    file_kb = (tmp_path / "800.json").stat().st_size // 1024
    assert file_kb > 30_000
    assert large - small < file_kb / 5
