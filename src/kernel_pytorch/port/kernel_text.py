"""What the C++ rules find in CUDA source that stands in a string of Python or C++, or in a notebook's cell.

Such text is read, never rewritten: what a program does with a string before it is compiled is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.compiled_on_rocm import compiled_findings
from kernel_pytorch.port.cxx.kernel_strings import cxx_kernel_strings
from kernel_pytorch.port.cxx.source import CxxFile
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.hipify.file import HipifiedFile, HipifyOptions, hipify_or_say
from kernel_pytorch.port.python.kernel_strings import kernel_strings
from kernel_pytorch.port.python.module import PythonModule

_BY_TORCH = b"load_inline"  # torch's build renames CUDA's names in its sources
_NAMES_ARE_SAID = frozenset({"KP514"})  # KP254 says which headers such a string names
_SHOWN = 60  # characters of an edit that a message still has room for


def kernel_string_findings(module: PythonModule, codes: Iterable[str]) -> Iterator[Finding]:
    """What is in the way in the kernels that a Python file holds in strings, at the lines of that file."""
    wanted = frozenset(codes)
    by_torch = _BY_TORCH in module.src.data
    for one in kernel_strings(module):
        yield from kernel_text_findings(module.src.path, one.text, one.lines, wanted, by_torch)


def cxx_string_findings(src: CxxFile, codes: Iterable[str]) -> Iterator[Finding]:
    """The same for the strings of a C++ file that a ROCm build compiles."""
    wanted = frozenset(codes) - _NAMES_ARE_SAID
    for one, start in cxx_kernel_strings(src):
        line, col = src.line_col(start)
        place = Finding("KP001", src.path, line, col, "", Safety.MANUAL)
        if list(compiled_findings(src, [place])):
            yield from kernel_text_findings(src.path, one.text, one.lines, wanted, False)


def kernel_text_findings(
    path: str, text: str, lines: tuple[int, ...], codes: frozenset[str], by_torch: bool, where: str = "a string"
) -> Iterator[Finding]:
    """What is in the way in CUDA source. `lines` has the file's line for each line of the text."""
    src = CxxFile(path, text.encode(), "cuda")
    layout = "torch-extension" if by_torch else "copy"
    done = hipify_or_say(src, unit_of(src), HipifyOptions(layout, rules=tuple(sorted(codes))))
    for finding in done.findings:
        line = lines[min(finding.line, len(lines)) - 1]
        message = f"{finding.message}{_proposal(finding)} (in {where}, which kpt does not rewrite)"
        yield Finding(finding.code, path, line, finding.col, message, Safety.MANUAL)
    if not by_torch and "KP514" in codes:
        yield from _other_names(path, lines[0], done, where)


def _proposal(finding: Finding) -> str:
    """The text that a port would write, where it is short enough to be said and calls no function of ours."""
    if len(finding.edits) != 1:
        return ""
    text = finding.edits[0].text.decode("utf-8", "replace").strip()
    is_short = 0 < len(text) <= _SHOWN and "\n" not in text
    return f": write `{text}`" if is_short and "kpt_" not in text else ""


def _other_names(path: str, line: int, done: HipifiedFile, where: str) -> Iterator[Finding]:
    """Names and headers that HIP calls otherwise: nothing translates them in such a text."""
    pairs = [(name, there) for name, there in done.headers if there and there != name]
    pairs += [(name.cuda, name.hip) for name in done.names if name.hip and name.hip != name.cuda]
    if pairs:
        shown = ", ".join(f"{name} is {there}" for name, there in sorted(set(pairs))[:4])
        message = f"CUDA source in {where} with names that HIP has not: {shown}"
        yield Finding("KP514", path, line, 1, message, Safety.MANUAL)
