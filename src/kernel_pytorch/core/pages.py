"""A code's page: what is found, why it matters, what to do, how far kpt may change it, an example, the sources.

Pages are the docstrings of the files named after their code (`kp103_rocm_torch_overwritten.py`), read without
importing them. A new family of rules plugs in by naming its folder in `FOLDERS`. The examples come from the rules' own
fixtures; `scripts/generate_rule_docs.py` copies them into `data/page_examples.json`, because an installed package has
no tests folder.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = ("doctor/checks", "port/rules", "port/repairs", "verify/findings")
SECTIONS = ("What", "Why", "Fix", "Source")
SINCE = "Since"  # in the docstring of a code that came after the first version: "Since: 0.2.0"
FIRST_VERSION = "0.1.0"
EXAMPLES = "page_examples.json"

# The first digit of a code, and what its hundred is about. Codes are never used twice.
FAMILIES = {
    "KP0": "the tool itself: files it could not read or change",
    "KP1": "the machine, its driver, its Python and its packages",
    "KP2": "CUDA and C++ source, PTX, CUDA's libraries",
    "KP3": "wave width, lane masks, warp collectives",
    "KP4": "build files, containers, deployment",
    "KP5": "Python: libraries, attention, precision, Triton, torch.cuda, environment variables",
    "KP6": "torch.compile and Inductor",
    "KP7": "graph capture",
    "KP8": "verification: what an install, a build or a run showed",
}

# From the values of core.findings.Safety, the most trusted first, to the words of a page.
SAFETY = {
    "SAFE": ("automatic", "kpt makes the change itself. It may still leave single places for review, or to you."),
    "REVIEW": ("review", "kpt shows the change and makes it only with --unsafe."),
    "MANUAL": ("manual", "kpt reports the place and does not edit it. You decide."),
}


@dataclass(frozen=True)
class Example:
    """A few lines that a rule finds, and what they become. `after` is empty where kpt changes nothing by itself."""

    language: str
    before: str
    after: str
    message: str

    def text(self) -> str:
        """For a terminal."""
        outcome = f"becomes\n{_indented(self.after)}" if self.after else f"kpt says: {self.message}"
        return f"\n{_indented(self.before)}\n{outcome}"

    def markdown(self) -> str:
        """For docs/rules."""
        fence = f"```{self.language}"
        outcome = f"becomes\n\n{fence}\n{self.after}\n```" if self.after else f"kpt says: {escaped(self.message)}"
        return f"{fence}\n{self.before}\n```\n\n{outcome}"


@dataclass(frozen=True)
class Page:
    """One page. `sections` maps What, Why, Fix and Source to their text.

    `safety` is automatic, review or manual; empty where the code names no edit (a check of doctor's). `since` is the
    version that brought the code.
    """

    code: str
    name: str
    title: str
    sections: Mapping[str, str] = field(hash=False)
    safety: str = ""
    example: Example | None = None
    since: str = ""

    @property
    def summary(self) -> str:
        """How far kpt changes it, and since which version: "automatic, since 0.1.0". Empty for a user's own rule."""
        return ", ".join(filter(None, [self.safety, f"since {self.since}" if self.since else ""]))

    def text(self) -> str:
        """The page for a terminal."""
        parts = [f"{self.code} {self.name}", self.title, *([self.summary] if self.summary else []), ""]
        for name, body in self._parts():
            parts.append(f"{name}: {self.example.text() if self.example and name == 'Example' else body}\n")
        return "\n".join(parts).rstrip() + "\n"

    def markdown(self) -> str:
        """The page for docs/rules."""
        parts = [f"# {self.code} {self.name}", "", escaped(self.title), ""]
        if self.summary:
            parts += [f"*{self.summary.capitalize()}*", ""]
        for name, body in self._parts():
            if self.example and name == "Example":
                shown = self.example.markdown()
            else:
                shown = linked(body) if name == "Source" else escaped(body)
            parts += [f"## {name}", "", shown, ""]
        return "\n".join(parts).rstrip() + "\n"

    def plain(self) -> dict[str, str]:
        """The page for JSON."""
        plain = {"code": self.code, "name": self.name, "title": self.title, **self.sections}
        if self.safety:
            plain["Safety"] = self.safety
        if self.since:
            plain[SINCE] = self.since
        if self.example is not None:
            plain |= {"Before": self.example.before, "After": self.example.after, "Message": self.example.message}
        return plain

    def _parts(self) -> Iterator[tuple[str, str]]:
        """The sections, with the safety and the place of the example before the sources."""
        words = dict(SAFETY.values())
        for name, body in self.sections.items():
            if name == "Source" and self.safety:
                yield "Safety", f"{self.safety.capitalize()}. {words[self.safety]}"
            if name == "Source" and self.example is not None:
                yield "Example", ""
            yield name, body


def page(code: str) -> Page | None:
    """The page of a code such as KP103, in any case; None if there is no such code."""
    return all_pages().get(code.strip().upper())


def family(prefix: str) -> dict[str, Page]:
    """The pages whose codes begin so: `KP3`, `kp3xx` and `KP30` name families. Empty for anything else."""
    match = re.fullmatch(r"(KP\d{1,2})X{0,2}", prefix.strip().upper())
    if match is None:
        return {}
    return {code: found for code, found in all_pages().items() if code.startswith(match.group(1))}


@cache
def all_pages() -> dict[str, Page]:
    """Every page by code."""
    examples = _examples()
    pages = {}
    for folder in FOLDERS:
        for path in sorted((PACKAGE / folder).rglob("kp[0-9]*_*.py")):
            found = _read(path, examples, folder)
            pages[found.code] = found
    return dict(sorted(pages.items()))


def _read(path: Path, examples: Mapping[str, Example], folder: str) -> Page:
    code, _, name = path.stem.partition("_")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    title, _, rest = (ast.get_docstring(tree) or "").partition("\n")
    sections: dict[str, str] = {}
    current = ""
    for line in rest.splitlines():
        match = re.match(rf"({'|'.join((*SECTIONS, SINCE))}):\s*(.*)", line)
        if match:
            current, text = match.groups()
            sections[current] = text
        elif current and line.strip():
            sections[current] += "\n" + line.strip()
    # A repair is made only where the proof holds and the compiler takes it.
    safety = _safety(tree) if folder == "port/rules" else SAFETY["SAFE"][0] if folder == "port/repairs" else ""
    since = sections.pop(SINCE, FIRST_VERSION)
    example = examples.get(code.upper())
    return Page(code.upper(), name.replace("_", "-"), title.strip(), sections, safety, example, since)


def _safety(tree: ast.Module) -> str:
    """The safety that `RULE` names, or the most trusted one in a file without RULE.

    A file without either holds a page only: its code comes from the translator, which never edits for it.
    """
    rules: list[ast.AST] = [
        node
        for node in tree.body
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "RULE" for to in node.targets)
    ]
    named = {
        node.attr
        for top in rules or [tree]
        for node in ast.walk(top)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Safety"
    }
    return next((SAFETY[name][0] for name in SAFETY if name in named), SAFETY["MANUAL"][0])


