"""Rewrite `out` and findings.txt of every rule's fixture folder (`make fixtures`); read the diff before you keep it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(argv: list[str] | None = None) -> int:
    """Write the files that changed and name them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("codes", nargs="*", help="rules to regenerate, such as KP230 (default: all)")
    args = parser.parse_args(argv)
    sys.path.insert(0, str(ROOT))
    from tests.port.rules import fixture_files

    for fixture in fixture_files.fixtures():
        if args.codes and fixture.code not in args.codes:
            continue
        for path, data in fixture_files.generated(fixture).items():
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
                print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
