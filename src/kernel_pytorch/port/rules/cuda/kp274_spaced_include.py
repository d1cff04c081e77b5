"""#include lines that torch's renaming overlooks

What: `#    include "header.h"`, `# include`, `#include"header.h"`: any spelling but `#include "` and `#include <`, in
    a project that includes torch, for torch's own CUDA headers and for headers of the project.
Why: torch's build copies such a header to a file of another name, and writes that name into lines that begin `#include
    "` or `#include <`, with one space. Other lines still lead to the CUDA header: to names that a ROCm build does not
    have, or to the same definitions twice.
Fix: On ROCm the line is written as torch expects it. A formatter that indents directives (clang-format's
    IndentPPDirectives) would undo that; keep it off these lines.
Source: torch/utils/hipify/hipify_python.py in pytorch/pytorch (RE_QUOTE_HEADER, RE_ANGLE_HEADER)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.source import CxxFile, read_once
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.unit import Unit

RULE = Rule("KP274", "spaced-include", languages=("cuda",), safety=Safety.SAFE, triggers=(b"include",))

_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*(?=[\"<]([^\">\n]+)[\">])", re.MULTILINE)
_TORCH = re.compile(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch|ATen|c10)/", re.MULTILINE)
# Those of c10 are in torch's list of names, which are found anywhere in a line.
_OF_TORCH_ON_CUDA = re.compile(r"ATen/(?:native/)?(?:\w+/)?cuda/|THC/")


def check_in_unit(src: CxxFile, unit: Unit) -> Iterator[Finding]:
    """Each include of a header that torch renames, where torch does not see the line."""
    if src.data.count(b"include") == src.data.count(b"#include ") and b"#include  " not in src.data:
        return  # every line is as torch expects it: no need to look at them one by one
    lines = [one for one in _INCLUDE.finditer(src.data) if not one.group().lstrip().startswith(b"#include ")]
    lines += [one for one in _INCLUDE.finditer(src.data) if one.group().lstrip().startswith(b"#include  ")]
    if not lines or not any(map(_is_of_torch, unit.files)):
        return
    starts = {src.code[index].start for index in src.split.directives}
    for one in sorted(lines, key=lambda found: found.start()):
        mark = one.start() + one.group().index(b"#")
        header = one.group(1).decode("utf-8", "surrogateescape")
        if mark not in starts or not (_OF_TORCH_ON_CUDA.match(header) or _is_renamed(src, unit, header)):
            continue
        opening = chr(src.data[one.end()])
        message = f"torch's renaming looks for `#include {opening}` and overlooks this line: {header} stays CUDA's"
        edit = Edit(Span(mark, one.end()), b"#include ")
        yield RULE.finding(src, Span(mark, one.end()), message, [edit])


@read_once
def _is_of_torch(file: CxxFile) -> bool:
    return _TORCH.search(file.data) is not None


def _is_renamed(src: CxxFile, unit: Unit, header: str) -> bool:
    """Whether the header is the project's. One that torch leaves as it is may include, or be included beside, one that
    it renames: then both copies are read.
    """
    beside = (PurePosixPath(src.path).parent / header).as_posix()
    return unit.file(beside) is not None or any(_ends_with(one.path, header) for one in unit.files)


def _ends_with(path: str, header: str) -> bool:
    return path == header or path.endswith(f"/{header}")
