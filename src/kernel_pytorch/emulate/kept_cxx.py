"""The `c++` of an extension's build on an emulated GPU: this machine's own, which is not asked twice for one object.

`python -m kernel_pytorch.emulate.kept_cxx COMPILER WORDS...` does what the compiler does. The stood-in ROCm starts it
for sources that are compiled against torch's headers: those take 20 s each, and are the same for every GPU.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.emulate.host_compiler import host_identity
from kernel_pytorch.emulate.kept_objects import Compilation, KeptObjects, files_read

_SOURCES = (".cpp", ".cc", ".cxx")


def run(compiler: str, words: Sequence[str], kept: KeptObjects) -> int:
    """Compile, or give back what the compiler made of the same files. The exit status is the compiler's."""
    found = _one_object(words)
    if found is None:
        return subprocess.run([compiler, *words], check=False).returncode
    source, output, dependencies = found
    compilation = Compilation(_identity(compiler), tuple(words), source)
    made = kept.get(compilation)
    if made is not None:
        output.write_bytes(made[0])
        if dependencies is not None:
            dependencies.write_bytes(made[1])
        return 0
    with tempfile.TemporaryDirectory(prefix="kpt-cxx-") as scratch:
        listed = dependencies or Path(scratch) / "read.d"
        asked = [] if dependencies else ["-MMD", "-MF", str(listed)]
        status = subprocess.run([compiler, *words, *asked], check=False).returncode
        if status == 0:
            text = listed.read_bytes()
            kept.put(compilation, files_read(text.decode(errors="surrogateescape")), (output.read_bytes(), text))
    return status


def _one_object(words: Sequence[str]) -> tuple[Path, Path, Path | None] | None:
    """Source, object and, where it is asked for, dependency file of a call that compiles one source."""
    sources = [Path(word) for word in words if not word.startswith("-") and word.endswith(_SOURCES)]
    named = {word: Path(value) for word, value in pairwise(words) if word in ("-o", "-MF")}
    lists = any(word in ("-MMD", "-MD") for word in words)
    others = any(word.startswith("-M") and word not in ("-MMD", "-MD", "-MF") for word in words)
    if "-c" not in words or "-o" not in named or others or lists != ("-MF" in named):
        return None
    if len(sources) != 1 or not sources[0].is_file():
        return None
    return sources[0], named["-o"], named.get("-MF")


def _identity(compiler: str) -> str:
    path = Path(compiler).resolve()
    found = path.stat()
    chosen = (f"{name}={os.environ.get(name, '')}" for name in ("CPATH", "CPLUS_INCLUDE_PATH", "LC_ALL"))
    return f"{path} {found.st_size} {found.st_mtime_ns} {host_identity()} {' '.join(chosen)}"


if __name__ == "__main__":
    with ended_by_signals():
        sys.exit(run(sys.argv[1], sys.argv[2:], KeptObjects()))
