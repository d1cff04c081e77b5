from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.port.build_files.setup_macros import declared_macros

SETUP = """
import os
from setuptools import setup
define_macros = [("VERSION", "3"), (NAME, None)]
other_macros = []
if os.name == "nt":
    define_macros += [("ON_WINDOWS", None)]
else:
    define_macros.append(("WITH_ZLIB", None))
if torch.cuda.is_available() or os.getenv("FORCE_CUDA"):
    define_macros += [("WITH_CUDA", None)]
other_macros.extend([("EXTRA", "1"), ("SIZE", size)])
flags = [("NOT_A_MACRO", None)]
setup(ext_modules=[CUDAExtension("x", ["x.cpp"], define_macros=[*define_macros, ("LAST", None)])])
"""


def test_however_the_list_is_put_together(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text(SETUP)
    assert declared_macros(tmp_path / "setup.py") == ("VERSION=3", "WITH_ZLIB", "WITH_CUDA", "EXTRA=1", "LAST")


@pytest.mark.parametrize("text", [None, "def broken(:\n", "print(1)\n"])
def test_none(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "setup.py").write_text(text)
    assert declared_macros(tmp_path / "setup.py") == ()
