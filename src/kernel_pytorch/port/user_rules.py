"""Rules of the user's own, for house libraries: a YAML file with three kinds of rule, codes U100 to U999.

    rules:
      - code: U101
        kind: rename            # a dotted name is another one on ROCm
        from: house.ops.gelu
        to: house_rocm.ops.gelu
      - code: U102
        kind: guard             # an import, or a call whose value nobody uses, only off ROCm
        import: house.nvtools
      - code: U103
        kind: replace-call      # a call goes to another function on ROCm, its keywords renamed (null: left out)
        from: house.attention
        to: house_rocm.attention
        keywords: {causal: is_causal, dropout: null}

Optional for all: `why` (the message's consequence) and `safety: review` (edits are made only with --unsafe).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Safety
from kernel_pytorch.core.pages import Page
from kernel_pytorch.core.read_file import read_text

if TYPE_CHECKING:
    from yaml.nodes import Node

KINDS = {
    "rename": ("from", "to"),
    "guard": ("import", "call"),
    "replace-call": ("from", "to", "keywords"),
}
FOR_ALL = ("code", "kind", "why", "safety")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_CODE = re.compile(r"U[1-9]\d\d")


@dataclass(frozen=True)
class UserRule:
    """One rule. `source` is the name it looks for, `to` what that is on ROCm; a guard has no `to`."""

    code: str
    kind: str  # rename, guard-import, guard-call, replace-call
    source: str
    to: str = ""
    keywords: tuple[tuple[str, str | None], ...] = ()
    why: str = ""
    safety: Safety = Safety.SAFE

    @property
    def title(self) -> str:
        """One line that says what the rule does."""
        if self.kind == "guard-import":
            return f"{self.source} is not imported on ROCm"
        if self.kind == "guard-call":
            return f"{self.source} is not called on ROCm"
        return f"{self.source} is {self.to} on ROCm"

    def page(self, source: str = "") -> Page:
        """What `kpt explain` prints: the rule in the words of its file, which `source` names."""
        shown = {
            "rename": "the name",
            "guard-import": "the import",
            "guard-call": "the call",
            "replace-call": "the call",
        }
        renamed = ", ".join(f"{old} is {new}" if new else f"{old} is left out" for old, new in self.keywords)
        fix = self.title + (f"; keywords: {renamed}" if renamed else "") + ". Elsewhere it stays as it is."
        if self.safety is Safety.REVIEW:
            fix += " For review: the edit is made with --unsafe only."
        sections = {
            "What": f"{shown[self.kind]} {self.source}, by whatever name a file imports it.",
            "Why": self.why or "the rule gives no reason (`why:`).",
            "Fix": fix,
            "Source": f"a rule of your own{', ' + source if source else ''}",
        }
        return Page(self.code, self.kind, self.title, sections)

    @property
    def message(self) -> str:
        """What a finding of the rule says."""
        return f"{self.title}: {self.why}" if self.why else self.title


def load_user_rules(paths: Iterable[Path]) -> tuple[UserRule, ...]:
    """The rules of all files. Raises UsageError with file, line and fact for anything that is not a rule."""
    rules: list[UserRule] = []
    places: dict[str, str] = {}
    for path in paths:
        for line, rule in _read(path):
            if rule.code in places:
                raise UsageError(f"{path}:{line}: {rule.code} is taken by the rule at {places[rule.code]}")
            places[rule.code] = f"{path}:{line}"
            rules.append(rule)
    return tuple(rules)


def _read(path: Path) -> Iterator[tuple[int, UserRule]]:
    import yaml

    from kernel_pytorch.core.yaml_text import compose_yaml

    try:
        text = read_text(path)
        document = compose_yaml(text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise UsageError(f"{path}:{line}: not valid YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path}: not valid YAML: {error}") from error
    if document is None:
        raise UsageError(f"{path}:1: empty; a rules file is a list under `rules:`")
    table = _mapping(path, document, "a rules file is a list under `rules:`", ("rules",))
    listed = table.get("rules")
    if not isinstance(listed, yaml.SequenceNode):
        raise _refusal(path, listed or document, "`rules:` is a list, each rule behind a dash")
    for node in listed.value:
        yield _line(node), _rule(path, node)


def _rule(path: Path, node: Node) -> UserRule:
    every = tuple(dict.fromkeys((*FOR_ALL, *(key for keys in KINDS.values() for key in keys))))
    table = _mapping(path, node, "a rule is a table: code, kind and what it is about", every)
    code = _text(path, node, table, "code")
    if not _CODE.fullmatch(code):
        raise _refusal(
            path, table["code"], f"{code!r} is not a code for a rule of your own: U and three digits, U101 to U999"
        )
    kind = _text(path, node, table, "kind")
    if kind not in KINDS:
        raise _refusal(path, table["kind"], f"no kind {kind!r}; {_near(kind, tuple(KINDS))}")
    for key in table:
        if key not in (*FOR_ALL, *KINDS[kind]):
            raise _refusal(path, table[key], f"a {kind} rule has no `{key}`; it has {', '.join(KINDS[kind])}")
    why = _text(path, node, table, "why") if "why" in table else ""
    safety = Safety.SAFE
    if "safety" in table:
        level = _text(path, node, table, "safety")
        if level not in ("safe", "review"):
            raise _refusal(path, table["safety"], f"safety is safe or review, not {level!r}")
        safety = Safety(level)
    if kind == "guard":
        given = [key for key in KINDS["guard"] if key in table]
        if len(given) != 1:
            raise _refusal(path, node, "a guard rule names one thing: `import: MODULE` or `call: NAME`")
        return UserRule(code, f"guard-{given[0]}", _dotted(path, node, table, given[0]), why=why, safety=safety)
    source, to = _dotted(path, node, table, "from"), _dotted(path, node, table, "to")
    if source == to:
        raise _refusal(path, table["to"], f"`from` and `to` are both {to}")
    if kind == "replace-call" and "." not in to:
        raise _refusal(path, table["to"], f"{to!r} names no module to import it from: write MODULE.{to}")
    return UserRule(code, kind, source, to, _keywords(path, table.get("keywords")), why, safety)


def _keywords(path: Path, node: Node | None) -> tuple[tuple[str, str | None], ...]:
    if node is None:
        return ()
    found: list[tuple[str, str | None]] = []
    for key, value in _mapping(path, node, "`keywords:` maps old names to new ones", None).items():
        new = None if value.tag.endswith(":null") else _scalar(path, value, f"keyword {key}")
        for name in (key, new):
            if name is not None and not name.isidentifier():
                raise _refusal(path, value, f"{name!r} is not a name that a keyword can have")
        found.append((key, new))
    return tuple(found)


def _mapping(path: Path, node: Node, form: str, known: Sequence[str] | None) -> dict[str, Node]:
    from yaml.nodes import MappingNode, ScalarNode

    if not isinstance(node, MappingNode):
        raise _refusal(path, node, form)
    found: dict[str, Node] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            raise _refusal(path, key, "a key is a plain word")
        name = str(key.value)
        if known is not None and name not in known:
            raise _refusal(path, key, f"no key {name!r}; {_near(name, known)}")
        if name in found:
            raise _refusal(path, key, f"{name!r} is given twice")
        found[name] = value
    return found


def _text(path: Path, rule: Node, table: dict[str, Node], key: str) -> str:
    if key not in table:
        raise _refusal(path, rule, f"the rule has no `{key}`")
    return _scalar(path, table[key], f"`{key}`")


def _scalar(path: Path, node: Node, what: str) -> str:
    from yaml.nodes import ScalarNode

    if not isinstance(node, ScalarNode) or node.tag.endswith(":null") or not node.value.strip():
        raise _refusal(path, node, f"{what} is a piece of text")
    return str(node.value).strip()


def _dotted(path: Path, rule: Node, table: dict[str, Node], key: str) -> str:
    text = _text(path, rule, table, key)
    if not _DOTTED.fullmatch(text):
        raise _refusal(path, table[key], f"`{key}: {text}` is not a dotted Python name such as house.ops.gelu")
    return text


def _near(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"


def _line(node: Node) -> int:
    return int(node.start_mark.line) + 1


def _refusal(path: Path, node: Node, fact: str) -> UsageError:
    return UsageError(f"{path}:{_line(node)}: {fact}")
