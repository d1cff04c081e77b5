"""The rules: one file each, kpNNN_name.py, in a folder by the kind of file it reads. Adding one edits nothing else.

A rule module holds a docstring (its page: What, Why, Fix, Source), `RULE` and
`check(src, unit) -> Iterator[Finding]`. It sees the original source only; its edits are the ROCm form of a span.
Names need not be renamed there (that pass runs afterwards) and nothing is gated there (the layout does that).
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.core.pages import SECTIONS
from kernel_pytorch.core.pages import page as page  # the page of a code, beside its rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.unit import Unit
    from kernel_pytorch.port.source import SourceFile

# Lower number: less trust. A finding may lower its rule's safety, never raise it.
_TRUST = {Safety.MANUAL: 0, Safety.REVIEW: 1, Safety.SAFE: 2}


@dataclass(frozen=True)
class Rule:
    """What one rule is called, what it reads and how far its edits may be trusted.

    `triggers`: byte strings one of which must occur in a file for the rule to have anything to say. They spare a
    look at files the rule cannot concern; empty means every file is looked at.
    """

    code: str
    slug: str
    languages: tuple[str, ...]
    safety: Safety
    triggers: tuple[bytes, ...] = ()

    @property
    def file_stem(self) -> str:
        """The name of the rule's module, which is also the name of its fixture folder."""
        return f"{self.code.lower()}_{self.slug.replace('-', '_')}"

    def concerns(self, src: SourceFile) -> bool:
        """Whether the file can hold what the rule looks for. Cheap."""
        if src.language not in self.languages:
            return False
        return not self.triggers or any(trigger in src.data for trigger in self.triggers)

    def finding(
        self,
        src: SourceFile,
        span: Span,
        message: str,
        edits: Iterable[Edit] = (),
        safety: Safety | None = None,
    ) -> Finding:
        """A finding of this rule. Without edits it is for a person, whatever the rule's own safety."""
        changes = tuple(edits)
        trust = safety if safety is not None else (self.safety if changes else Safety.MANUAL)
        if _TRUST[trust] > _TRUST[self.safety]:
            raise ValueError(f"{self.code} is {self.safety.value}: a finding of it cannot be {trust.value}")
        if changes and trust is Safety.MANUAL:
            raise ValueError(f"{self.code}: a manual finding cannot carry edits")
        line, col = src.line_col(span.start)
        return Finding(self.code, src.path, line, col, message, trust, changes)


def dead_lines(src: SourceFile) -> tuple[tuple[int, int], ...]:
    """The preprocessor lines around code that a ROCm build leaves out: what lies between them is none of ours."""
    # Imported here: the registry is needed by files that hold no C++.
    from kernel_pytorch.port.cxx.compiled_on_rocm import dead_regions

    return tuple((src.line_col(start)[0], src.line_col(end)[0]) for start, end in dead_regions(src))


Check = Callable[["SourceFile", "Unit"], Iterator[Finding]]


@dataclass(frozen=True)
class LoadedRule:
    """A rule with its check and the text of its page."""

    rule: Rule
    check: Check
    module: str
    docstring: str

    def run(self, src: SourceFile, unit: Unit) -> tuple[Finding, ...]:
        """All findings in one file, in the order of the file."""
        if not self.rule.concerns(src):
            return ()
        found = sorted(self.check(src, unit), key=lambda one: (one.line, one.col))
        if not found or src.language not in ("cuda", "c++"):
            return tuple(found)
        dead = dead_lines(src)
        return tuple(one for one in found if not any(start < one.line < end for start, end in dead))


# Which folders hold the rules of a language: one CUDA file must not wait for a hundred Python rules to load.
_FOLDERS = {
    "cuda": ("cuda",),
    "c++": ("cuda",),
    "cmake": ("build",),
    "make": ("build",),
    "python": ("python", "build"),
}


@cache
def _places() -> dict[str, str]:
    """The module name of every rule that the registry runs, by code, and the folder it is in. Nothing is imported."""
    found: dict[str, str] = {}
    for folder in sorted({folder for folders in _FOLDERS.values() for folder in folders}):
        names = (info.name for info in pkgutil.iter_modules([f"{path}/{folder}" for path in __path__]))
        found |= {name: folder for name in names if re.fullmatch(r"kp\d{3}_\w+", name)}
    return dict(sorted(found.items()))


def rule_names() -> tuple[str, ...]:
    """The module names of all rules, by code. Nothing is imported."""
    return tuple(_places())


def all_rules() -> tuple[LoadedRule, ...]:
    """Every rule of this folder, by code."""
    return tuple(_load(name) for name in rule_names())


@cache
def _load(name: str) -> LoadedRule:
    module = importlib.import_module(f"{__name__}.{_places()[name]}.{name}")
    return LoadedRule(module.RULE, module.check, name, module.__doc__ or "")


def rules_for(language: str, codes: Iterable[str] | None = None) -> tuple[LoadedRule, ...]:
    """The rules that read a language, all of them or those with the given codes."""
    wanted = None if codes is None else frozenset(codes)
    folders = _FOLDERS.get(language, ())
    names = (
        name
        for name, folder in _places().items()
        if folder in folders and (wanted is None or name[:5].upper() in wanted)
    )
    return tuple(loaded for loaded in map(_load, names) if language in loaded.rule.languages)


def run_rules(rules: Iterable[LoadedRule], src: SourceFile, unit: Unit) -> Iterator[Finding]:
    """What rules find in one file. A rule that fails on it costs the user neither the others nor the knowledge."""
    for loaded in rules:
        try:
            yield from loaded.run(src, unit)
        except RecursionError:
            message = f"nested too deeply to analyse for {loaded.rule.code}"
            yield Finding("KP002", src.path, 1, 1, message, Safety.MANUAL)
        except Exception as problem:
            what = f"{type(problem).__name__}: {problem}"
            message = f"{loaded.rule.code} could not read this file and says nothing about it (a fault of kpt: {what})"
            yield Finding("KP002", src.path, 1, 1, message, Safety.MANUAL)


def parse_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """The title line and the sections of a rule's docstring. Raises ValueError naming a section that is missing."""
    title, _, rest = docstring.strip().partition("\n")
    parts = re.split(rf"^({'|'.join(SECTIONS)}): ", rest.lstrip("\n"), flags=re.MULTILINE)
    sections = {name: body.rstrip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    if tuple(sections) != SECTIONS or parts[0].strip() or not all(sections.values()):
        raise ValueError(f"a rule's docstring has a title and the sections {', '.join(SECTIONS)} in that order")
    return title, sections
