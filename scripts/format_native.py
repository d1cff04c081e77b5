"""Formats our C, C++ and HIP files with clang-format; with --check it changes nothing and fails where it would."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from module_sizes import NATIVE_SUFFIXES, ROOT, SOURCE, files_in

# Text that `kpt hipify` writes into users' files: the rules' fixtures hold its bytes.
LEFT_ALONE = SOURCE / "port" / "tables"
CLANG_FORMAT = Path(sys.executable).with_name("clang-format")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = ["--dry-run", "--Werror"] if parser.parse_args(arguments).check else ["-i"]
    found = [*files_in(SOURCE, NATIVE_SUFFIXES), *files_in(ROOT / "examples", NATIVE_SUFFIXES)]
    files = [path for path in found if LEFT_ALONE not in path.parents]
    parts = os.cpu_count() or 1

    def run(part: list[Path]) -> int:
        return subprocess.run([CLANG_FORMAT, *options, *part], cwd=ROOT, check=False).returncode

    with ThreadPoolExecutor(parts) as pool:
        worst = max(pool.map(run, [files[start::parts] for start in range(parts)]))
    if worst:
        print("to format them: .venv/bin/python scripts/format_native.py", file=sys.stderr)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
