"""Prints the largest files and fails when one is past its limit: past it, a file does more than one thing."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "kernel_pytorch"
# The last is a C++ header that must have the standard one's name.
NATIVE_SUFFIXES = (".h", ".c", ".cpp", ".hip", "include/wrapper/complex")
LIMIT = 400
# Printed by scripts/build_library_headers.py: nobody reads them as a whole, and they are formatted as they are made.
GENERATED = SOURCE / "toolchain" / "include" / "libraries"
# A raised limit is a reviewed line with its reason.
RAISED: dict[str, int] = {
    "port/templates/rocm_attention.py": 580,  # copied into users' packages as one self-contained file
}


def files_in(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The files of a folder that a person wrote."""
    found = (path for path in folder.rglob("*") if path.as_posix().endswith(suffixes))
    return sorted(path for path in found if GENERATED not in path.parents)


def main() -> int:
    sizes = {
        path.relative_to(SOURCE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in files_in(SOURCE, (".py", *NATIVE_SUFFIXES))
    }
    for name, lines in sorted(sizes.items(), key=lambda item: -item[1])[:5]:
        print(f"{lines:5d}  {name}")
    too_long = {name: lines for name, lines in sizes.items() if lines > RAISED.get(name, LIMIT)}
    for name, lines in too_long.items():
        print(f"{name}: {lines} lines, the limit is {RAISED.get(name, LIMIT)}: split it", file=sys.stderr)
    return 1 if too_long else 0


if __name__ == "__main__":
    sys.exit(main())
