"""A Makefile that builds with nvcc

What: A Makefile that names nvcc.
Why: ROCm has no nvcc, and hipcc does not know most of its flags.
Fix: `kpt port` writes Makefile.hip beside it, if it can derive one: hipcc, --offload-arch=$(HIP_ARCH), host flags
    without -Xcompiler, ROCm's libraries, and -DUSE_ROCM (with `--layout copy` .hip sources instead). Build with
    `make -f Makefile.hip HIP_ARCH=gfx942`. If other compilers get the same flags, they also get ROCm's place
    (ROCM_PATH). A flag or library without counterpart may stand in a condition (`ifeq ($(CUDNN), 1)`): make then ends
    with a message where that condition holds. If kpt can derive nothing, it names the obstacle: an included file,
    another makefile that this one runs, a flag or library without counterpart.
Source: https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md; port/tables/nvcc_flags.csv has the reason for
    each flag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Finding, Safety, Span
from kernel_pytorch.port.build_files.makefile import derive_makefile, uses_nvcc
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.source import SourceFile

RULE = Rule("KP410", "makefile-nvcc", languages=("make",), safety=Safety.SAFE, triggers=(b"nvcc",))


def check(src: SourceFile) -> Iterator[Finding]:
    """One finding per Makefile with nvcc: whether a twin can be derived, and if not why."""
    text = src.data.decode("utf-8", "surrogateescape")
    if not uses_nvcc(text):
        return
    name = PurePosixPath(src.path).name
    if src.project_root is not None and (src.project_root / f"{src.path}.hip").is_file():
        return  # the twin is there
    derived = derive_makefile(text, name)
    found = re.search(rb"^[^#\n]*?(?<![\w-])nvcc(?![\w-])", src.data, re.MULTILINE)
    place = found.end() - 4 if found else 0
    if derived.text is not None:
        message = f"builds with nvcc: `kpt port` writes {name}.hip for hipcc"
        if derived.stops:
            message += f"; where the Makefile's conditions ask for it, that ends with: {'; '.join(derived.stops)}"
    else:
        message = f"builds with nvcc, and {name}.hip cannot be derived: {'; '.join(derived.obstacles)}"
    safety = Safety.MANUAL if derived.text is None else Safety.SAFE  # the port writes a new file; this one has no edit
    yield RULE.finding(src, Span(place, place + 4), message, safety=safety)
