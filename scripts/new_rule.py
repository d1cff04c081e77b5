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
sys.path.insert(0, str(ROOT / "src"))

from kernel_pytorch.version import VERSION  # noqa: E402

RULES = ROOT / "src" / "kernel_pytorch" / "port" / "rules"
FIXTURES = ROOT / "tests" / "port" / "rules"
# The folder of a rule is the kind of file it reads.
FOLDERS = {"cuda": "cuda", "c++": "cuda", "python": "python", "cmake": "build", "make": "build"}
EXTENSIONS = {"cuda": ".cu", "c++": ".cpp", "python": ".py", "cmake": ".cmake", "make": ".mk"}

# What the check of a rule takes, and where that comes from.
KINDS = {
    "cuda": ("src: CxxFile", "from kernel_pytorch.port.cxx.source import CxxFile\n"),
    "c++": ("src: CxxFile", "from kernel_pytorch.port.cxx.source import CxxFile\n"),
    "python": ("module: PythonModule", "from kernel_pytorch.port.python.module import PythonModule\n"),
    "cmake": ("file: CMakeFile", "from kernel_pytorch.port.build_files.cmake import CMakeFile\n"),
    "make": ("src: SourceFile", ""),
}

STUB = '''"""{title}

What:
Why:
Fix:
Source:
Since: {version}
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
{imported}from kernel_pytorch.port.rule import Rule
{imported_after}
RULE = Rule("{code}", "{slug}", languages=("{language}",), safety=Safety.MANUAL)


def check({parameter}) -> Iterator[Finding]:
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
    parameter, imported = KINDS[args.language]
    names = {
        "version": VERSION,
        "title": args.slug.replace("-", " "),
        "code": args.code,
        "slug": args.slug,
        "language": args.language,
        "parameter": parameter,
        "imported": imported,
        "imported_after": "" if imported else "from kernel_pytorch.port.source import SourceFile\n",
    }
    module.write_text(STUB.format(**names))
    folder = FIXTURES / stem
    folder.mkdir()
    for name in ("in", "ok"):
        (folder / f"{name}{EXTENSIONS[args.language]}").write_text("")
    print(f"{module.relative_to(ROOT)}\n{folder.relative_to(ROOT)}: write in and ok by hand, then `make fixtures`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
