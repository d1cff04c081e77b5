"""Who uses what a block reduction returns: whether thread 0 alone does, where only the first warp has the result."""

from __future__ import annotations

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.facts import Call, Facts, strip


def is_block_result_right(facts: Facts, call: Call, for_all: bool) -> bool:
    """Whether a kernel calls a block reduction with all its threads and uses the result where it is defined.

    `for_all`: every thread gets it; else the first warp alone, and every use has to be thread 0's.
    """
    if facts.function.kind != "kernel":
        return False
    # A warp that has left is missing from CUDA's count of warps as well as from ours, but not in the same places.
    if any(one.start < call.node.start for one in facts.function.of_kind("return_statement")):
        return False
    if for_all:
        return True
    above = call.node.parent
    if above is None or above.kind not in ("init_declarator", "assignment_expression"):
        return False
    sign = above.child("operator")
    target = above.child("declarator") if above.kind == "init_declarator" else above.child("left")
    if target is None or target.kind != "identifier" or (sign is not None and sign.kind != "="):
        return False
    name = facts.text(target)
    loops = {
        id(one) for one in call.node.ancestors() if one.kind in ("for_statement", "while_statement", "do_statement")
    }
    return all(_use_is_right(facts, use, call, loops) for use in facts.function.uses(name) if use is not target)


def _use_is_right(facts: Facts, use: Node, call: Call, loops: set[int]) -> bool:
    above = use.parent
    if (
        above is not None
        and use.role in ("left", "declarator")
        and above.kind in ("assignment_expression", "init_declarator")
    ):
        sign = above.child("operator")
        if sign is None or sign.kind == "=":
            return True
    is_shared_loop = any(id(one) in loops for one in use.ancestors())
    if use.end <= call.node.end and not is_shared_loop:
        return True
    return _is_thread_zero_only(facts, use)


def _is_thread_zero_only(facts: Facts, node: Node) -> bool:
    child = node
    for above in node.ancestors():
        if above.kind == "if_statement" and child.role == "consequence":
            condition = above.child("condition")
            if condition is not None and any(_is_thread_zero(facts, one) for one in _conjuncts(strip(condition))):
                return True
        child = above
    return False


def _conjuncts(node: Node) -> list[Node]:
    node = strip(node)
    sign, left, right = node.child("operator"), node.child("left"), node.child("right")
    if node.kind == "binary_expression" and sign is not None and sign.kind == "&&" and left and right:
        return [*_conjuncts(left), *_conjuncts(right)]
    return [node]


def _is_thread_zero(facts: Facts, node: Node) -> bool:
    sign, left, right = node.child("operator"), node.child("left"), node.child("right")
    if node.kind != "binary_expression" or sign is None or sign.kind != "==" or left is None:
        return False
    constant = facts.constant(right)
    if constant is None or constant.value != 0:
        return False
    name = facts.text(strip(left))
    if name == "threadIdx.x":
        return True
    values = facts.assigned.get(name, [])
    return name not in facts.compound and len(values) == 1 and facts.text(strip(values[0])) == "threadIdx.x"
