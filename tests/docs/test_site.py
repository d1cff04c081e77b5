"""The site builds without a warning, leads nowhere outside itself, and says what the code is."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from kernel_pytorch.cli.main import verb_summaries
from tests.browser import browser

__all__ = ["browser"]  # the fixture

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "kernel_pytorch"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason='pip install "kernel-pytorch[docs]"')
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", ROOT / "mkdocs.yml", "-d", out]
    done = subprocess.run(
        command,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_the_site_has_every_page_and_asks_no_other_server(site: Path) -> None:
    made = {path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html")}
    wanted = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert {name.replace("rules/README", "rules/index") for name in wanted} <= made
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|link|iframe)\b[^>]*?(?:src|href)=\"?(https?://[^\"\s>]+)", text)
        assert loaded == [], page


def test_the_search_works_in_a_site_opened_from_disk(site: Path, browser: Any) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "guides" / "start.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type("narrow-mask-variable")
    page.wait_for_selector(".md-search-result__item")
    assert "KP303.html" in page.locator(".md-search-result__link").first.get_attribute("href")
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_of_the_site_fit_a_phone_and_a_laptop(site: Path, browser: Any, scheme: str) -> None:
    for width in (390, 1280):
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        for name in ("index", "guides/start", "field-notes", "rules/KP303", "commands", "ecosystem"):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") == width, (name, width)
            # What is wider than the page scrolls inside it; a paragraph never is.
            wide = (
                "[...document.querySelectorAll('article p, article li')].filter(p => p.scrollWidth > innerWidth).length"
            )
            assert page.evaluate(wide) == 0, (name, width)
        page.close()


def test_strict_means_strict(tmp_path: Path) -> None:
    """A link and an anchor that lead nowhere stop the build."""
    pytest.importorskip("mkdocs", reason='pip install "kernel-pytorch[docs]"')
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    for number, text in enumerate(("[x](missing.md)", "[x](index.md#nowhere)")):
        folder = tmp_path / str(number)
        (folder / "docs").mkdir(parents=True)
        (folder / "docs" / "index.md").write_text(f"# Page\n\n{text}\n")
        small = {"site_name": "x", "theme": {"name": "mkdocs"}, "plugins": [], "validation": settings["validation"]}
        (folder / "mkdocs.yml").write_text(yaml.safe_dump(small))
        done = subprocess.run(
            [sys.executable, "-m", "mkdocs", "build", "--strict"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0, text


def test_every_page_is_in_the_navigation() -> None:
    named: set[str] = set()

    def collect(node: object) -> None:
        if isinstance(node, str):
            named.add(node)
        elif isinstance(node, dict):
            for item in node.values():
                collect(item)
        elif isinstance(node, list):
            for item in node:
                collect(item)

    collect(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    there = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert named == {name for name in there if not name.startswith("rules/KP")}


def test_nobody_is_told_to_install_a_package_that_is_not_published() -> None:
    """From a checkout or a repository only; a release takes this test out."""
    asked = re.compile(r"pip install [\"']?kernel[-_]pytorch(?!\S* @ )")
    pages = [ROOT / "README.md", *DOCS.rglob("*.md"), *SOURCE.rglob("*.py"), *SOURCE.rglob("*.md")]
    assert [path for path in pages if asked.search(path.read_text(encoding="utf-8"))] == []


def test_reference_pages_are_current() -> None:
    stale = script("generate_reference").stale()
    assert stale == [], f"out of date: {stale}; run `make docs`"


def test_the_reference_is_made_without_torch() -> None:
    code = (
        "import runpy, sys\nsys.argv = ['x', '--check']\n"
        "try: runpy.run_path('scripts/generate_reference.py', run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'triton', 'numpy'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def architecture() -> str:
    return (DOCS / "architecture.md").read_text(encoding="utf-8")


def rooms() -> set[str]:
    return {path.name for path in SOURCE.iterdir() if (path / "__init__.py").is_file()}


def test_the_architecture_page_names_every_room_and_no_other() -> None:
    table = architecture().split("## The rooms")[1].split("## The verbs")[0]
    assert set(re.findall(r"^\| `(\w+)/` \|", table, re.MULTILINE)) == rooms()


def test_the_line_of_imports_is_the_one_that_is_held() -> None:
    (line,) = re.findall(r"^core <- .*$", architecture(), re.MULTILINE)
    drawn = {room.strip(): level for level, part in enumerate(line.split("<-")) for room in part.split(",")}
    spec = importlib.util.spec_from_file_location("test_imports", ROOT / "tests" / "test_imports.py")
    assert spec is not None
    assert spec.loader is not None
    held = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(held)
    assert drawn == held.LEVELS


def test_the_architecture_page_names_every_verb_and_no_other() -> None:
    table = architecture().split("## The verbs")[1].split("## Five")[0]
    assert set(re.findall(r"`kpt (\w+)`", table)) == set(verb_summaries())


def test_files_and_functions_on_the_architecture_page_exist() -> None:
    text = architecture()
    named = re.findall(r"`(\w+(?:/\w+)*\.py)(?:: (\w+))?`", text)
    assert len(named) > 8
    for path, function in named:
        if path.startswith(("tests/", "kp")):
            assert (ROOT / path).is_file() or list(SOURCE.rglob(path)), path
            continue
        tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert not function or function in defined, f"{path}: {function}"
    for folder in re.findall(r"\| ((?:\w+/)\w*)(?: |,)", text):
        assert (SOURCE / folder).exists(), folder


def test_the_picture_has_the_rooms() -> None:
    picture = (DOCS / "images" / "architecture.svg").read_text(encoding="utf-8")
    assert set(re.findall(r'font-weight="600"[^>]*>(\w+)<', picture)) == rooms()
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")


def test_readme_lists_every_verb() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [verb for verb in verb_summaries() if f"kpt {verb}" not in readme]
    assert missing == []


def exists(name: str) -> bool:
    """Is a dotted name a module of ours, or something that one defines or hands on?"""
    parts = name.split(".")[1:]
    at = SOURCE
    for number, part in enumerate(parts):
        if (at / part).is_dir():
            at = at / part
            continue
        file, rest = (
            (at / f"{part}.py", parts[number + 1 :])
            if (at / f"{part}.py").is_file()
            else (at / "__init__.py", parts[number:])
        )
        text = file.read_text(encoding="utf-8")
        return not rest or re.search(rf"^\s*(?:def|class) {rest[0]}\b|\b{rest[0]}\b", text, re.MULTILINE) is not None
    return True


def test_names_of_ours_in_pages_and_skills_exist() -> None:
    assert exists("kernel_pytorch.backends.graphs.capture")
    assert not exists("kernel_pytorch.backends.graphs.captures")
    assert not exists("kernel_pytorch.backend")
    texts = [*DOCS.rglob("*.md"), *(SOURCE / "report" / "skills").rglob("*.md"), ROOT / "README.md"]
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in texts
        for name in re.findall(r"\bkernel_pytorch(?:\.[A-Za-z_]\w*)+", path.read_text(encoding="utf-8"))
        if not exists(name)
    }
    # Keys of a project's pyproject.toml look like names.
    assert {item for item in wrong if not re.search(r"kernel_pytorch\.(verify|amd)$", item)} == set()
