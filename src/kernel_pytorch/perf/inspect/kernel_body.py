"""What the body of a @triton.jit function says about its parameters: which are addresses, indices, unit strides."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# Sizes are summands too, where a bound is computed next to an address.
_NUMBER = re.compile(r"(^|_)(size|seqlen|len|length|dim|stride|limit|rows|cols|num|n)(_|$)", re.IGNORECASE)
_MEMORY = {"load", "store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg", "make_block_ptr"}


def pointer_parameters(function: ast.FunctionDef) -> set[str]:
    """Parameters that are summands of an address. Strides are factors, bounds are compared: neither is a summand."""
    names = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    address: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MEMORY:
            first = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "base"), None)
            if first is not None:
                address |= _summands(first)
        elif isinstance(node, ast.Call):  # handed to another jit function by a name that says what it is
            address |= {one.id for one in node.args if isinstance(one, ast.Name) and "ptr" in one.id.lower()}
    assigned: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            assigned.setdefault(node.targets[0].id, set()).update(_summands(node.value))
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            assigned.setdefault(node.target.id, set())
    grown = True
    while grown:
        more = {name for known in address for name in assigned.get(known, set())} - address
        address |= more
        grown = bool(more)
    # An additive offset (an index computed before) may be a name too; only parameters count.
    found = address & names
    sure = {name for name in names if name.lower().endswith("ptr")} | _alone_in_an_address(function, names, assigned)
    return {name for name in found if not _is_index(name)} | sure


def descriptor_parameters(function: ast.FunctionDef) -> set[str]:
    """Parameters with methods of their own to load and store: tensor descriptors, which the launch makes."""
    names = {argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)}
    used = {
        node.func.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("load", "store", "gather", "scatter")
        and isinstance(node.func.value, ast.Name)
    }
    return used & names


def _alone_in_an_address(function: ast.FunctionDef, names: set[str], assigned: dict[str, set[str]]) -> set[str]:
    """Parameters that are the only one in some address, through local names too: pointers, whatever they are called."""
    found: set[str] = set()
    for node in ast.walk(function):
        if not (isinstance(node, ast.Call) and _is_memory(node) and node.args):
            continue
        parts, more = set(), _summands(node.args[0])
        while more:
            parts |= more
            more = {part for name in more for part in assigned.get(name, set())} - parts
        if len(parts & names) == 1:
            found |= parts & names
    return found


def _is_index(name: str) -> bool:
    return bool(_NUMBER.search(name)) or (name.isupper() and "PTR" not in name and len(name) > 3)


def _summands(node: ast.expr) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return _summands(node.left) | _summands(node.right)
    if isinstance(node, ast.IfExp):
        return _summands(node.body) | _summands(node.orelse)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        return _summands(node.func.value)
    return set()


def index_pointers(function: ast.FunctionDef) -> set[str]:
    """Pointers to whole numbers: what is loaded from them goes into another address, or into one by way of a name."""
    in_addresses: set[str] = set()
    loaded_from: dict[str, set[str]] = {}
    made_of: dict[str, set[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _is_memory(node) and node.args:
            in_addresses |= set(_names_outside_loads(node.args[0]))
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (one.id for one in targets if isinstance(one, ast.Name)):
                made_of.setdefault(name, set()).update(_names_outside_loads(node.value))
                for load in (one for one in ast.walk(node.value) if isinstance(one, ast.Call) and _is_load(one)):
                    loaded_from.setdefault(name, set()).update(_summands(load.args[0]) if load.args else set())
    grown = True
    while grown:
        more = {part for name in in_addresses for part in made_of.get(name, set())} - in_addresses
        in_addresses |= more
        grown = bool(more)
    sources = {pointer for name in in_addresses for pointer in loaded_from.get(name, set())}
    return sources & pointer_parameters(function)


def unit_strides(function: ast.FunctionDef) -> set[str]:
    """Last strides of tensor descriptors: they must be one, which Triton knows when a launch passes one."""
    found = set()
    for node in ast.walk(function):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr == "make_tensor_descriptor":
            given = [one.value for one in node.keywords if one.arg == "strides"] + list(node.args[2:3])
            lists = [value.elts for value in given if isinstance(value, (ast.List, ast.Tuple))]
            found |= {parts[-1].id for parts in lists if parts and isinstance(parts[-1], ast.Name)}
    return found


def _is_memory(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr in _MEMORY


def _is_load(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and node.func.attr == "load"


def _names_outside_loads(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and _is_load(node):
        return
    if isinstance(node, ast.Name):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _names_outside_loads(child)
