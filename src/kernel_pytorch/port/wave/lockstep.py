"""Code that trusts lanes to run in lockstep, or one after the other (KP315, KP322)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernel_pytorch.port.cxx.nodes import Node
from kernel_pytorch.port.wave.facts import Call, Facts, strip
from kernel_pytorch.port.wave.hazard import Hazard
from kernel_pytorch.port.wave.model import WaveModel, is_device

_BARRIERS = frozenset({"__syncthreads", "__syncwarp", "sync", "__threadfence_block", "syncthreads"})
_LOOPS = frozenset({"while_statement", "do_statement", "for_statement"})


def lockstep_hazards(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    """Reductions in volatile memory without barriers, and locks that lanes of one warp fight for."""
    if is_device(facts.function):
        yield from _volatile_tails(facts)
        yield from _spin_locks(model, facts)


def _volatile_tails(facts: Facts) -> Iterator[Hazard]:
    volatile = {name for name, kind in facts.types.items() if "volatile" in kind}
    if not volatile:
        return
    barriers = sorted(call.node.start for call in facts.calls if call.name in _BARRIERS)
    steps = list(_steps(facts, volatile))
    group: list[tuple[Node, int | None]] = []
    for index, (node, distance) in enumerate(steps):
        if group and any(group[-1][0].start < at < node.start for at in barriers):
            group = []
        group.append((node, distance))
        following = steps[index + 1][0].start if index + 1 < len(steps) else None
        ends = following is None or any(node.start < at < following for at in barriers)
        looped = distance is None and not _loop_has_barrier(node, barriers)
        constants = [one for _, one in group if one is not None]
        if ends and (looped or (len(constants) >= 2 and constants[-1] < constants[0] <= 32)):
            first = group[0][0]
            message = (
                "a volatile tail reduction without barriers: the compiler may reorder a wave's shared memory traffic; "
                "let the __syncthreads tree run to 1"
            )
            yield Hazard("KP315", first.start, first.end, message)
        if ends:
            group = []


def _steps(facts: Facts, volatile: set[str]) -> Iterator[tuple[Node, int | None]]:
    """Statements `s[i] += s[i + 16]` on volatile memory, with the distance; None for a distance that a loop halves."""
    for node in facts.function.of_kind("assignment_expression"):
        left, right = node.child("left"), node.child("right")
        if left is None or right is None or left.kind != "subscript_expression":
            continue
        base, index = left.child("argument"), left.child("indices") or left.child("index")
        if base is None or index is None or facts.text(base) not in volatile:
            continue
        own = facts.text(index).strip("[] ")
        for other in right.walk():
            if other.kind != "subscript_expression" or facts.text(other.child("argument") or other) != facts.text(base):
                continue
            distance = _distance(facts, other.child("indices") or other.child("index"), own)
            if distance is not None:
                yield node, (distance if distance > 0 else None)
                break


def _distance(facts: Facts, index: Node | None, own: str) -> int | None:
    """0 stands for a distance that is not a constant."""
    inner = index.children if index is not None else []
    if len(inner) != 1 or inner[0].kind != "binary_expression":
        return None
    left, right, sign = inner[0].child("left"), inner[0].child("right"), inner[0].child("operator")
    if left is None or right is None or sign is None or sign.kind != "+":
        return None
    if facts.text(left) != own:
        left, right = right, left
    if facts.text(left) != own:
        return None
    value = facts.constant(right)
    return value.value if value is not None else 0


def _loop_has_barrier(node: Node, barriers: list[int]) -> bool:
    loop = next((one for one in node.ancestors() if one.kind in _LOOPS), None)
    return loop is None or any(loop.start < at < loop.end for at in barriers)


def _spin_locks(model: WaveModel, facts: Facts) -> Iterator[Hazard]:
    for call in facts.calls:
        if call.name not in ("atomicCAS", "atomicExch", "atomicCAS_block", "atomicCAS_system"):
            continue
        if not _takes_a_lock(facts, call) or _one_lane_only(model, facts, call.node):
            continue
        if _decides_a_loop(facts, call) and not _tries_elsewhere(facts, call):
            message = (
                f"{call.name} is a lock that lanes of one wave wait for: AMD lanes do not make progress on their own; "
                "let one lane act for the others"
            )
            yield Hazard("KP322", call.node.start, call.node.end, message)


def _takes_a_lock(facts: Facts, call: Call) -> bool:
    """Constants as old and new value: a float or struct update by compare-and-swap has variables there."""
    wanted = call.arguments[1:3] if call.name.startswith("atomicCAS") else call.arguments[1:2]
    if len(wanted) != (2 if call.name.startswith("atomicCAS") else 1):
        return False
    values = [facts.constant(one) for one in wanted]
    if any(value is None for value in values):
        return False
    return len(values) == 2 or (values[0] is not None and values[0].value != 0)


def _tries_elsewhere(facts: Facts, call: Call) -> bool:
    """Whether the loop moves on to another word: a search for a free slot waits for nobody."""
    loop = next((one for one in call.node.ancestors() if one.kind in _LOOPS), None)
    if loop is None or not call.arguments:
        return False
    words = set(re.findall(r"[A-Za-z_]\w*", facts.text(call.arguments[0])))
    for one in loop.walk():
        target = one.child("left") if one.kind == "assignment_expression" else None
        if one.kind == "update_expression":
            target = one.child("argument")
        if target is not None and target.kind == "identifier" and facts.text(target) in words:
            return True
    return False


def _decides_a_loop(facts: Facts, call: Call) -> bool:
    child = call.node
    branch: Node | None = None
    for above in call.node.ancestors():
        if above.kind in _LOOPS:
            if child.role == "condition":
                return True
            return _ends_loop(facts, branch, above) if branch is not None else _loop_waits(facts, above, call)
        if above.kind == "if_statement" and child.role == "condition":
            branch = above
        child = above
    return False


def _ends_loop(facts: Facts, branch: Node, loop: Node) -> bool:
    """`while (!done) if (atomicCAS(...) == 0) {...; done = true;}`: who does not get the lock goes round again."""
    condition = loop.child("condition")
    words = set(re.findall(r"[A-Za-z_]\w*", facts.text(condition))) if condition is not None else set()
    body = branch.child("consequence")
    for one in body.walk() if body is not None else ():
        if one.kind in ("break_statement", "return_statement") and loop.kind != "for_statement":
            return True
        if one.kind == "assignment_expression":
            left = one.child("left")
            if left is not None and facts.text(left) in words:
                return True
    return False


def _loop_waits(facts: Facts, loop: Node, call: Call) -> bool:
    """Whether the loop goes on because of what the call gave."""
    target = None
    for above in call.node.ancestors():
        if above.kind in ("init_declarator", "assignment_expression"):
            named = above.child("declarator") or above.child("left")
            target = facts.text(named) if named is not None else None
            break
        if above.kind.endswith("_statement"):
            break
    condition = loop.child("condition")
    if target is None or condition is None:
        return False
    return re.search(rf"\b{re.escape(target)}\b", facts.text(condition)) is not None


def _one_lane_only(model: WaveModel, facts: Facts, node: Node) -> bool:
    """Under `if (lane == 0)` or `if (threadIdx.x == 0)`, or after the others have left."""
    child = node
    for above in node.ancestors():
        if above.kind == "if_statement" and child.role == "consequence":
            condition = above.child("condition")
            if condition is not None and _tests_leader(model, facts, condition):
                return True
        if above.kind == "compound_statement":
            for statement in above.children:
                if statement.start >= child.start:
                    break
                if (
                    statement.kind == "if_statement"
                    and "return" in facts.text(statement)
                    and _leader_leaves(facts, model, statement)
                ):
                    return True
        child = above
    return False


def _tests_leader(model: WaveModel, facts: Facts, condition: Node) -> bool:
    for one in condition.walk():
        if one.kind == "binary_expression":
            sign, left, right = one.child("operator"), one.child("left"), one.child("right")
            if sign is None or left is None or right is None or sign.kind != "==":
                continue
            tags = model.values.of(facts, strip(left)) | model.values.of(facts, strip(right))
            if "thread" in tags or "lane" in tags:
                return True
        if one.kind == "unary_expression" and one.children and one.children[0].kind == "!":
            return "thread" in model.values.of(facts, strip(one.children[-1]))
    return False


def _leader_leaves(facts: Facts, model: WaveModel, statement: Node) -> bool:
    condition = statement.child("condition")
    if condition is None:
        return False
    for one in condition.walk():
        sign = one.child("operator") if one.kind == "binary_expression" else None
        if sign is not None and sign.kind in ("!=", ">") and "thread" in model.values.of(facts, one):
            return facts.constant(one.child("right")) is not None
    return False
