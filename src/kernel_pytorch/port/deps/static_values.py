"""Values of the static interpreter: what is known, what is not, and the operations on both."""

from __future__ import annotations

import ast
from typing import Any

_TEXT_METHODS = frozenset(
    {"strip", "lstrip", "rstrip", "splitlines", "split", "startswith", "endswith", "replace", "lower", "upper",
     "format", "join", "removeprefix", "removesuffix", "partition"}
)  # fmt: skip


class Unknown:
    """A value that only running the file could tell."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


class OpenFile:
    """Stands for `open(path)` of a text file inside the repository."""

    def __init__(self, text: str) -> None:
        self.text = text

    def lines(self) -> list[str]:
        """The lines with their ends, as iterating over a file gives them."""
        return self.text.splitlines(keepends=True)


def has_unknown(value: Any) -> bool:
    """Whether a value is unknown or contains something unknown."""
    if isinstance(value, (list, tuple, set)):
        return any(has_unknown(item) for item in value)
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    return isinstance(value, (Unknown, OpenFile))


def added(left: Any, right: Any) -> Any:
    """`left + right` as far as it is known."""
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    if isinstance(left, list) or isinstance(right, list):
        # One half is known: keep it, and mark that something is missing.
        known = left if isinstance(left, list) else right
        return [*known, UNKNOWN]
    if isinstance(left, str) and isinstance(right, str):
        return left + right
    return UNKNOWN


def indexed(held: Any, key: Any) -> Any:
    """`held[key]` as far as it is known."""
    if isinstance(held, dict) and isinstance(key, (str, int)):
        return held.get(key, UNKNOWN)
    if isinstance(held, (list, str)) and isinstance(key, int) and -len(held) <= key < len(held):
        return held[key]
    return UNKNOWN


def compared(left: Any, operator: ast.cmpop, right: Any) -> Any:
    """The truth of one comparison, or UNKNOWN."""
    if has_unknown(left) or has_unknown(right):
        return UNKNOWN
    if isinstance(operator, (ast.Eq, ast.NotEq)):
        return (left == right) is isinstance(operator, ast.Eq)
    if isinstance(operator, (ast.In, ast.NotIn)) and isinstance(right, (str, list, dict)):
        return guarded(lambda: (left in right) is isinstance(operator, ast.In))
    if isinstance(operator, (ast.Is, ast.IsNot)):
        return (left is right) is isinstance(operator, ast.Is)
    return UNKNOWN


def guarded(compute: Any) -> Any:
    """The result of a computation, or UNKNOWN if the values do not fit it."""
    try:
        return compute()
    except (TypeError, ValueError, KeyError, IndexError):
        return UNKNOWN


def method(held: Any, name: str, args: list[Any]) -> tuple[Any] | None:
    """The result of a method call in a one-tuple, or None if this is no method we know."""
    if isinstance(held, OpenFile):
        if name == "read":
            return (held.text,)
        return (held.lines(),) if name == "readlines" else (UNKNOWN,)
    if isinstance(held, str) and name in _TEXT_METHODS:
        if has_unknown(args):
            return (UNKNOWN,)
        return (guarded(lambda: getattr(held, name)(*map(_tupled, args))),)
    if isinstance(held, list) and name in {"append", "extend", "copy"}:
        if name == "append":
            held.append(args[0] if args else UNKNOWN)
        elif name == "extend":
            inner = args[0] if args else UNKNOWN
            held.extend(inner if isinstance(inner, (list, tuple)) else [UNKNOWN])
        return (list(held) if name == "copy" else None,)
    if isinstance(held, dict) and name in {"values", "keys", "items", "update", "get"}:
        if name == "update":
            held.update(args[0] if args and isinstance(args[0], dict) else {})
            return (None,)
        if name == "get":
            return (indexed(held, args[0]) if args else UNKNOWN,)
        return (list(map(_listed, getattr(held, name)())),)
    return None


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
