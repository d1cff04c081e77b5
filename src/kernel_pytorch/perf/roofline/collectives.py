"""Collectives: what each member of a group has to send over its links at least, whatever the algorithm.

torch writes next to the call which collective it is, how many elements go in and come out, and who takes part. Ranks
are counted through the machines, eight to each: a group that spans machines goes over a network, about which a trace
says nothing, so it has no expected time.
"""

from __future__ import annotations

from kernel_pytorch.perf.roofline.forms import Collective
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature

PER_MACHINE = 8
OPERATOR = "record_param_comms"
_NAMES = {
    "allreduce": "all-reduce",
    "_allgather_base": "all-gather",
    "allgather": "all-gather",
    "all_gather": "all-gather",
    "allgather_into_tensor_coalesced": "all-gather",
    "_reduce_scatter_base": "reduce-scatter",
    "reduce_scatter": "reduce-scatter",
    "reduce_scatter_tensor_coalesced": "reduce-scatter",
    "all_to_all": "all-to-all",
    "alltoall_base": "all-to-all",
    "all_to_allv": "all-to-all",
    "broadcast": "broadcast",
    "reduce": "reduce",
}
_BYTES = {
    "Float": 4,
    "Double": 8,
    "Half": 2,
    "BFloat16": 2,
    "Int": 4,
    "Long": 8,
    "Short": 2,
    "Char": 1,
    "Byte": 1,
    "Bool": 1,
}


def collective(signature: Signature) -> Work | None:
    """record_param_comms with torch's own description: name, type, elements in, elements out, members, ranks."""
    if len(signature.concrete) != 6:
        return None
    name, kind, given, got, members, ranks = signature.concrete
    what, size = _NAMES.get(name.lower()), 1 if kind.startswith("Float8") else _BYTES.get(kind)
    group = int(members)
    if what is None or size is None or group < 2 or spans_machines(ranks):
        return None
    largest = max(int(given), int(got)) * size
    sent, steps = sent_bytes(what, group, largest), 2 if what == "all-reduce" else 1
    return Work(0, int(given) * size + int(got) * size, "fp32", form=Collective(what, group, sent, steps))


def sent_bytes(what: str, members: int, largest: int) -> float:
    """Of the larger of what goes in and comes out, the part that leaves a member."""
    share = (members - 1) / members
    if what == "all-reduce":
        return 2 * share * largest  # scattered sums, then gathered
    return largest if what in ("broadcast", "reduce") else share * largest


def spans_machines(ranks: str) -> bool:
    """Whether ranks such as "[0, 1, 2, 3]" are on more than one machine; those that are not written out are not."""
    numbers = [int(part) for part in ranks.strip("[]").split(",") if part.strip().isdigit()]
    return len({number // PER_MACHINE for number in numbers}) > 1


MODELS: dict[str, Model] = {OPERATOR: collective}
