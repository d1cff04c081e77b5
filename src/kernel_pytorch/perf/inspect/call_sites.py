"""What a launch `kernel[grid](...)` passes, told from the function around it: a tensor, a number, a flag, a constant.

Nothing is run. A name is followed to what the function assigns to it; what is used like a tensor is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

# What only a tensor is asked for, and methods that give a tensor again or a number.
_TENSOR_ATTRIBUTES = {"shape", "stride", "dtype", "device", "contiguous", "numel", "data_ptr", "is_contiguous", "ndim"}
_TENSOR_METHODS = {
    "contiguous", "view", "reshape", "new_empty", "new_zeros", "clone", "detach", "to", "float", "half", "transpose",
    "permute", "unsqueeze", "squeeze", "flatten", "expand", "sum", "T", "mT", "t", "chunk", "cuda", "expand_as",
    "view_as",
}  # fmt: skip
_NUMBER_METHODS = {"stride", "size", "numel", "dim", "element_size", "item", "nelement", "bit_length"}
_ELEMENTS = {
    "float32": "fp32", "float": "fp32", "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float64": "fp64",
    "int64": "i64", "long": "i64", "int32": "i32", "int": "i32", "int16": "i16", "int8": "i8", "uint8": "u8",
    "bool": "i1", "uint32": "u32", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
}  # fmt: skip
_DEEPEST = 12


@dataclass(frozen=True)
class Argument:
    """`kind` is "tensor", "int", "float", "bool", "none", "constant" or "" where it cannot be told.

    `value` is there where `known`; `element` is Triton's name of a tensor's element type where the source says it."""

    kind: str
    value: object = None
    known: bool = False
    element: str = ""


UNTOLD = Argument("")


@dataclass
class Surroundings:
    """What the function around a launch says about its names."""

    assigned: dict[str, list[ast.expr]] = field(default_factory=dict)
    unpacked: dict[str, list[ast.expr]] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    tensors: set[str] = field(default_factory=set)


def surroundings(function: ast.AST) -> Surroundings:
    """Reads a function once (or a whole module, for launches at its top level)."""
    found = Surroundings()
    for node in ast.walk(function):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            _parameters(node.args, found)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                _assign(target, node.value, found)
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            _assign(node.target, node.value, found)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _TENSOR_ATTRIBUTES:
            found.tensors.add(node.value.id)
    return found


def _parameters(arguments: ast.arguments, found: Surroundings) -> None:
    names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for one in names:
        if one.annotation is not None:
            found.annotations[one.arg] = ast.unparse(one.annotation)
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [*zip(reversed(positional), reversed(arguments.defaults), strict=False)]
    pairs += [(one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    for one, value in pairs:
        found.assigned.setdefault(one.arg, []).append(value)


def _assign(target: ast.expr, value: ast.expr, found: Surroundings) -> None:
    if isinstance(target, ast.Name):
        found.assigned.setdefault(target.id, []).append(value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        same = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
        for number, part in enumerate(target.elts):
            if same and isinstance(value, ast.Tuple):
                _assign(part, value.elts[number], found)
            elif isinstance(part, ast.Name):
                found.unpacked.setdefault(part.id, []).append(value)


def told(node: ast.expr, around: Surroundings, depth: int = 0) -> Argument:
    """What an argument is."""
    if depth > _DEEPEST:
        return UNTOLD
    if isinstance(node, ast.Constant):
        return _of_value(node.value)
    if isinstance(node, ast.Name):
        return _name(node.id, around, depth)
    if isinstance(node, ast.Attribute):
        return _attribute(node, around, depth)
    if isinstance(node, ast.Subscript):
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "shape":
            return Argument("int")
        if isinstance(base, ast.Call) and _called(base) in ("stride", "size"):
            return Argument("int")
        inside = told(base, around, depth + 1)
        return inside if inside.kind == "tensor" else UNTOLD
    if isinstance(node, ast.Call):
        return _call(node, around, depth)
    if isinstance(node, (ast.Compare, ast.BoolOp)) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)):
        return Argument("bool")
    if isinstance(node, ast.UnaryOp):
        inside = told(node.operand, around, depth + 1)
        if inside.known and isinstance(inside.value, (int, float)) and isinstance(node.op, ast.USub):
            return Argument(inside.kind, -inside.value, True)
        return Argument(inside.kind, None, False)
    if isinstance(node, ast.IfExp):
        return best([told(node.body, around, depth + 1), told(node.orelse, around, depth + 1)])
    if isinstance(node, ast.BinOp):
        return _arithmetic(node, around, depth)
    return UNTOLD


def best(arguments: list[Argument]) -> Argument:
    """Of several launches or branches, the one that says most: a tensor that may be None is a tensor."""
    order = ("tensor", "float", "int", "bool", "constant", "none", "")
    return min(arguments, key=lambda one: (order.index(one.kind), not one.known, not one.element), default=UNTOLD)


def _of_value(value: object) -> Argument:
    if value is None:
        return Argument("none", None, True)
    if isinstance(value, bool):
        return Argument("bool", value, True)
    kind = {int: "int", float: "float"}.get(type(value), "constant")
    return Argument(kind, value, True)


def _name(name: str, around: Surroundings, depth: int) -> Argument:
    annotation = around.annotations.get(name, "")
    values = [told(value, around, depth + 1) for value in around.assigned.get(name, []) if not _is_name(value, name)]
    if name in around.tensors or "Tensor" in annotation:
        element = next((one.element for one in values if one.element), "")
        return Argument("tensor", element=element)
    for value in around.unpacked.get(name, []):
        if isinstance(value, ast.Attribute) and value.attr == "shape":
            values.append(Argument("int"))
        elif isinstance(value, ast.Attribute) and value.attr == "saved_tensors":
            values.append(Argument("tensor"))
        elif isinstance(value, ast.Call) and _called(value) in ("stride", "size"):
            values.append(Argument("int"))
    if annotation in ("int", "float", "bool"):
        values.append(Argument(annotation))
    distinct = {(one.kind, str(one.value)) for one in values if one.known}
    chosen = best(values)
    # Two constants in two branches: the kind is sure, the value is the first one's.
    return chosen if len(distinct) <= 1 or chosen.kind == "tensor" else best([one for one in values if one.known][:1])


def _attribute(node: ast.Attribute, around: Surroundings, depth: int) -> Argument:
    if isinstance(node.value, ast.Name) and node.value.id == "torch" and node.attr in _ELEMENTS:
        return Argument("constant", f"torch.{node.attr}", True)
    if node.attr in _TENSOR_METHODS and told(node.value, around, depth + 1).kind == "tensor":
        return Argument("tensor")
    if node.attr == "ndim":
        return Argument("int")
    return UNTOLD


def _called(node: ast.Call) -> str:
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _call(node: ast.Call, around: Surroundings, depth: int) -> Argument:
    called = _called(node)
    owner = node.func.value.id if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) else ""
    if owner == "torch":
        return UNTOLD if called in ("finfo", "iinfo", "device") else Argument("tensor", element=_element(node))
    if owner == "math" and called in ("ceil", "floor", "prod", "gcd"):
        return Argument("int")
    if owner == "math" or called == "float":
        return Argument("float")
    plain = isinstance(node.func, ast.Name) or owner == "triton"
    if plain and called in ("next_power_of_2", "cdiv", "int", "len", "min", "max", "round"):
        value = _whole_number(node, around, depth)
        return Argument("int", value, value is not None)
    if called == "bool":
        return Argument("bool")
    if called in _NUMBER_METHODS and isinstance(node.func, ast.Attribute):
        return Argument("int")
    if called in _TENSOR_METHODS or called in ("empty_like", "zeros_like", "ones_like"):
        return Argument("tensor", element=_element(node))
    return UNTOLD


def _element(node: ast.Call) -> str:
    given = [keyword.value for keyword in node.keywords if keyword.arg == "dtype"]
    if _called(node) == "to":
        given += node.args
    for value in given:
        if isinstance(value, ast.Attribute) and value.attr in _ELEMENTS:
            return _ELEMENTS[value.attr]
    return {"float": "fp32", "half": "fp16"}.get(_called(node), "")


def _whole_number(node: ast.Call, around: Surroundings, depth: int) -> int | None:
    """A power of two, a minimum or a maximum, where the numbers are written down."""
    inside = [told(part, around, depth + 1) for part in node.args]
    numbers = [one.value for one in inside if one.known and isinstance(one.value, int)]
    called = _called(node)
    if called == "min" and numbers:
        return min(numbers)  # an upper bound, such as the largest block
    if len(numbers) < len(inside) or not numbers:
        return None
    if called == "next_power_of_2" and numbers[0] > 0:
        return int(1 << (numbers[0] - 1).bit_length())
    if called == "cdiv" and len(numbers) == 2 and numbers[1] > 0:
        return int(-(-numbers[0] // numbers[1]))
    return max(numbers) if called in ("max", "int", "round") else None


def _arithmetic(node: ast.BinOp, around: Surroundings, depth: int) -> Argument:
    left, right = told(node.left, around, depth + 1), told(node.right, around, depth + 1)
    kinds = {left.kind, right.kind}
    if "tensor" in kinds:
        return Argument("tensor")
    if "float" in kinds or isinstance(node.op, ast.Div):
        return Argument("float")
    return Argument("int") if "int" in kinds else UNTOLD


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def launches(tree: ast.Module) -> Iterator[tuple[str, ast.Call, Surroundings]]:
    """Every `kernel[grid](...)` of a module: the kernel's name, the call, what is around it.

    A kernel chosen first (`k = a if wide else b; k[grid](...)`) counts for each it may be."""
    for function in _outermost(tree):
        around: Surroundings | None = None
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
                around = around or surroundings(function)
                for name in _names(node.func.value, around, 0):
                    yield name, node, around


def _outermost(tree: ast.Module) -> Iterator[ast.AST]:
    """Functions and methods that are in no other function, then what is outside of all."""
    waiting: list[ast.AST] = [tree]
    loose: list[ast.stmt] = []
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node
            elif isinstance(node, (ast.ClassDef, ast.If, ast.Try, ast.With)):
                waiting.append(node)
            elif isinstance(node, ast.stmt):
                loose.append(node)
    yield ast.Module(loose, [])


def _names(node: ast.expr, around: Surroundings, depth: int) -> list[str]:
    if isinstance(node, ast.Attribute):
        return [node.attr]
    if isinstance(node, ast.IfExp):
        return _names(node.body, around, depth) + _names(node.orelse, around, depth)
    if isinstance(node, ast.Name):
        chosen = around.assigned.get(node.id, []) if depth < _DEEPEST else []
        inner = [name for value in chosen for name in _names(value, around, depth + 1)]
        return [node.id, *inner]
    if isinstance(node, ast.Call):  # `kernel = make_kernel(width); kernel[grid](...)`
        return [_called(node)] if _called(node) else []
    return []
