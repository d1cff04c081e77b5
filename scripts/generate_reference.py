"""Writes the pages that come from the code: docs/api.md, commands.md, hardware-table.md. `--check` only tells.

Run by `make docs`; tests/docs/test_site.py holds that the committed files are current.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "scripts")]

import reference_api  # noqa: E402
import reference_commands  # noqa: E402
import reference_hardware  # noqa: E402


def expected() -> dict[str, str]:
    """File name to content."""
    pages = {path.name for path in DOCS.glob("*.md")}
    return {
        "api.md": reference_api.page(),
        "commands.md": reference_commands.page(pages),
        "hardware-table.md": reference_hardware.page(),
    }


def stale() -> list[str]:
    """Pages that are missing or outdated."""
    return [
        name
        for name, text in expected().items()
        if not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != text
    ]


def main(argv: list[str]) -> int:
    outdated = stale()
    if "--check" in argv:
        if outdated:
            print(f"out of date: {', '.join(outdated)}; run `make docs`", file=sys.stderr)
        return 1 if outdated else 0
    for name, text in expected().items():
        (DOCS / name).write_text(text, encoding="utf-8")
    print(f"{len(outdated)} of 3 reference pages written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
