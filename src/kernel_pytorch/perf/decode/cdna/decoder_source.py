"""The text of the decoder kernel for one shape: its numbers, then the files of `native/` in order."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from kernel_pytorch.perf.decode.cdna.decoder_shape import DecoderShape

NAME = "decoder"
FILES = ("words.h", "products.h", "attention.h", "decoder.hip")
FOLDER = Path(__file__).parent / "native"


@lru_cache(maxsize=1)
def _files() -> str:
    return "".join(f'#line 1 "{name}"\n{(FOLDER / name).read_text(encoding="utf-8")}' for name in FILES)


def decoder_source(shape: DecoderShape) -> str:
    """HIP source with one kernel, `decoder`."""
    return f"#include <hip/hip_runtime.h>\n{shape.constants()}{_files()}"
