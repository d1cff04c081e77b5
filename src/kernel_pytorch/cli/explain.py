"""Print the page of a code: what is found, why it matters, what to do, who says so.

    kpt explain KP103 KP601    these pages
    kpt explain                every code with its title

Rules of your own (U100 to U999) are read from the files that `[tool.kernel_pytorch]` of the project or `--rules` names.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.core.pages import Page

SUMMARY = "what the code of a finding means: kpt explain KP103"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("codes", nargs="*", metavar="CODE", help="such as KP103; none lists all codes")
    parser.add_argument(
        "--project",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the project whose own rules are meant (default: here)",
    )
    parser.add_argument(
        "--rules", type=Path, action="append", metavar="FILE", help="rules of your own in YAML (repeatable)"
    )
    parser.add_argument("--json", action="store_true", help="the pages as JSON on stdout")


def run(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.pages import all_pages

    # The project's files are read only if they can matter: a mistake in them must not hide a page of ours.
    ours = all_pages()
    wanted = [code.strip().upper() for code in args.codes]
    needs_own = args.rules is not None or not wanted or any(code not in ours for code in wanted)
    listing = {**ours, **(_own_pages(args) if needs_own else {})}
    if not wanted:
        if args.json:
            print(json.dumps({code: item.name for code, item in listing.items()}, indent=2))
        else:
            print("\n".join(f"{code}  {item.name:<28}{item.title}" for code, item in listing.items()))
        return 0
    for code in wanted:
        if code not in listing:
            raise UsageError(f"no page for {code!r}; {_nearest(code, tuple(listing))}")
    pages = [listing[code] for code in wanted]
    if args.json:
        print(json.dumps([{"code": p.code, "name": p.name, "title": p.title, **p.sections} for p in pages], indent=2))
    else:
        print("\n".join(found.text() for found in pages), end="")
    return 0


def _own_pages(args: argparse.Namespace) -> dict[str, Page]:
    from kernel_pytorch.port.settings import read_settings
    from kernel_pytorch.port.user_rules import load_user_rules

    files = args.rules if args.rules is not None else read_settings(args.project).rules
    load_user_rules(files)  # a code that two files give is an error here as it is in a scan
    return {rule.code: rule.page(str(file)) for file in files for rule in load_user_rules([file])}


def _nearest(code: str, known: tuple[str, ...]) -> str:
    import difflib

    if code.startswith("U"):
        return "rules of your own come from [tool.kernel_pytorch] of the project (--project DIR) or --rules FILE"
    near = difflib.get_close_matches(code, known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else "`kpt explain` lists all codes"
