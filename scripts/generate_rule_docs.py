"""Writes docs/rules/*.md, and the examples that `kpt explain` shows. `--check` only tells whether they are current.

The pages are in the source; the examples are the rules' own fixtures (tests/port/rules). An installed package has no
fixtures, so the few lines that a page shows are shipped as core/data/page_examples.json.

Run by `make docs`; the test tests/doctor/test_pages.py holds that the committed files are current.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from kernel_pytorch.core import pages  # noqa: E402
from kernel_pytorch.core.findings import Safety  # noqa: E402
from tests.port.rules import fixture_files  # noqa: E402

FOLDER = ROOT / "docs" / "rules"
FIXTURES = (ROOT / "tests" / "port" / "rules", ROOT / "tests" / "port" / "repairs")
EXAMPLES = ROOT / "src" / "kernel_pytorch" / "core" / "data" / pages.EXAMPLES
LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".py": "python", ".cmake": "cmake", ".mk": "make"}
MOST_LINES = 16  # of either side: an example, not the whole fixture

INTRODUCTION = """\
Every finding has a code, and every code has a page: what kpt found, why it matters on ROCm, what to do, how far kpt
changes it by itself, an example, and sources you can open. `kpt explain KP601` shows a page in the terminal,
`kpt explain KP6` lists a family. Codes are never used twice.

Safety is one of three words. **Automatic**: kpt makes the change behind a gate. **Review**: kpt shows the change and
makes it only with `--unsafe`. **Manual**: kpt reports it, and a person decides. Checks of `kpt doctor` have none."""


def index() -> str:
    """docs/rules/README.md: one line for each code, by family."""
    parts = ["# Codes", "", INTRODUCTION, ""]
    for prefix, about in pages.FAMILIES.items():
        parts += [f"## {prefix}xx: {about}", "", "| code | what | safety |", "|---|---|---|"]
        parts += [
            f"| [{code}]({code}.md) {found.name} | {pages.escaped(found.title)} | {found.safety} |"
            for code, found in pages.family(prefix).items()
        ]
        parts.append("")
    return "\n".join(parts)


def examples() -> str:
    """core/data/page_examples.json: the first thing that each rule or repair finds in its fixture."""
    folders = sorted((folder for root in FIXTURES for folder in root.glob("kp[0-9]*_*")), key=lambda one: one.name)
    found = {folder.name[:5].upper(): example(folder) for folder in folders}
    # What `out` leaves as it is may be an edit for review: it is shown as `kpt port --unsafe` makes it.
    for fixture in fixture_files.fixtures():
        if not found[fixture.code]["after"] and fixture.loaded.rule.safety is not Safety.MANUAL:
            made = fixture_files.result_of(fixture, fixture_files.read(fixture.source), unsafe=True)
            found[fixture.code] = example(fixture.folder, made.decode())
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def example(folder: Path, made: str | None = None) -> dict[str, str]:
    """The lines around the first finding whose own line is changed in `out` or `made`, or around the first finding."""
    (source,) = folder.glob("in.*")
    before = source.read_text(encoding="utf-8").splitlines()
    out = next(iter(sorted(folder.glob("out*"))), source)
    after = (out.read_text(encoding="utf-8") if made is None else made).splitlines()
    findings = _findings(folder, source.name)
    language = LANGUAGES[source.suffix]
    groups = _groups(before, after)
    # A build file keeps its line and gets a condition around it: there the lines beside the finding are new.
    # A definition that is left out on ROCm has the new lines a little further away.
    for reach in (0, 1, 3):
        for line, message in findings:
            for group in groups:
                first, last, start, end = group[0][1], group[-1][2], group[0][3], group[-1][4]
                is_changed = any(tag != "equal" and i1 - reach < line <= i2 + reach for tag, i1, i2, _, _ in group)
                if is_changed and first < line <= last and max(last - first, end - start) <= MOST_LINES:
                    return _fields(language, before[first:last], after[start:end], message)
    line, message = findings[0]
    near = before[max(0, line - 2) : line + 1]
    match _changes(before, after):
        case [("insert", _, _, start, end)] if end - start <= MOST_LINES // 2:  # a declaration at the top
            return _fields(language, near, [*after[start:end], "...", *near], message)
    return _fields(language, near, [], message)


def _findings(folder: Path, source: str) -> list[tuple[int, str]]:
    """Lines of the source with what was found there: by a rule, or, for a repair, by the compiler."""
    complaints = folder / "complaints.json"
    if complaints.is_file():
        rounds = json.loads(complaints.read_text(encoding="utf-8"))["rounds"]
        return [(spot["line"], one["text"]) for one in rounds for spot in one["spots"] if spot["path"] == source]
    return [
        (int(match[1]), match[2])
        for line in (folder / "findings.txt").read_text(encoding="utf-8").splitlines()
        if (match := re.match(r"(\d+):\d+: KP\d+ \w+: (.*)", line))
    ]


def _groups(before: list[str], after: list[str]) -> list[list[tuple[str, int, int, int, int]]]:
    """Groups of changed lines, with a line around each, without, then with three. The caller takes what fits first."""
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [group for context in (1, 0, 3) for group in matcher.get_grouped_opcodes(context)]


def _changes(before: list[str], after: list[str]) -> list[tuple[str, int, int, int, int]]:
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [code for code in codes if code[0] != "equal"]


def _fields(language: str, before: list[str], after: list[str], message: str) -> dict[str, str]:
    sides = [_tidy(side) for side in (before, after)]
    return {"language": language, "before": sides[0], "after": sides[1], "message": message}


def _tidy(lines: list[str]) -> str:
    """Without blank lines at either end and without the indent that all lines share."""
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return "\n".join(line[indent:].rstrip() for line in lines)


def expected() -> dict[Path, str]:
    """Every generated file with its content, the index and the examples included."""
    files = {FOLDER / f"{code}.md": found.markdown() for code, found in pages.all_pages().items()}
    return {**files, FOLDER / "README.md": index(), EXAMPLES: examples()}


def stale() -> list[str]:
    """Files that are missing, outdated or no longer wanted."""
    wanted = expected()
    present = {path: path.read_text(encoding="utf-8") for path in (*FOLDER.glob("*.md"), EXAMPLES) if path.is_file()}
    return sorted(path.name for path in wanted.keys() | present.keys() if wanted.get(path) != present.get(path))


def main(argv: list[str]) -> int:
    if "--check" in argv:
        outdated = stale()
        if outdated:
            print(f"out of date: {', '.join(outdated)}; run python scripts/generate_rule_docs.py", file=sys.stderr)
        return 1 if outdated else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    EXAMPLES.write_text(examples(), encoding="utf-8")
    pages.all_pages.cache_clear()  # the pages show the examples that were just written
    outdated, wanted = set(stale()), expected()
    for path, text in wanted.items():
        if path.name in outdated:
            path.write_text(text, encoding="utf-8")
    for path in FOLDER.glob("*.md"):
        if path not in wanted:
            path.unlink()
    print(f"{len(outdated)} of {len(wanted)} pages written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
