"""torch.profiler's chrome traces, of NVIDIA and AMD GPUs, into a Recording."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.trace.cpu_operators import use_cpu_operators
from kernel_pytorch.perf.trace.recording import KERNEL, MEMCPY, MEMSET, NONE, Recording, Signature
from kernel_pytorch.perf.trace.stream import Progress, event_batches

ACTIVITY_KINDS = {
    "kernel": KERNEL,
    "gpu_memcpy": MEMCPY,
    "gpu_memset": MEMSET,
    # torch up to 1.11
    "Kernel": KERNEL,
    "Memcpy": MEMCPY,
    "Memset": MEMSET,
}
OPERATOR_CATEGORIES = {"cpu_op", "operator", "Operator"}
CALL_CATEGORIES = {"cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "Runtime", "runtime"}
# Their cost does depend on arguments that are not tensors. Elsewhere those vary freely (slices, seeds) and would only
# make the same operator look like many.
_NEEDS_ARGUMENTS = re.compile(
    r"conv|attention|attn|norm|softmax|mean|sum|prod|var|std|amax|amin|argm|max|min|any|all|pool|copy|cat|stack|linear|triton_|upsample|cumsum|fmha|mha_"
)
# What torch writes next to a collective.
_COLLECTIVE = ("Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size", "Process Group Ranks")
_RESUMED = re.compile(r"torch_dynamo_resume_in_\w+")


def read_chrome_trace(path: Path, *, progress: Progress | None = None, allow_truncated: bool = False) -> Recording:
    """The recording in a trace file, gzipped or not. Raises UsageError for what is not one."""
    recording = Recording(str(path), "torch trace")
    header: dict[str, Any] = {}
    take = _taker(recording)
    seen = 0
    spans = 0
    for batch in event_batches(path, header, progress=progress, allow_truncated=allow_truncated):
        seen += len(batch)
        for event in batch:
            try:
                if event.get("ph") == "X":
                    spans += 1
                    take(event)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise UsageError(f"{path}: an event is not what a trace has: {str(event)[:120]} ({error!r})") from error
    if seen == 0:
        raise UsageError(f"{path}: a trace without events; was anything run inside the profiler?")
    if spans == 0:
        raise UsageError(f'{path}: {seen} events, none of which has a duration ("ph": "X"): not a profiler\'s trace')
    properties = header.get("deviceProperties")
    recording.device_facts = (
        [row for row in properties if isinstance(row, dict)] if isinstance(properties, list) else []
    )
    recording.facts = {
        key: str(value) for key, value in header.items() if key.endswith("_version") and not isinstance(value, dict)
    }
    if header.get("truncated"):
        recording.notes.append("the trace is cut off: figures are of the part that is there")
    if len(recording.activities) == 0:
        use_cpu_operators(recording)
    return recording


def _taker(recording: Recording) -> Callable[[dict[str, Any]], None]:
    activities, operators, calls = recording.activities, recording.operators, recording.calls
    string, thread = recording.string, recording.thread

    def take(event: dict[str, Any]) -> None:
        category = event.get("cat")
        if category == "python_function":
            name = event["name"]
            if name.startswith("nn.Module: "):
                start = float(event["ts"])
                end = start + float(event.get("dur", 0))
                recording.modules.add(start, end, thread((event.get("pid"), event.get("tid"))), string(name[11:]), NONE)
            elif "torch_dynamo_resume_in_" in name:
                found = _RESUMED.search(name)
                if found:
                    recording.counters[found[0]] = recording.counters.get(found[0], 0) + 1
            return
        start = float(event["ts"])
        end = start + float(event.get("dur", 0))
        if category in OPERATOR_CATEGORIES:
            arguments = event.get("args", {})
            external = arguments.get("External id", NONE)
            number = _signature(recording, event["name"], arguments)
            operators.add(start, end, thread((event.get("pid"), event.get("tid"))), number, _integer(external))
        elif category in CALL_CATEGORIES:
            arguments = event.get("args", {})
            correlation = _integer(arguments.get("correlation", NONE))
            before = len(calls)
            calls.add(start, end, thread((event.get("pid"), event.get("tid"))), string(event["name"]), correlation)
            if len(calls) > before:
                kernel = arguments.get("kernel")
                recording.launched_kernel.append(string(str(kernel)) if kernel else NONE)
                recording.launched_grid.append(_grid(recording, arguments))
        elif category in ACTIVITY_KINDS:
            arguments = event.get("args", {})
            activities.add(
                start,
                end,
                name=string(event["name"]),
                kind=ACTIVITY_KINDS[category],
                device=_integer(arguments.get("device", event.get("pid", 0)), 31),
                stream=_integer(arguments.get("stream", event.get("tid", 0))),
                correlation=_integer(arguments.get("correlation", NONE)),
                external=_integer(arguments.get("External id", arguments.get("external id", NONE))),
                launch=_grid(recording, arguments),
            )
        elif category == "user_annotation":
            place = thread((event.get("pid"), event.get("tid")))
            recording.annotations.add(start, end, place, string(event["name"]), NONE)

    return take


def _grid(recording: Recording, arguments: dict[str, Any]) -> int:
    grid = arguments.get("grid")
    return recording.string(str(grid)) if grid else NONE


def _integer(value: Any, bits: int = 63) -> int:
    try:
        number = int(value)
        if -(1 << bits) <= number < 1 << bits:
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    # Streams and devices of odd exporters are names or pointers: any stable small number will do.
    return zlib.crc32(str(value).encode("utf-8", "surrogatepass")) & 0x3FFFFFFF


def _signature(recording: Recording, name: str, arguments: dict[str, Any]) -> int:
    dims = arguments.get("Input Dims") or arguments.get("Input dims") or ()
    types = arguments.get("Input type") or ()
    strides = arguments.get("Input Strides") or ()
    concrete = (arguments.get("Concrete Inputs") or ()) if _NEEDS_ARGUMENTS.search(name) else ()
    if "Collective name" in arguments:
        concrete = [str(arguments.get(key, "")) for key in _COLLECTIVE]
    key = (name, str(dims), str(types), str(strides), str(concrete))
    return recording.signature(
        key, lambda: Signature(name, _tuples(dims), tuple(map(str, types)), _tuples(strides), tuple(map(str, concrete)))
    )


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, (list, tuple)) else value
