"""Which names are kernels, and which braces hold a function's body."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernel_pytorch.emulate.source.tokens import Token

_NO_FUNCTIONS = frozenset(
    {"__launch_bounds__", "__attribute__", "alignas", "decltype", "__maxnreg__", "__cluster_dims__"}
)
_OPEN = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Unsupported:
    """A construct the source-level mode has not got, and where it stands."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Structure:
    """`kernels` maps a name to "plain", "template" or "overloaded"; `declared` are tokens that declare one.

    `bodies` are the spans of token indices inside function bodies, `device_bodies` those that only the device runs.
    """

    kernels: dict[str, str]
    declared: frozenset[int]
    bodies: tuple[tuple[int, int], ...]
    device_bodies: tuple[tuple[int, int], ...]

    def in_function(self, index: int) -> bool:
        return any(start < index < end for start, end in self.bodies)

    def in_kernel(self, index: int) -> bool:
        return any(start < index < end for start, end in self.device_bodies)


def structure(code: Sequence[Token]) -> Structure:
    """Find kernels and function bodies."""
    kernels: dict[str, str] = {}
    defined: dict[str, int] = {}
    declared: set[int] = set()
    for index, token in enumerate(code):
        if token.text != "__global__":
            continue
        name_at = _declared_name(code, index)
        if name_at is None:
            continue
        declared.add(name_at)
        name = code[name_at].text
        if _is_template(code, index):
            kernels[name] = "template"
        else:
            kernels.setdefault(name, "plain")
        after = closing(code, name_at + 1) + 1
        if after < len(code) and code[after].text == "{":
            defined[name] = defined.get(name, 0) + 1
            if defined[name] > 1 and kernels[name] == "plain":
                kernels[name] = "overloaded"
    bodies = tuple(_bodies(code))
    on_device = tuple(body for body in bodies if _is_of_device(_words_before(code, body[0])))
    return Structure(kernels, frozenset(declared), bodies, on_device)


def closing(code: Sequence[Token], at: int) -> int:
    """The bracket that closes the one at `at`; the last token where none does."""
    depth = 0
    for index in range(at, len(code)):
        text = code[index].text
        if text in _OPEN:
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return index
    return len(code) - 1


def edited(text: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """The text with (start, end, replacement) applied; insertions at one offset keep their order."""
    parts: list[str] = []
    position = 0
    for start, end, replacement in sorted(edits, key=lambda edit: (edit[0], edit[1])):
        if start < position:
            continue
        parts += [text[position:start], replacement]
        position = end
    return "".join([*parts, text[position:]])


def _declared_name(code: Sequence[Token], at: int) -> int | None:
    index = at + 1
    while index < len(code) and code[index].text not in (";", "{", "}"):
        token = code[index]
        following = code[index + 1].text if index + 1 < len(code) else ""
        if token.kind == "name" and following == "(":
            if token.text in _NO_FUNCTIONS:
                index = closing(code, index + 1) + 1
                continue
            return index
        if token.kind == "name" and following == "<":
            # An explicit specialisation or instantiation: name<float>(...)
            end = _angle_end(code, index + 1)
            if end is not None and code[end + 1].text == "(":
                return None
        index += 1
    return None


def _angle_end(code: Sequence[Token], at: int) -> int | None:
    depth = 0
    for index in range(at, min(len(code), at + 400)):
        depth += (code[index].text == "<") - (code[index].text == ">")
        if depth == 0:
            return index
        if code[index].text in (";", "{"):
            return None
    return None


def _is_template(code: Sequence[Token], at: int) -> bool:
    """Whether `template <...>` with parameters stands before the declaration."""
    index = at - 1
    while index >= 0 and code[index].text not in (";", "{", "}"):
        if code[index].text == "template":
            return code[index + 1].text == "<" and code[index + 2].text != ">"
        index -= 1
    return False


def _bodies(code: Sequence[Token]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    index = 0
    while index < len(code):
        if code[index].text == "{" and not _opens_scope(code, index):
            end = closing(code, index)
            found.append((index, end))
            index = end
        index += 1
    return found


def _opens_scope(code: Sequence[Token], at: int) -> bool:
    """Whether a brace opens a namespace, class or extern "C" rather than a function or an initialiser."""
    words = _words_before(code, at)
    if "namespace" in words or ("extern" in words and ")" not in words):
        return True
    return ")" not in words and "=" not in words and bool({"class", "struct", "union"} & set(words))


def _words_before(code: Sequence[Token], at: int) -> list[str]:
    index = at - 1
    words: list[str] = []
    while index >= 0 and code[index].text not in (";", "{", "}"):
        words.append(code[index].text)
        index -= 1
    return words


def _is_of_device(words: Sequence[str]) -> bool:
    return "__global__" in words or ("__device__" in words and "__host__" not in words)
