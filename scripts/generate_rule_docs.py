"""Writes docs/rules/*.md from the pages in the source. `--check` only tells whether they are current.

Run by `make docs`; the test tests/doctor/test_pages.py holds that the committed files are current.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from kernel_pytorch.core.pages import all_pages  # noqa: E402

FOLDER = ROOT / "docs" / "rules"

SOURCES = """\
Each page ends with its sources. "Seed 000" to "seed 004" are the five documents this project began with (000 porting
to ROCm, 001 optimising on AMD GPUs, 002 the ROCm platform, 003 an AMD back end's guide, 004 torch.compile and graphs
on ROCm), and the "catalogue" is our list of 192 things that break; they are notes, not published. What they say was
checked where that could be done, and a page says so where it did not hold. `kpt explain CODE` shows a page in the
terminal."""


def expected() -> dict[str, str]:
    """File name to content, the index included."""
    pages = all_pages()
    files = {f"{code}.md": page.markdown() for code, page in pages.items()}
    rows = [f"| [{code}]({code}.md) | {page.name} | {page.title} |" for code, page in pages.items()]
    files["README.md"] = "\n".join(["# Codes", "", SOURCES, "", "| code | name | what |", "|---|---|---|", *rows, ""])
    return files


def stale() -> list[str]:
    """Files that are missing, outdated or no longer wanted."""
    wanted = expected()
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    return sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))


def main(argv: list[str]) -> int:
    outdated = stale()
    if "--check" in argv:
        if outdated:
            print(f"out of date: {', '.join(outdated)}; run python scripts/generate_rule_docs.py", file=sys.stderr)
        return 1 if outdated else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = expected()
    for name in outdated:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    print(f"{len(outdated)} of {len(wanted)} pages written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
