"""HIPUtilities on the CPU: regions, streams, events, traces."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.backends.amd import HIPUtilities  # noqa: E402
from kernel_pytorch.core.config import AMDConfig  # noqa: E402
from kernel_pytorch.core.errors import AMDConfigurationError, AMDDeviceError  # noqa: E402


@pytest.fixture
def utils() -> HIPUtilities:
    return HIPUtilities(AMDConfig(enable_profiling=True), device="cpu")


def test_a_region_has_the_hosts_time(utils: HIPUtilities) -> None:
    for _ in range(3):
        with utils.profile_region("sleep"):
            time.sleep(0.01)
    region = utils.get_profiling_summary()["regions"]["sleep"]
    assert region["count"] == 3
    assert 10 <= region["min_ms"] <= region["avg_ms"] <= region["max_ms"] <= region["total_ms"]
    assert region["total_ms"] == region["host_total_ms"] and region["device_total_ms"] is None


def test_regions_nest(utils: HIPUtilities) -> None:
    with utils.profile_region("outer"), utils.profile_region("inner"):
        time.sleep(0.002)
    summary = utils.get_profiling_summary()
    regions = summary["regions"]
    assert summary["total_regions"] == 2
    assert regions["inner"]["inside"] == ["outer"] and regions["outer"]["inside"] == []
    assert regions["outer"]["total_ms"] >= regions["inner"]["total_ms"]


def test_a_region_that_raises_is_counted_and_closed(utils: HIPUtilities) -> None:
    with pytest.raises(KeyError), utils.profile_region("broken"):
        raise KeyError
    with utils.profile_region("after"):
        pass
    regions = utils.get_profiling_summary()["regions"]
    assert regions["broken"]["count"] == 1 and regions["after"]["inside"] == []


def test_threads_do_not_mix(utils: HIPUtilities) -> None:
    def work(number: int) -> None:
        for _ in range(200):
            with utils.profile_region(f"thread {number}"), utils.profile_region("shared"):
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    regions = utils.get_profiling_summary()["regions"]
    assert regions["shared"]["count"] == 800
    assert regions["shared"]["inside"] == [f"thread {number}" for number in range(4)]
    assert all(regions[f"thread {number}"]["inside"] == [] for number in range(4))


def test_the_trace_can_be_read(utils: HIPUtilities, tmp_path: Path) -> None:
    with utils.profile_region("outer"), utils.profile_region("inner"):
        pass
    document = json.loads(utils.export_chrome_trace(tmp_path / "trace.json").read_text())
    slices = {event["name"]: event for event in document["traceEvents"] if event["ph"] == "X"}
    assert slices["inner"]["args"]["path"] == "outer/inner"
    outer, inner = slices["outer"], slices["inner"]
    assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def test_without_profiling_nothing_is_measured(tmp_path: Path) -> None:
    utils = HIPUtilities(AMDConfig(), device="cpu")
    with utils.profile_region("region"):
        pass
    assert utils.get_profiling_summary() == {
        "enabled": False,
        "device": "cpu",
        "total_regions": 0,
        "regions": {},
    }
    with pytest.raises(AMDDeviceError, match=r"enable_profiling=True"):
        utils.export_chrome_trace(tmp_path / "trace.json")


def test_streams(utils: HIPUtilities) -> None:
    stream = utils.create_stream("compute", priority=-1)
    assert utils.create_stream("compute", priority=-1) is stream is utils.get_stream("compute")
    assert stream.priority == -1
    with utils.use_stream("compute") as used:
        assert used is stream and stream.query()
    with pytest.raises(AMDDeviceError, match="exists with priority -1"):
        utils.create_stream("compute", priority=0)
    with pytest.raises(AMDConfigurationError, match="priority"):
        utils.create_stream("other", priority="high")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="there are compute"):
        utils.get_stream("copy")


def test_events(utils: HIPUtilities) -> None:
    start, end = utils.create_event("start"), utils.create_event()
    assert (start.name, end.name) == ("start", "")
    with pytest.raises(RuntimeError, match="must be recorded"):
        start.elapsed_time(end)
    start.record()
    time.sleep(0.005)
    utils.create_stream("s").record_event(end)
    assert start.elapsed_time(end) >= 5 and start.query() and utils.get_event("start") is start


def test_devices_of_a_cpu(utils: HIPUtilities) -> None:
    assert utils.device_count() == 0 and utils.devices() == [torch.device("cpu")] and utils.peer_access() == {}
    assert utils.on_every_device(str) == ["cpu"]
    utils.synchronize(every_device=True)


def test_cleanup_forgets(utils: HIPUtilities) -> None:
    utils.create_stream("compute")
    with utils, utils.profile_region("region"):
        pass
    assert utils.get_profiling_summary()["regions"] == {}
    with pytest.raises(KeyError, match="there are none"):
        utils.get_stream("compute")
