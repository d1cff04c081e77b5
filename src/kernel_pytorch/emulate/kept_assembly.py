"""The compiler's text of a code object, kept beside its module: what is translated later needs no decoding.

It stands by itself because the process that compiles a source should not have to import the translator.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from kernel_pytorch.core.whole_file import write_whole


def kept_assembly(code_object: bytes, cache: Path) -> Path:
    """Where the text of a code object is, if it was kept."""
    return cache / f"{hashlib.sha256(code_object).hexdigest()}.s"


def keep_assembly(code_object: bytes, assembly: str, cache: Path) -> None:
    """Store the compiler's text of a code object."""
    cache.mkdir(parents=True, exist_ok=True)
    write_whole(kept_assembly(code_object, cache), assembly)
