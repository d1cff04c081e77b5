"""Every check is well formed, and its page is where people look for it."""

from __future__ import annotations

import importlib.util
import re
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

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
