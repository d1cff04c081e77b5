"""Blocks of 32-wide rows, two of which share a 64-lane wave (KP312), and the launches they come from."""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.facts import Facts
from kernel_pytorch.port.wave.hazard import Hazard
from kernel_pytorch.port.wave.model import WaveModel, has_collective


def row_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """Launches with 32-wide rows of a kernel whose collectives follow the hardware's width."""
    if not model.follows_hardware:
        return
    for node, name, block in _launches_in(facts):
        extents = block_extents(facts, block)
        if extents[:1] != [32] or extents[1:2] in ([], [1]):
            continue
        for kernel in model.values.by_name.get(name, ()):
            group_has = has_collective(kernel) or any(
                has_collective(one) for call in kernel.calls for one in model.values.by_name.get(call.name, ())
            )
            if group_has and not model.is_thirty_two(kernel):
                message = (
                    f"{name} has 32-wide rows and collectives of the hardware's width: a 64-lane wave mixes two rows"
                )
                yield Hazard("KP312", node.start, node.end, message)
                break


def launches(model: WaveModel) -> Iterator[tuple[Facts, str, Node]]:
    """Every kernel<<<grid, block>>> of a unit: the function it stands in, the kernel, the block's size."""
    for facts in model.facts:
        for _, name, block in _launches_in(facts):
            yield facts, name, block


def _launches_in(facts: Facts) -> Iterator[tuple[Node, str, Node]]:
    if not facts.function.mentions(b"<<<"):
        return
    for node in facts.function.of_kind("call_expression"):
        configuration = next((one for one in node.children if one.kind == "kernel_call_syntax"), None)
        callee = node.child("function")
        if configuration is None or callee is None:
            continue
        sizes = [one for one in configuration.children if one.kind not in ("<<<", ">>>")]
        if len(sizes) >= 2:
            yield node, facts.text(callee).split("<")[0].split("::")[-1], sizes[1]


def block_extents(facts: Facts, node: Node) -> list[int | None]:
    """The extents of a block size, None for one that is not a constant."""
    if node.kind == "identifier":
        values = facts.assigned.get(facts.text(node), [])
        if len(values) == 1:
            node = values[0]
    if node.kind == "call_expression":
        arguments = node.child("arguments")
        callee = node.child("function")
        if arguments is None or callee is None or facts.text(callee) != "dim3":
            return [None]
        node = arguments
    if node.kind in ("argument_list", "initializer_list"):
        found = [facts.constant(one) for one in node.children]
        return [one.value if one is not None else None for one in found]
    value = facts.constant(node)
    return [value.value] if value is not None else [None]
