"""Which operator stands behind a kernel of a replayed graph.

A replay is one call for a thousand kernels, so a trace of replays names no operators. They were there when the graph
was captured: between the calls that begin and end a capture, operators launch kernels that do not run. AMD's profiler
writes the kernel's name at the launch, NVIDIA's does not. A replay belongs to a captured graph with the same kernels,
and the n-th run of a kernel to its n-th launch. Where the profiler has no names, a graph with as many kernels must do,
in order. Where captured graphs with different shapes fit one replay alike, none is taken: that would be a guess.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from kernel_pytorch.perf.trace.linking import Lookup, enclosing
from kernel_pytorch.perf.trace.recording import MEMCPY, MEMSET, NONE, Recording

_BEGINS = ("hipStreamBeginCapture", "cudaStreamBeginCapture", "cuStreamBeginCapture")
_ENDS = ("hipStreamEndCapture", "cudaStreamEndCapture", "cuStreamEndCapture")
# Of the nodes of a captured graph, this share may be missing in a replay.
MOST_LEFT_OUT = 0.02
_COPY, _SET = "a copy", "a memset"


@dataclass(frozen=True)
class Node:
    """A launch during a capture: its kernel ("" where it is not known), its grid, the operator around it."""

    kernel: str
    launch: str
    operator: int


@dataclass(frozen=True)
class Graph:
    """What was launched between the beginning and the end of one capture, in order."""

    recording: Recording
    parents: Sequence[int]
    nodes: tuple[Node, ...]

    @property
    def named(self) -> bool:
        """Whether the profiler wrote down which kernels were launched."""
        return all(node.kernel for node in self.nodes)

    def work(self) -> tuple[object, ...]:
        """What must be the same for two graphs to stand in for each other."""
        one = self.recording
        return tuple(
            (node.kernel, one.signatures[one.operators.label[node.operator]] if node.operator != NONE else None)
            for node in self.nodes
        )


def captured_graphs(recording: Recording) -> list[Graph]:
    """The graphs that were captured while this was recorded."""
    calls, strings = recording.calls, recording.strings
    ran = set(recording.activities.correlation)
    order = sorted(range(len(calls)), key=calls.start.__getitem__)
    if not any(strings[calls.label[i]].startswith(_BEGINS) for i in order):
        return []
    operator_of = enclosing(calls, recording.operators)
    parents = enclosing(recording.operators, recording.operators)
    graphs, nodes, capturing = [], list[Node](), False
    for i in order:
        name = strings[calls.label[i]]
        if name.startswith(_BEGINS):
            nodes, capturing = [], True
        elif name.startswith(_ENDS):
            if nodes:
                graphs.append(Graph(recording, parents, tuple(nodes)))
            nodes, capturing = [], False
        elif capturing and calls.key[i] not in ran and _is_launch(name):
            kernel = recording.launched_kernel[i] if recording.launched_kernel else NONE
            launch = recording.launched_grid[i] if recording.launched_grid else NONE
            nodes.append(
                Node(
                    strings[kernel] if kernel != NONE else _COPY if "cpy" in name else _SET if "emset" in name else "",
                    strings[launch] if launch != NONE else "",
                    operator_of[i],
                )
            )
    return graphs


def _is_launch(call: str) -> bool:
    return ("Launch" in call and "Graph" not in call) or "Memcpy" in call or "Memset" in call


def join_graphs(recording: Recording, captures: Iterable[Recording] = ()) -> None:
    """Give the kernels of replays the operators they were captured with; a note says how many were found."""
    replays = dict(_replays(recording))
    if not replays:
        return
    graphs = [graph for one in (recording, *captures) for graph in captured_graphs(one)]
    joined = 0
    for call, activities in replays.items():
        found = _graph_of(recording, activities, graphs)
        if found is not None:
            _join(recording, call, activities, found)
            joined += 1
    kernels = sum(map(len, replays.values()))
    if joined:
        recording.notes.append(f"{joined} of {len(replays)} replays of graphs joined with what was captured")
    else:
        why = "no captured graph has these kernels" if graphs else "no capture is recorded"
        recording.notes.append(
            f"{kernels} kernels are of replayed graphs, without operators and shapes ({why}): record while the graph "
            "is captured, with shapes, and give that trace with --capture"
        )


def _replays(recording: Recording) -> Iterator[tuple[int, list[int]]]:
    """Each launch of a graph (its call), with the activities it started, by start."""
    calls, activities = recording.calls, recording.activities
    launches = {i for i in range(len(calls)) if "GraphLaunch" in recording.strings[calls.label[i]]}
    if not launches:
        return
    call_of = Lookup(calls.key)
    found: dict[int, list[int]] = defaultdict(list)
    for i in sorted(range(len(activities)), key=activities.start.__getitem__):
        call = call_of(activities.correlation[i])
        if call in launches:
            found[call].append(i)
    yield from found.items()


def _name(recording: Recording, activity: int) -> str:
    kind = recording.activities.kind[activity]
    text = recording.strings[recording.activities.name[activity]]
    if kind == MEMCPY or text.startswith("__amd_rocclr_copy"):
        return _COPY
    return _SET if kind == MEMSET or text.startswith("__amd_rocclr_fill") else text


def _graph_of(recording: Recording, activities: Sequence[int], graphs: Sequence[Graph]) -> Graph | None:
    """The captured graph that a replay is of, with the nodes that ran and in the order in which they did."""
    names = [_name(recording, i) for i in activities]
    wanted = Counter(names)
    same = [one for one in graphs if one.named and Counter(node.kernel for node in one.nodes) == wanted]
    if same:
        found = [_in_order_of(one, names) for one in same]
    else:
        near = [one for one in graphs if one.named and _contains(one, wanted)]
        found = [_those_that_ran(one, names) for one in near] or [
            one for one in graphs if not one.named and len(one.nodes) == len(activities)
        ]
    return found[0] if found and len({one.work() for one in found}) == 1 else None


def _contains(graph: Graph, wanted: Counter[str]) -> bool:
    """Whether a replay is this graph but for a few nodes: HIP leaves out some of what was captured."""
    given = Counter(node.kernel for node in graph.nodes)
    return not wanted - given and len(graph.nodes) - wanted.total() <= MOST_LEFT_OUT * len(graph.nodes)


def _in_order_of(graph: Graph, names: Sequence[str]) -> Graph:
    """The n-th run of a kernel is its n-th launch: branches of a graph run in any order."""
    by_name: dict[str, list[Node]] = defaultdict(list)
    for node in reversed(graph.nodes):
        by_name[node.kernel].append(node)
    return replace(graph, nodes=tuple(by_name[name].pop() for name in names))


def _those_that_ran(graph: Graph, names: Sequence[str]) -> Graph:
    """Those of the longest runs of kernels that both have; a node without an operator where nothing fits."""
    nodes = [Node(name, "", NONE) for name in names]
    captured = [node.kernel for node in graph.nodes]
    for block in SequenceMatcher(None, captured, names, autojunk=False).get_matching_blocks():
        nodes[block.b : block.b + block.size] = graph.nodes[block.a : block.a + block.size]
    return replace(graph, nodes=tuple(nodes))


def _join(recording: Recording, call: int, activities: Sequence[int], graph: Graph) -> None:
    """Copies the operators of a captured graph into the recording, once for each replay: it is another call of them."""
    thread = recording.thread(("replay", call))
    copies: dict[int, int] = {}
    for activity, node in zip(activities, graph.nodes, strict=True):
        if node.operator != NONE:
            recording.captured[activity] = _copied(recording, graph, node.operator, thread, copies)
        if node.launch:
            recording.activities.launch[activity] = recording.string(node.launch)


def _copied(recording: Recording, graph: Graph, operator: int, thread: int, copies: dict[int, int]) -> int:
    """The copy of an operator and of those around it. Times are the capture's: a thread of its own keeps them apart."""
    if operator not in copies:
        parent = graph.parents[operator]
        if parent != NONE:
            _copied(recording, graph, parent, thread, copies)
        theirs = graph.recording.operators
        signature = graph.recording.signatures[theirs.label[operator]]
        number = recording.signature(signature, lambda: signature)
        copies[operator] = len(recording.operators)
        recording.operators.add(theirs.start[operator], theirs.end[operator], thread, number, NONE)
    return copies[operator]
