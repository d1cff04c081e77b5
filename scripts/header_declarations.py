"""Reads the names a C or C++ header declares: functions with parameter types, types, enumerators, macros.

Not a C++ parser: it walks tokens, steps over bodies and preprocessor lines, and reads every branch of an #if. That is
what is wanted here, since vendor headers keep old names in branches.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from kernel_pytorch.port.cxx.lexer import Token, tokenize

NOT_FUNCTIONS = {
    "__attribute__",
    "__declspec",
    "noexcept",
    "throw",
    "alignas",
    "decltype",
    "requires",
    "__align__",
    "deprecated",
    "asm",
    "__asm__",
    "sizeof",
    "static_assert",
    "explicit",
    "operator",
    "__launch_bounds__",
    "defined",
    "if",
    "return",
    "__builtin_align__",
    "__device_builtin__",
    "__NV_SILENCE_DEPRECATION_BEGIN",
    "__CUDA_FP16_DECL__",
}
TYPE_WORDS = {
    "unsigned",
    "signed",
    "int",
    "long",
    "short",
    "char",
    "float",
    "double",
    "void",
    "const",
    "struct",
    "enum",
    "union",
    "size_t",
    "bool",
    "volatile",
    "__restrict__",
    "restrict",
    "class",
    "typename",
    "inline",
}
IGNORED_IN_TYPES = {
    "const",
    "struct",
    "enum",
    "union",
    "volatile",
    "__restrict__",
    "restrict",
    "__restrict",
    "class",
    "in",
}


@dataclass(frozen=True)
class Declaration:
    """One name. `parameters` are types of a function, normalised; `value` is an enumerator's or macro's text."""

    name: str
    kind: str  # function | type | enum | macro
    header: str
    parameters: tuple[str, ...] | None = None
    value: str = ""
    group: str = ""  # the enumeration an enumerator belongs to
    deprecated: bool = False
    required: int = 0  # parameters without a default


@dataclass
class Declarations:
    """What a set of headers declares, by name; functions keep every overload."""

    by_name: dict[str, list[Declaration]] = field(default_factory=dict)

    def add(self, declaration: Declaration) -> None:
        self.by_name.setdefault(declaration.name, []).append(declaration)

    def kinds(self, name: str) -> set[str]:
        return {declaration.kind for declaration in self.by_name.get(name, ())}


def read_headers(folder: Path, names: list[str]) -> Declarations:
    """The declarations of the headers of `folder` that match the glob patterns `names`."""
    result = Declarations()
    for pattern in names:
        for path in sorted(folder.glob(pattern)):
            if path.is_file():
                for declaration in read_header(path.read_bytes(), path.relative_to(folder).as_posix()):
                    result.add(declaration)
    return result


def include_guard(data: bytes) -> str:
    """The macro that a header defines against its second inclusion; empty where it has none."""
    found = re.search(rb"#\s*(?:ifndef|if\s+!\s*defined)\s*\(?\s*(\w+)\s*\)?[^#]*#\s*define\s+\1\b", data)
    return found[1].decode() if found else ""


def read_header(data: bytes, header: str) -> Iterator[Declaration]:
    """The declarations of one header."""
    words: list[str] = []
    for item in _without_directives(data, header):
        if isinstance(item, Declaration):
            yield item
        else:
            words.append(item)
    yield from _statements(words, header)


def _without_directives(data: bytes, header: str) -> Iterator[str | Declaration]:
    tokens = [token for token in tokenize(data) if token.kind != "comment"]
    branches = _Branches()
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind != "directive":
            text = data[token.start : token.end].decode("latin-1")
            if branches.takes(text):
                # A macro that ends a declaration in NVIDIA's device headers: a body for the host pass, else nothing.
                yield '""' if token.kind == "string" else (";" if text == "__DEF_IF_HOST" else text)
            index += 1
            continue
        line: list[Token] = []
        index += 1
        while index < len(tokens) and not _newline_between(data, tokens[index - 1].end, tokens[index].start):
            line.append(tokens[index])
            index += 1
        word = data[token.start : token.end].replace(b" ", b"").decode("latin-1")
        branches.directive(word)
        if word == "#define" and line:
            name = data[line[0].start : line[0].end].decode("latin-1")
            value = data[line[0].end : line[-1].end].decode("latin-1").strip()
            yield Declaration(name, "macro", header, value=" ".join(value.replace("\\\n", " ").split()))


class _Branches:
    """Every branch of an #if is read, but where a branch opens braces it does not close only the first one is."""

    def __init__(self) -> None:
        self._balance = 0
        self._stack: list[tuple[int, bool]] = []
        self._skipping = False

    def takes(self, text: str) -> bool:
        if self._skipping:
            return False
        self._balance += (text == "{") - (text == "}")
        return True

    def directive(self, word: str) -> None:
        if word.startswith("#if"):
            self._stack.append((self._balance, self._skipping))
        elif word in ("#else", "#elif", "#elifdef") and self._stack:
            opened, outer = self._stack[-1]
            self._skipping = outer or self._skipping or self._balance != opened
        elif word == "#endif" and self._stack:
            _, self._skipping = self._stack.pop()


