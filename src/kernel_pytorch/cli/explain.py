"""Print the page of a code: what is found, why it matters, what to do, an example, who says so.

    kpt explain KP103 KP601    these pages
    kpt explain KP3            the codes of a family, one line each (also kp3xx, KP30)
    kpt explain                every code, one line each

Rules of your own (U100 to U999) are read from the files that `[tool.kernel_pytorch]` of the project or `--rules` names.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.core.pages import Page

SUMMARY = "what the code of a finding means: kpt explain KP103"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "codes", nargs="*", metavar="CODE", help="such as KP103, or a family such as KP3; none lists all codes"
    )
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
    from kernel_pytorch.core.pages import all_pages, family

    # The project's files are read only if they can matter: a mistake in them must not hide a page of ours.
    ours = all_pages()
    wanted = [code.strip().upper() for code in args.codes]
    needs_own = args.rules is not None or not wanted or any(code not in ours and not family(code) for code in wanted)
    listing = {**ours, **(_own_pages(args) if needs_own else {})}
    if not wanted:
        print(
            json.dumps({code: item.name for code, item in listing.items()}, indent=2) if args.json else _lines(listing)
        )
        return 0
    groups = [{code: listing[code]} if code in listing else family(code) for code in wanted]
    for given, code, group in zip(args.codes, wanted, groups, strict=True):
        if not group:
            raise UsageError(f"no page for {given!r}: {_nearest(code)}")
    if args.json:
        print(json.dumps([found.plain() for group in groups for found in group.values()], indent=2))
        return 0
    shown = [
        listing[code].text() if code in listing else _lines(group) + "\n"
        for code, group in zip(wanted, groups, strict=True)
    ]
    print("\n".join(shown), end="")
    return 0


def _lines(pages: Mapping[str, Page]) -> str:
    return "\n".join(f"{code}  {item.name:<28}{item.title}" for code, item in pages.items())


def _own_pages(args: argparse.Namespace) -> dict[str, Page]:
    from kernel_pytorch.port.settings import read_settings
    from kernel_pytorch.port.user_rules import load_user_rules

    files = args.rules if args.rules is not None else read_settings(args.project).rules
    load_user_rules(files)  # a code that two files give is an error here as it is in a scan
    return {rule.code: rule.page(str(file)) for file in files for rule in load_user_rules([file])}


def _nearest(code: str) -> str:
    """What there is in place of an unknown code: its family, or the families."""
    from kernel_pytorch.core.pages import FAMILIES, family

    if code.startswith("U"):
        return "rules of your own come from [tool.kernel_pytorch] of the project (--project DIR) or --rules FILE"
    about = FAMILIES.get(code[:3])
    if about is None:
        return f"codes begin with {', '.join(FAMILIES)}; `kpt explain` lists them all"
    prefix, codes = code[:3], tuple(family(code[:3]))
    return f"{prefix}xx ({about}) has {len(codes)} codes, {codes[0]} to {codes[-1]}; `kpt explain {prefix}` lists them"
