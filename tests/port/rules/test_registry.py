"""The registry: every rule is well formed, and malformed ones are refused."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Edit, Safety, Span
from kernel_pytorch.port.rule import Rule
from kernel_pytorch.port.rules import LoadedRule, all_rules, page, parse_docstring, rules_for
from kernel_pytorch.port.source import SourceFile

FIXTURES = Path(__file__).parent
GOOD = "Title\n\nWhat: a\nWhy: b\nFix: c\n  and d\nSource: e\n"


@pytest.mark.parametrize("loaded", all_rules(), ids=lambda loaded: loaded.module)
def test_rule_is_well_formed(loaded: LoadedRule) -> None:
    rule = loaded.rule
    assert re.fullmatch(r"KP\d{3}", rule.code)
    assert loaded.module == rule.file_stem
    title, sections = parse_docstring(loaded.docstring)
    assert title and len(title) <= 100
    assert sections["Source"].strip()
    assert rule.languages
    folder = FIXTURES / rule.file_stem
    assert folder.is_dir(), "a rule has a fixture folder of the same name"
    for name in ("in", "ok"):
        assert len(list(folder.glob(f"{name}.*"))) == 1, f"{name}.* is written by hand"


TAKES = {
    "cuda": "CxxFile",
    "c++": "CxxFile",
    "python": "PythonModule",
    "cmake": "cmake.CMakeFile",
    "make": "SourceFile",
}


@pytest.mark.parametrize("loaded", all_rules(), ids=lambda loaded: loaded.module)
def test_a_check_takes_the_kind_of_file_it_reads(loaded: LoadedRule) -> None:
    assert (loaded.check is None) != (loaded.check_in_unit is None)
    check = loaded.check or loaded.check_in_unit
    assert check is not None
    taken = [one.annotation for one in inspect.signature(check).parameters.values()]
    (kind,) = {TAKES[language] for language in loaded.rule.languages}
    assert taken == ([kind] if loaded.check else [kind, "Unit"])


def test_every_rule_is_found_by_its_languages() -> None:
    for loaded in all_rules():
        for language in loaded.rule.languages:
            assert loaded in rules_for(language), f"{loaded.rule.code}: its hundred does not stand for {language}"


def test_codes_are_unique() -> None:
    codes = [loaded.rule.code for loaded in all_rules()]
    assert len(codes) == len(set(codes))


def test_every_fixture_folder_belongs_to_a_rule() -> None:
    folders = {entry.name for entry in FIXTURES.iterdir() if re.match(r"kp\d{3}_", entry.name)}
    assert folders == {loaded.module for loaded in all_rules()}


def test_every_rule_has_its_page() -> None:
    for loaded in all_rules():
        found = page(loaded.rule.code.lower())
        assert found is not None and found.name == loaded.rule.slug
        assert found.text().startswith(f"{found.code} {found.name}\n{found.title}\n{found.summary}\n\nWhat: ")
    assert page("KP999") is None


def test_docstring_sections() -> None:
    title, sections = parse_docstring(GOOD)
    assert title == "Title"
    assert sections == {"What": "a", "Why": "b", "Fix": "c\n  and d", "Source": "e"}


@pytest.mark.parametrize(
    "text",
    [
        "Title\n",
        GOOD.replace("Why: b\n", ""),
        GOOD.replace("Why: b", "Why: "),
        GOOD.replace("What: a", "Stray\nWhat: a"),
    ],
)
def test_docstring_refused(text: str) -> None:
    with pytest.raises(ValueError, match="sections"):
        parse_docstring(text)


def test_a_finding_cannot_be_safer_than_its_rule() -> None:
    src = SourceFile("a.cu", b"x", "cuda")
    rule = Rule("KP999", "x", ("cuda",), Safety.REVIEW)
    edit = Edit(Span(0, 1), b"y")
    assert rule.finding(src, Span(0, 1), "m", [edit]).safety is Safety.REVIEW
    assert rule.finding(src, Span(0, 1), "m").safety is Safety.MANUAL
    with pytest.raises(ValueError, match="cannot be safe"):
        rule.finding(src, Span(0, 1), "m", [edit], Safety.SAFE)
    with pytest.raises(ValueError, match="manual"):
        rule.finding(src, Span(0, 1), "m", [edit], Safety.MANUAL)


def test_triggers_and_language_decide_whether_a_file_is_looked_at() -> None:
    rule = Rule("KP999", "x", ("cuda",), Safety.SAFE, triggers=(b"asm",))
    assert rule.concerns(SourceFile("a.cu", b"asm", "cuda"))
    assert not rule.concerns(SourceFile("a.cu", b"x", "cuda"))
    assert not rule.concerns(SourceFile("a.py", b"asm", "python"))
