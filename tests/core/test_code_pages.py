"""Every code has a page, every page's code is emitted, and a page names only sources that a reader can open."""

from __future__ import annotations

import ast
import csv
import re
from pathlib import Path

import pytest

from kernel_pytorch.core.pages import FAMILIES, PACKAGE, Page, all_pages, escaped, family, linked

ROOT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\bKP\d{3}\b")
TEXT = {".py", ".csv", ".txt", ".h", ".hpp", ".cpp", ".c", ".md", ".html", ".json", ".toml", ".cmake"}


def texts(*folders: Path) -> dict[Path, str]:
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in TEXT)
    return {path: path.read_text(encoding="utf-8") for path in files if "__pycache__" not in path.parts}


def emitted() -> set[str]:
    """Codes that stand alone in a string or in a cell of a table: what a finding can carry. Prose does not count."""
    found: set[str] = set()
    for path, text in texts(PACKAGE).items():
        if path.suffix != ".py" or not CODE.search(text):
            continue
        constants = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
        found |= {node.value for node in constants if isinstance(node.value, str) and CODE.fullmatch(node.value)}
    for path in PACKAGE.rglob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            found |= {cell for row in csv.reader(file) for cell in row if CODE.fullmatch(cell)}
    return found


def test_every_code_that_the_source_names_has_a_page() -> None:
    missing = {
        f"{path.relative_to(PACKAGE)}: {code}"
        for path, text in texts(PACKAGE).items()
        for code in CODE.findall(text)
        if code not in all_pages()
    }
    assert not missing


def test_no_code_is_put_together_at_run_time() -> None:
    """`f"KP{number}"` would slip past the test above. To ask for a family with startswith is fine."""
    made = []
    for path, text in texts(PACKAGE).items():
        if path.suffix != ".py" or not re.search(r"KP\d{0,2}\{", text):
            continue
        nodes = list(ast.walk(ast.parse(text)))
        calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
        asked = {id(argument) for call in calls if call.func.attr == "startswith" for argument in call.args}
        for node in nodes:
            if (
                isinstance(node, ast.JoinedStr)
                and id(node) not in asked
                and re.search(r"KP\d{0,2}\{", ast.unparse(node))
            ):
                made.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert not made


def test_every_page_is_of_a_code_that_is_emitted_or_retired() -> None:
    alive = emitted()
    idle = {code for code, found in all_pages().items() if code not in alive and not found.title.startswith("Retired:")}
    assert not idle, "a code is never used twice: keep its page and begin the title with `Retired:`"


def test_every_code_belongs_to_a_family_of_the_list() -> None:
    assert all(code[:3] in FAMILIES for code in all_pages())
    assert all(family(prefix) for prefix in FAMILIES)


def has_public_source(found: Page) -> bool:
    """Whether a page has a source to open, or says that there is none."""
    source = found.sections["Source"]
    is_linked = re.search(r"<https://|\]\(https://", linked(source)) is not None
    return is_linked or source.startswith(("None outside kpt", "No public source"))


def test_sources_are_public() -> None:
    """Notes of ours that no reader has are no source; neither is a page without one."""
    pages = all_pages()
    assert [code for code, found in pages.items() if not has_public_source(found)] == []
    notes = re.compile(r"catalogue|\bseeds? 0\d\d", re.IGNORECASE)
    assert [code for code, found in pages.items() if notes.search(found.text())] == []
    assert not has_public_source(Page("KP999", "x", "x", {"Source": "hip/hip_runtime.h, ROCm 7.2"}))


def test_nothing_a_user_reads_cites_our_notes() -> None:
    places = texts(ROOT / "docs", PACKAGE)
    places[ROOT / "README.md"] = (ROOT / "README.md").read_text(encoding="utf-8")
    cited = {
        str(path.relative_to(ROOT))
        for path, text in places.items()
        if re.search(r"\bcatalogue row|\brules catalogue|\bseeds? 00\d", text, re.IGNORECASE)
    }
    assert not cited


def test_safety_is_the_rules_own() -> None:
    """Read from the source without importing it, so it is compared with what an import gives."""
    from kernel_pytorch.port.rules import all_rules

    words = {"safe": "automatic", "review": "review", "manual": "manual"}
    assert {loaded.rule.code: words[loaded.rule.safety.value] for loaded in all_rules()} == {
        loaded.rule.code: all_pages()[loaded.rule.code].safety for loaded in all_rules()
    }
    assert (all_pages()["KP202"].safety, all_pages()["KP440"].safety, all_pages()["KP101"].safety) == (
        "manual",
        "automatic",
        "",
    )


def test_a_page_shows_safety_and_example_before_its_sources() -> None:
    text = all_pages()["KP301"].text()
    order = [text.index(part) for part in ("What:", "Fix:", "Safety: Automatic", "Example:", "\nbecomes\n", "Source:")]
    assert order == sorted(order)
    assert "__shfl_xor_sync(mask" in text
    manual = all_pages()["KP322"]
    assert "kpt says: " in manual.text()
    assert manual.example is not None
    assert manual.example.after == ""
    assert manual.plain()["Safety"] == "manual"


@pytest.mark.parametrize("prefix", ["KP70", "kp7", "KP7xx", " kp70X "])
def test_a_family_by_its_prefix(prefix: str) -> None:
    assert list(family(prefix)) == ["KP701", "KP702", "KP703", "KP704", "KP705"]


@pytest.mark.parametrize("prefix", ["KP701", "KP", "KP9", "KP7xxx", "U1", ""])
def test_no_family(prefix: str) -> None:
    assert family(prefix) == {}


def test_markdown_takes_nothing_for_markup() -> None:
    assert (
        escaped("a `__x__` and __x__ of <cuda/...> and nvidia-*")
        == r"a `__x__` and \_\_x\_\_ of &lt;cuda/...> and nvidia-\*"
    )
    assert linked("see a/b#12; https://x.org/y_(z).") == (
        "see [a/b#12](https://github.com/a/b/issues/12); <https://x.org/y_>(z)."
    )
