"""Write the stub of a new rule and its fixture folder.

    python scripts/new_rule.py KP240 launch-bounds-min-blocks --language cuda

The stub does not pass tests/port/rules/test_rules.py: its docstring has to be written first.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "src" / "kernel_pytorch" / "port" / "rules"
FIXTURES = ROOT / "tests" / "port" / "rules"
# The folder of a rule is the kind of file it reads.
FOLDERS = {"cuda": "cuda", "c++": "cuda", "python": "python", "cmake": "build", "make": "build"}
EXTENSIONS = {"cuda": ".cu", "c++": ".cpp", "python": ".py", "cmake": ".cmake", "make": ".mk"}

STUB = '''"""{title}

What:
Why:
Fix:
Source:
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.rules import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.unit import Unit
    from kernel_pytorch.port.source import SourceFile

RULE = Rule("{code}", "{slug}", languages=("{language}",), safety=Safety.MANUAL)


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    """Each place the rule concerns."""
    raise NotImplementedError("{code} is a stub")
'''


def main(argv: list[str] | None = None) -> int:
    """Write the files; refuse a code that is taken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("code", help="KPnnn; FAMILIES in core/pages.py says what each hundred is about")
    parser.add_argument("slug", help="the pattern found, never the remedy: words-with-hyphens")
    parser.add_argument("--language", default="cuda", choices=sorted(EXTENSIONS))
    args = parser.parse_args(argv)
    if not re.fullmatch(r"KP\d{3}", args.code) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", args.slug):
        parser.error(f"{args.code} {args.slug}: a code is KPnnn, a slug is words-with-hyphens")
    taken = sorted(RULES.rglob(f"{args.code.lower()}_*.py"))
    if taken:
        parser.error(f"{args.code} is taken by {taken[0].name}")
    stem = f"{args.code.lower()}_{args.slug.replace('-', '_')}"
    module = RULES / FOLDERS[args.language] / f"{stem}.py"
    module.write_text(
        STUB.format(title=args.slug.replace("-", " "), code=args.code, slug=args.slug, language=args.language)
    )
    folder = FIXTURES / stem
    folder.mkdir()
    for name in ("in", "ok"):
        (folder / f"{name}{EXTENSIONS[args.language]}").write_text("")
    print(f"{module.relative_to(ROOT)}\n{folder.relative_to(ROOT)}: write in and ok by hand, then `make fixtures`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
