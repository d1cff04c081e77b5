"""The rules: one file each, kpNNN_name.py, in a folder by the kind of file it reads. Adding one edits nothing else.

A rule module holds a docstring (its page: What, Why, Fix, Source), `RULE` and a check that takes the kind of file it
reads: `check(src: CxxFile)`, `check(module: PythonModule)`, `check(file: CMakeFile)`, `check(src: SourceFile)` for a
Makefile. A C++ rule that must see the other files of its unit has `check_in_unit(src: CxxFile, unit: Unit)` instead.
It sees the original source only; its edits are the ROCm form of a span. Names need not be renamed there (that pass runs
afterwards) and nothing is gated there (the layout does that).
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.core.pages import SECTIONS, SINCE
from kernel_pytorch.core.pages import page as page  # the page of a code, beside its rule
from kernel_pytorch.port.cxx.compiled_on_rocm import compiled_findings
from kernel_pytorch.port.cxx.sought import Watched
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import Unit, unit_of
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.source import SourceFile

_NVIDIA_LIBRARY = "KP510"


@dataclass(frozen=True, eq=False)
class LoadedRule:
    """A rule with its check and the text of its page. `check` is None where the rule sees the unit. There is one of
    each: they are told apart as objects, and tuples of them are keys of a cache."""

    rule: Rule
    check: Callable[..., Iterator[Finding]] | None
    check_in_unit: Callable[[CxxFile, Unit], Iterator[Finding]] | None
    module: str
    docstring: str

    def run(self, src: SourceFile, unit: Unit | None = None) -> tuple[Finding, ...]:
        """All findings in one file, in the order of the file. `unit` is what a C++ file is seen with."""
        return self.run_concerned(src, unit) if self.rule.concerns(src) else ()

    def run_concerned(self, src: SourceFile, unit: Unit | None) -> tuple[Finding, ...]:
        """The same for a file that is known to concern the rule."""
        found = sorted(self._found(src, unit), key=lambda one: (one.line, one.col))
        return tuple(compiled_findings(src, found)) if found and isinstance(src, CxxFile) else tuple(found)

    def _found(self, src: SourceFile, unit: Unit | None) -> Iterable[Finding]:
        if self.check_in_unit is not None:
            assert isinstance(src, CxxFile)
            return self.check_in_unit(src, unit or unit_of(src))
        assert self.check is not None
        read = _as_read(src)
        if read is None or (getattr(read, "is_for_nvidia_alone", False) and self.rule.code != _NVIDIA_LIBRARY):
            return ()
        return self.check(read)


def _as_read(src: SourceFile) -> object | None:
    """The file as the rules of its language take it; None where it cannot be read or has nothing for them."""
    # Imported here: one CUDA file must not wait for the readers of other languages to load.
    if src.language == "python":
        from kernel_pytorch.port.python.module import python_module

        return python_module(src)
    if src.language == "cmake":
        from kernel_pytorch.port.build_files.cmake import cmake_file

        return cmake_file(src)
    return src


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
    check, check_in_unit = getattr(module, "check", None), getattr(module, "check_in_unit", None)
    return LoadedRule(module.RULE, check, check_in_unit, name, module.__doc__ or "")


def rules_for(language: str, codes: Iterable[str] | None = None) -> tuple[LoadedRule, ...]:
    """The rules that read a language, all of them or those with the given codes."""
    return _rules_for(language, None if codes is None else frozenset(codes))


@cache
def _rules_for(language: str, wanted: frozenset[str] | None) -> tuple[LoadedRule, ...]:
    folders = _FOLDERS.get(language, ())
    names = (
        name
        for name, folder in _places().items()
        if folder in folders and (wanted is None or name[:5].upper() in wanted)
    )
    return tuple(loaded for loaded in map(_load, names) if language in loaded.rule.languages)


def run_rules(rules: Iterable[LoadedRule], src: SourceFile, unit: Unit | None = None) -> Iterator[Finding]:
    """What rules find in one file. A rule that fails on it costs the user neither the others nor the knowledge."""
    for loaded in _concerned(tuple(rules), src):
        try:
            yield from loaded.run_concerned(src, unit)
        except RecursionError:
            message = f"nested too deeply to analyse for {loaded.rule.code}"
            yield Finding("KP002", src.path, 1, 1, message, Safety.MANUAL)
        except Exception as problem:
            what = f"{type(problem).__name__}: {problem}"
            message = f"{loaded.rule.code} could not read this file and says nothing about it (a fault of kpt: {what})"
            yield Finding("KP002", src.path, 1, 1, message, Safety.MANUAL)


def _concerned(rules: tuple[LoadedRule, ...], src: SourceFile) -> Iterable[LoadedRule]:
    """The rules that may have something to say about a file, in their order."""
    if not isinstance(src, CxxFile):
        return (loaded for loaded in rules if loaded.rule.concerns(src))
    present = _triggers(rules).present(src)
    return (
        loaded
        for loaded in rules
        if src.language in loaded.rule.languages
        and (not loaded.rule.triggers or not present.isdisjoint(loaded.rule.triggers))
    )


@lru_cache(maxsize=8)
def _triggers(rules: tuple[LoadedRule, ...]) -> Watched:
    return Watched(trigger for loaded in rules for trigger in loaded.rule.triggers)


def parse_docstring(docstring: str) -> tuple[str, dict[str, str]]:
    """The title line and the sections of a rule's docstring. Raises ValueError naming a section that is missing."""
    title, _, rest = docstring.strip().partition("\n")
    parts = re.split(rf"^({'|'.join((*SECTIONS, SINCE))}): ", rest.lstrip("\n"), flags=re.MULTILINE)
    sections = {name: body.rstrip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    if tuple(name for name in sections if name != SINCE) != SECTIONS or parts[0].strip() or not all(sections.values()):
        raise ValueError(f"a rule's docstring has a title and the sections {', '.join(SECTIONS)} in that order")
    return title, {name: sections[name] for name in SECTIONS}
