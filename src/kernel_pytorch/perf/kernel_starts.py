"""Whether a kernel found the GPU waiting for work, and whether the GPU had its code at hand.

AMD's profilers report some two microseconds less for one that found the GPU idle, which is as much as a short kernel
takes. One that runs for the first time has its instructions fetched from memory first, which takes about one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kernel_pytorch.perf.trace.linking import Links
from kernel_pytorch.perf.trace.recording import KERNEL, NONE, Recording

# A kernel that starts later than this after the one before it found the GPU with nothing to do...
IDLE_US = 3.0
# ... if it was launched this shortly before. Gaps between kernels that wait in a queue can be as long.
LAUNCH_US = 60.0


@dataclass(frozen=True)
class Starts:
    """Flags for each activity. `cold`: after idling, and the first run of this kernel in the recording.

    Behind another kernel the fetching of instructions does not show. The runtime's own copies and fills, which all use
    the same code, are never cold.
    """

    idle: bytearray
    cold: bytearray


def starts(recording: Recording, links: Links, order: Iterable[int]) -> Starts:
    """`order` are the activities by device and start."""
    activities, calls = recording.activities, recording.calls
    idle, cold = bytearray(len(activities)), bytearray(len(activities))
    busy_until: dict[int, float] = {}
    seen: set[tuple[int, int]] = set()
    for i in order:
        device, start = activities.device[i], activities.start[i]
        call, kernel = links.call[i], (device, activities.name[i])
        soon = call == NONE or start - calls.start[call] < LAUNCH_US
        idle[i] = soon and device in busy_until and start - busy_until[device] > IDLE_US
        cold[i] = idle[i] and activities.kind[i] == KERNEL and kernel not in seen
        seen.add(kernel)
        busy_until[device] = max(activities.end[i], busy_until.get(device, 0.0))
    return Starts(idle, cold)