def _examples() -> dict[str, Example]:
    text = resources.files("kernel_pytorch.core").joinpath("data").joinpath(EXAMPLES).read_text(encoding="utf-8")
    return {code: Example(**fields) for code, fields in json.loads(text).items()}


def escaped(text: str) -> str:
    """Plain text as Markdown: `<`, `*` and `__` mean nothing there, outside code between backticks."""
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(r"__|\*", lambda found: "".join("\\" + one for one in found[0]), parts[place])
        parts[place] = parts[place].replace("<", "&lt;")
    return "`".join(parts)


def linked(text: str) -> str:
    """Sources as Markdown: addresses, `owner/repository#number` and `file in owner/repository` become links."""
    pieces = re.split(
        r"(https://[^\s;,()]+[^\s;,().]|\b[\w.-]+/[\w.-]+#\d+|\b[\w./-]+\.\w+\s+in\s+[\w.-]+/[\w-]+(?![\w/]))", text
    )
    for place, piece in enumerate(pieces):
        if place % 2 == 0:
            pieces[place] = escaped(piece)
        elif piece.startswith("https://"):
            pieces[place] = f"<{piece}>"
        elif len(words := piece.split()) == 3:  # perhaps over two lines
            file, _, repository = words
            pieces[place] = f"[{escaped(piece)}](https://github.com/{repository}/blob/HEAD/{file})"
        else:
            repository, _, number = piece.partition("#")
            pieces[place] = f"[{piece}](https://github.com/{repository}/issues/{number})"
    return "".join(pieces)


def _indented(text: str) -> str:
    return "\n".join("    " + line if line else "" for line in text.splitlines())