def _newline_between(data: bytes, start: int, end: int) -> bool:
    gap = data[start:end]
    return b"\n" in gap.replace(b"\\\r\n", b"").replace(b"\\\n", b"")


def _statements(words: list[str], header: str) -> Iterator[Declaration]:
    statement: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        if word == ";":
            yield from _finished(statement, header)
            statement = []
        elif word == "{":
            if _is_transparent(statement):
                statement = []
                index += 1
                continue
            end = _matching(words, index)
            if "enum" in statement and "(" not in statement:
                group = _enum_name(statement, words, end)
                yield from _enumerators(words[index + 1 : end], header, group)
                statement = _after_body(statement)
            elif _is_aggregate(statement):
                statement = _after_body(statement)
            else:
                yield from _finished(statement, header)
                statement = []
            index = end
        elif word == "}":
            statement = []
        else:
            statement.append(word)
        index += 1


def _is_transparent(statement: list[str]) -> bool:
    return "namespace" in statement[-4:] or statement[-2:] == ["extern", '""']


def _is_aggregate(statement: list[str]) -> bool:
    plain = _without_attributes(statement)
    heads = [index for index, word in enumerate(plain) if word in ("struct", "union", "class")]
    if not heads or (heads[-1] and plain[heads[-1] - 1] in ("<", ",")):
        return False
    return not {"(", "="} & set(plain[heads[-1] :])


def _after_body(statement: list[str]) -> list[str]:
    # Macros without a semicolon may stand before it: only the aggregate itself counts.
    heads = [index for index, word in enumerate(statement) if word in ("typedef", "struct", "union", "class", "enum")]
    start = heads[0] if "typedef" in statement else heads[-1] - (statement[heads[-1] - 1] == "enum" and heads[-1] > 0)
    return [*statement[start:], "{}"]


def _enum_name(statement: list[str], words: list[str], end: int) -> str:
    plain = [
        word
        for word in _without_attributes(statement)
        if word not in ("typedef", "enum", "class", "struct", "__device_builtin__")
    ]
    after = words[end + 1] if end + 1 < len(words) else ""
    return after if after not in (";", "") else (plain[0] if plain else "")


def _matching(words: list[str], index: int) -> int:
    depth = 0
    for position in range(index, len(words)):
        if words[position] == "{":
            depth += 1
        elif words[position] == "}":
            depth -= 1
            if depth == 0:
                return position
    return len(words) - 1


def _enumerators(words: list[str], header: str, group: str) -> Iterator[Declaration]:
    previous: int | None = -1
    for item in _split(words):
        if not item:
            continue
        plain = _without_attributes(item)
        name, value = plain[0], "".join(plain[plain.index("=") + 1 :]) if "=" in plain else ""
        previous = _integer(value) if value else (None if previous is None else previous + 1)
        shown = value if previous is None else str(previous)
        yield Declaration(name, "enum", header, value=shown, group=group, deprecated=_is_deprecated(item))


def _integer(text: str) -> int | None:
    try:
        return int(text.strip("()").rstrip("uUlL"), 0)
    except ValueError:
        return None


def _is_deprecated(words: list[str]) -> bool:
    return any("deprecated" in word.lower() for word in words)


def _without_attributes(words: list[str]) -> list[str]:
    """Drops __attribute__((...)), __declspec(...), [[...]] and macro calls before a declaration."""
    result: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        if word == "[" and words[index + 1 : index + 2] == ["["]:
            while index < len(words) and words[index : index + 2] != ["]", "]"]:
                index += 1
            index += 2
            continue
        if (word in NOT_FUNCTIONS or "DEPRECATED" in word.upper()) and words[index + 1 : index + 2] == ["("]:
            index = _closing(words, index + 1) + 1
            continue
        result.append(word)
        index += 1
    return result


