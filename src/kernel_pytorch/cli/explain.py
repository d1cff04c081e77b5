"""Prints the page of a code: what is found, why it matters, what to do, who says so."""

from __future__ import annotations

import argparse
import json

from kernel_pytorch.core.errors import UsageError

SUMMARY = "a rule's page: kpt explain KP103"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("codes", nargs="*", metavar="CODE", help="such as KP103; none lists all codes")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    from kernel_pytorch.doctor.pages import all_pages, page

    if not args.codes:
        listing = all_pages()
        if args.json:
            print(json.dumps({code: item.name for code, item in listing.items()}, indent=2))
        else:
            print("\n".join(f"{code}  {item.name:<28}{item.title}" for code, item in listing.items()))
        return 0
    pages = []
    for code in args.codes:
        found = page(code)
        if found is None:
            raise UsageError(f"no page for {code!r}; {_nearest(code, tuple(all_pages()))}")
        pages.append(found)
    if args.json:
        print(json.dumps([{"code": p.code, "name": p.name, "title": p.title, **p.sections} for p in pages], indent=2))
    else:
        print("\n".join(found.text() for found in pages), end="")
    return 0


def _nearest(code: str, known: tuple[str, ...]) -> str:
    import difflib

    near = difflib.get_close_matches(code.upper(), known, n=3)
    return f"did you mean {' or '.join(near)}?" if near else "`kpt explain` lists all codes"
