"""rocprofv3's JSON output (`--output-format json`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.trace.recording import KERNEL, MEMCPY, NONE, Recording
from kernel_pytorch.perf.trace.stream import read_small_json

ROOT = "rocprofiler-sdk-tool"
GPU_AGENT = 2


def read_rocprof_json(path: Path) -> Recording:
    """The recording in rocprofv3's JSON. Raises UsageError for what does not look like it."""
    document = read_small_json(path)
    runs = document.get(ROOT) if isinstance(document, dict) else None
    if not isinstance(runs, list):
        raise UsageError(f"{path}: JSON, but not rocprofv3's: no {ROOT!r}")
    recording = Recording(str(path), "rocprof json")
    try:
        for run in runs:
            _read_run(recording, run)
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise UsageError(f"{path}: rocprofv3 JSON of an unknown version: {error!r} is missing") from error
    if len(recording.activities) == 0:
        raise UsageError(f"{path}: no kernel was recorded; run rocprofv3 with --kernel-trace")
    return recording


def _read_run(recording: Recording, run: dict[str, Any]) -> None:
    records = run["buffer_records"]
    agents = {agent["id"]["handle"]: agent for agent in run.get("agents", [])}
    for agent in agents.values():
        if agent.get("type") == GPU_AGENT:
            name = agent.get("product_name") or agent.get("model_name") or agent.get("name") or ""
            recording.device_facts.append(
                {"name": name, "target": agent.get("name", ""), "numSms": agent.get("cu_count")}
            )
    kernels = {
        one["kernel_id"]: one.get("formatted_kernel_name") or one.get("kernel_name") or "?"
        for one in run.get("kernel_symbols", [])
    }
    for record in records.get("kernel_dispatch", []):
        info = record["dispatch_info"]
        stream = record.get("stream_id") or info["queue_id"]
        _add(
            recording, record, str(kernels.get(info["kernel_id"], "?")).removesuffix(".kd"), KERNEL,
            _agent(agents, info["agent_id"]["handle"]), stream["handle"],
        )  # fmt: skip
    names = {row["kind"]: row["operations"] for row in run.get("strings", {}).get("buffer_records", [])}
    for record in records.get("memory_copy", []):
        operations = names.get("MEMORY_COPY", [])
        name = operations[record["operation"]] if record["operation"] < len(operations) else "MEMORY_COPY"
        ends = (record.get("dst_agent_id", {}).get("handle"), record.get("src_agent_id", {}).get("handle"))
        gpu = next((one for one in ends if agents.get(one, {}).get("type") == GPU_AGENT), ends[0])
        _add(recording, record, name, MEMCPY, _agent(agents, gpu), 0)
    kinds = [row["kind"] for row in run.get("strings", {}).get("buffer_records", [])]
    for record in records.get("hip_api", []):
        kind = kinds[record["kind"]] if record["kind"] < len(kinds) else ""
        operations = names.get(kind, [])
        name = operations[record["operation"]] if record["operation"] < len(operations) else kind
        recording.calls.add(
            record["start_timestamp"] / 1e3, record["end_timestamp"] / 1e3, recording.thread(record["thread_id"]),
            recording.string(name), int(record["correlation_id"]["internal"]),
        )  # fmt: skip


def _add(recording: Recording, record: dict[str, Any], name: str, kind: int, device: int, stream: Any) -> None:
    correlation = record.get("correlation_id", {}).get("internal", NONE)
    recording.activities.add(
        record["start_timestamp"] / 1e3, record["end_timestamp"] / 1e3, name=recording.string(name), kind=kind,
        device=device, stream=int(stream) % (1 << 31), correlation=int(correlation), external=NONE,
    )  # fmt: skip


def _agent(agents: dict[Any, Any], handle: Any) -> int:
    agent = agents.get(handle, {})
    return int(agent.get("node_id", agent.get("logical_node_id", 0)) or 0)
