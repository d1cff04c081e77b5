"""A category for every activity of a recording, and the launch order on each stream."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from kernel_pytorch.perf.classify.classifier import CATEGORIES, category_of
from kernel_pytorch.perf.trace.linking import Links, in_order
from kernel_pytorch.perf.trace.recording import MEMCPY, NONE, Recording

MAX_ANCESTORS = 32
NUMBER = {name: number for number, name in enumerate(CATEGORIES)}


@dataclass(frozen=True)
class Attribution:
    """`category[i]` is an index into CATEGORIES; `order` lists the activities by device and start, left-overs apart."""

    category: array[int]
    order: array[int]
    is_copy_engine: bytearray

    def name(self, activity: int) -> str:
        """The category of an activity."""
        return CATEGORIES[self.category[activity]]


def attribute(recording: Recording, links: Links) -> Attribution:
    """Classify everything once per distinct (operator, kernel, surroundings)."""
    activities, operators = recording.activities, recording.operators
    known: dict[tuple[int, int, int], int] = {}
    category = array("b", bytes(len(activities)))
    engine = bytearray(len(activities))
    for i in range(len(activities)):
        operator = links.operator[i]
        signature = operators.label[operator] if operator != NONE else NONE
        parent = links.parent[operator] if operator != NONE else NONE
        around = operators.label[parent] if parent != NONE else NONE
        key = (activities.name[i], signature, around)
        number = known.get(key)
        if number is None:
            kernel = recording.strings[activities.name[i]]
            name = recording.signatures[signature].name if signature != NONE else None
            number = NUMBER[category_of(name, kernel, _ancestors(recording, links, parent))]
            known[key] = number
        category[i] = number
        if activities.kind[i] == MEMCPY or _is_runtime_copy(recording.strings[activities.name[i]]):
            engine[i] = 1
    by_device = in_order(activities.device, activities.start, activities.end)
    order = array("i", (i for i in by_device if not links.left_over[i]))
    return Attribution(category, order, engine)


def _is_runtime_copy(name: str) -> bool:
    """AMD's runtime does some copies with kernels of its own."""
    return name.startswith("__amd_rocclr_copy")


def _ancestors(recording: Recording, links: Links, operator: int) -> list[str]:
    names: list[str] = []
    while operator != NONE and len(names) < MAX_ANCESTORS:
        names.append(recording.signatures[recording.operators.label[operator]].name)
        operator = links.parent[operator]
    return names


def operator_name(recording: Recording, links: Links, activity: int) -> str:
    """The launching operator's name, or ""."""
    operator = links.operator[activity]
    return recording.signatures[recording.operators.label[operator]].name if operator != NONE else ""
