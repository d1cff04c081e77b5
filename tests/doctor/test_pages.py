"""Every check is well formed, and its page is where people look for it."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from kernel_pytorch.core import pages
from kernel_pytorch.core.pages import SECTIONS, Page, all_pages, page
from kernel_pytorch.doctor.run import LoadedCheck, all_checks

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("item", all_checks(), ids=lambda item: item.check.code)
def test_check_is_well_formed(item: LoadedCheck) -> None:
    check = item.check
    assert re.fullmatch(r"KP1\d\d", check.code)
    assert item.module == f"{check.code.lower()}_{check.name.replace('-', '_')}"
    found = page(check.code)
    assert found is not None
    assert (found.code, found.name) == (check.code, check.name)


@pytest.mark.parametrize("found", all_pages().values(), ids=lambda found: found.code)
def test_page_has_all_its_sections(found: Page) -> None:
    assert found.title
    assert not found.title.endswith(".")
    assert tuple(found.sections) == SECTIONS
    assert all(len(text) > 10 for text in found.sections.values())


def test_codes_are_unique_and_the_folder_is_the_list() -> None:
    codes = Counter(item.check.code for item in all_checks())
    assert set(codes.values()) == {1}
    # KP171 and KP172 are about source: rules of the port, beside the checks of a machine.
    assert set(codes) == {code for code in all_pages() if code.startswith("KP1")} - {"KP171", "KP172"}


def test_page_in_any_case_and_none_for_an_unknown_code() -> None:
    assert page("kp103") == page(" KP103 ")
    assert page("KP199") is None


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_rule_docs", ROOT / "scripts" / "generate_rule_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_docs_are_current() -> None:
    stale = generator().stale()
    assert stale == [], f"out of date: {stale}; run python scripts/generate_rule_docs.py"


def test_generator_writes_replaces_and_removes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = generator()
    monkeypatch.setattr(module, "FOLDER", tmp_path / "rules")
    monkeypatch.setattr(module, "EXAMPLES", tmp_path / "page_examples.json")
    assert module.main(["--check"]) == 1
    assert module.main([]) == 0
    (tmp_path / "rules" / "KP101.md").write_text("old")
    (tmp_path / "rules" / "KP1999.md").write_text("no such code")
    assert module.stale() == ["KP101.md", "KP1999.md"]
    module.main([])
    assert module.main(["--check"]) == 0
    assert "## Why" in (tmp_path / "rules" / "KP103.md").read_text()
    assert "## KP3xx: wave width" in (tmp_path / "rules" / "README.md").read_text()


def test_an_example_is_the_first_change_that_a_rule_makes(tmp_path: Path) -> None:
    folder = tmp_path / "kp999_a_rule"
    folder.mkdir()
    (folder / "in.py").write_text("import torch\n\n\ndef f(x):\n    if x:\n        return old(x)\n    return x\n")
    (folder / "findings.txt").write_text("5:8: KP999 manual: first\n6:16: KP999 safe: second\n")
    module = generator()
    assert module.example(folder) == {
        "language": "python",
        "before": "def f(x):\n    if x:\n        return old(x)",
        "after": "",
        "message": "first",
    }
    (folder / "out.py").write_text("import torch\n\n\ndef f(x):\n    if x:\n        return new(x)\n    return x\n")
    found = module.example(folder)
    assert found["after"] == "if x:\n    return new(x)\nreturn x"
    assert found["message"] == "second"  # the first one's line is not changed


def test_every_edit_that_fits_is_shown_before_and_after() -> None:
    """A rule or a repair that edits shows what becomes of its fixture; two define whole libraries, one a module."""
    folders = [folder.name[:5].upper() for root in generator().FIXTURES for folder in root.glob("kp[0-9]*_*")]
    assert set(folders) <= {code for code, found in all_pages().items() if found.example is not None}
    without = {code for code in folders if (found := page(code)) and found.example and not found.example.after}
    edits = {code for code in without if (found := page(code)) and found.safety != "manual"}
    assert edits == {"KP258", "KP321", "KP701"}


def test_a_page_says_who_makes_the_change_and_since_when() -> None:
    found = page("KP301")
    assert found is not None and found.plain()["Since"] == "0.1.0"
    assert found.text().splitlines()[:3] == ["KP301 narrow-mask-argument", found.title, "automatic, since 0.1.0"]
    assert f"{found.title}\n\n*Automatic, since 0.1.0*\n" in found.markdown()
    check = page("KP101")
    assert check is not None and check.summary == "since 0.1.0"  # a check of doctor's edits nothing


def test_a_later_code_names_its_version(tmp_path: Path) -> None:
    file = tmp_path / "kp998_a_rule.py"
    file.write_text('"""A title\n\nWhat: a\nWhy: b\nFix: c\nSource: d\nSince: 0.2.0\n"""\n')
    found = pages._read(file, {}, "port/rules")
    assert found.since == "0.2.0" and tuple(found.sections) == SECTIONS


def test_a_file_of_a_public_repository_is_a_link() -> None:
    text = "a/b_c.py in owner/repo (function); see x/y.h, ROCm 7.2"
    made = "[a/b_c.py in owner/repo](https://github.com/owner/repo/blob/HEAD/a/b_c.py) (function); see x/y.h, ROCm 7.2"
    assert pages.linked(text) == made
    assert (
        pages.linked("a/b.h\nin owner/repo") == "[a/b.h\nin owner/repo](https://github.com/owner/repo/blob/HEAD/a/b.h)"
    )