def _closing(words: list[str], index: int) -> int:
    depth = 0
    for position in range(index, len(words)):
        if words[position] == "(":
            depth += 1
        elif words[position] == ")":
            depth -= 1
            if depth == 0:
                return position
    return len(words) - 1


def _split(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    depth = 0
    for word in words:
        depth += (
            word.count("(") + word.count("[") + word.count("{") - word.count(")") - word.count("]") - word.count("}")
        )
        depth += (word == "<") - (word == ">")
        if word == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _finished(statement: list[str], header: str) -> Iterator[Declaration]:
    deprecated = _is_deprecated(statement)
    words = [word for word in _without_attributes(statement) if "_DEPRECATED" not in word]
    if not words or words[0] in ("using", "friend", "return"):
        if words[:1] == ["using"] and "=" in words:
            yield Declaration(words[1], "type", header)
        return
    if words[0] == "typedef":
        yield from (replace(found, deprecated=deprecated) for found in _typedef(words, header))
        return
    tag = _tag(words)
    if tag is not None:
        yield Declaration(tag, "type", header, deprecated=deprecated)
    if "(" in words:
        function = _function(words, header, deprecated)
        if function is not None:
            yield function


def _tag(words: list[str]) -> str | None:
    for index, word in enumerate(words):
        if word in ("struct", "union", "class", "enum"):
            rest = [item for item in words[index + 1 :] if item not in ("class", "struct")]
            stop = next((at for at, item in enumerate(rest) if item in (":", "{}", "<")), len(rest))
            names = [item for item in rest[:stop] if item[:1].isalpha() or item[:1] == "_"]
            if names and "(" not in words:
                return names[-1] if stop < len(rest) else names[0]
            return None
        if word == "(":
            return None
    return None


def _typedef(words: list[str], header: str) -> Iterator[Declaration]:
    if "{}" in words:
        tag = _tag(words)
        if tag:
            yield Declaration(tag, "type", header)
        words = words[words.index("{}") :]
    elif words[1] in ("struct", "union", "enum") and words[3:4] == ["*"]:
        # `typedef struct CUstream_st *CUstream;` is all that is ever said about CUstream_st.
        yield Declaration(words[2], "type", header)
    if "(" in words:
        first = words.index("(")
        for word in words[first + 1 : _closing(words, first)]:
            if (word[:1].isalpha() or word[:1] == "_") and word not in ("CUDART_CB", "CUDA_CB", "CUDAAPI"):
                yield Declaration(word, "type", header)
                return
    for part in _split(words):
        names = [word for word in part if (word[:1].isalpha() or word[:1] == "_") and word not in TYPE_WORDS]
        if names:
            name = names[-1]
            target = " ".join(word for word in part[:-1] if word not in ("typedef", "struct", "enum"))
            yield Declaration(name, "type", header, value=target)


def _function(words: list[str], header: str, deprecated: bool) -> Declaration | None:
    best: tuple[int, int] | None = None
    index = 0
    while index < len(words):
        if words[index] == "(":
            end = _closing(words, index)
            before = words[index - 1] if index else ""
            if (before[:1].isalpha() or before[:1] == "_") and before not in NOT_FUNCTIONS:
                best = (index, end)
                break
            index = end
        elif words[index] == "=" and "operator" not in words:
            return None
        index += 1
    if best is None or "operator" in words[: best[0]]:
        return None
    name = words[best[0] - 1]
    parts = [part for part in _split(words[best[0] + 1 : best[1]]) if part and part != ["void"]]
    defaults = sum(1 for part in parts if {"=", "__dv", "__dparm"} & set(part))
    types = tuple(parameter_type(part) for part in parts)
    return Declaration(name, "function", header, types, deprecated=deprecated, required=len(types) - defaults)


def parameter_type(words: list[str]) -> str:
    """A parameter's type without its name, qualifiers or default: `const float *x` is `float*`."""
    for stop in ("=", "__dv", "__dparm"):
        if stop in words:
            words = words[: words.index(stop)]
    stars = words.count("*") + words.count("**") * 2 + words.count("&") + (1 if "[" in words else 0)
    if "(" in words:
        return "callback"
    if "<" in words:
        words = words[: words.index("<")]
    if "[" in words:
        words = words[: words.index("[")]
    names = [w for w in words if w not in IGNORED_IN_TYPES and (w[:1].isalpha() or w[:1] == "_" or w == "...")]
    if len(names) > 1 and names[-1] not in TYPE_WORDS:
        names = names[:-1]
    return " ".join(names) + "*" * stars
