"""A command in a document or a notebook that installs or starts CUDA

What: Code blocks of Markdown and reStructuredText files, commands in the running text of Markdown that name a CUDA
    build, and `!` and `%` lines of notebooks: pip or conda with an index, a tag or a package of CUDA builds, torch or
    Triton from the package index, `pip install -e .` or `uv sync` of a project that asks for torch, or a container
    with NVIDIA's devices.
Why: A reader on an AMD machine types the command. It replaces the ROCm torch, fails, or gets no GPU.
Fix: Add the ROCm command beside it (`kpt deps` gives the list to install). kpt leaves a document alone that already
    mentions ROCm. It reports each kind of command once per file.
Source: bmaltais/kohya_ss#2228 and invoke-ai/InvokeAI#7146 (a CUDA torch replaces the ROCm one);
    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html (the flags for AMD devices).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.deploy.commands import cuda_in_command, joined
from kernel_pytorch.port.deploy.install_steps import InstallPlan
from kernel_pytorch.port.python.notebook import notebook_cells, shell_lines

CODE = "KP172"
DOCUMENTS = (".md", ".rst", ".ipynb")
_HISTORY = re.compile(r"^(?:change(?:s|log)|history|news|release)", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(```+|~~~+)")
# In running text `pip install torch` is a manner of speaking; with CUDA's index or tag it is meant to be typed.
_INLINE = re.compile(r"(?<!`)`((?:pip3?|conda|mamba|uv|python3? -m pip)\s[^`\n]*\bcu\d{2,3}\b[^`\n]*)`(?!`)")


def document_findings(path: str, text: str, plan: InstallPlan) -> Iterator[Finding]:
    """The commands of a document that only fit NVIDIA."""
    pure = PurePosixPath(path)
    if pure.suffix not in DOCUMENTS or _HISTORY.match(pure.name) or re.search(r"\brocm\b", text, re.IGNORECASE):
        return
    reported: set[str] = set()
    for number, line in joined(_lines(pure.suffix, text)):
        for message in cuda_in_command(line, plan):
            if message not in reported:
                reported.add(message)
                yield Finding(CODE, path, number, 1, message, Safety.MANUAL)


def _lines(suffix: str, text: str) -> Iterable[tuple[int, str]]:
    """Lines that are typed."""
    if suffix == ".ipynb":
        cells = notebook_cells(text.encode("utf-8", "surrogateescape")) or []
        return [(line.number, line.text) for line in shell_lines(cells)]
    return _fenced(text) if suffix == ".md" else _indented(text)


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is not None and (not inside or fence[1].startswith(inside)):
            inside = "" if inside else fence[1]
        elif inside:
            yield number, line
        else:
            yield from ((number, command) for command in _INLINE.findall(line))


def _indented(text: str) -> Iterator[tuple[int, str]]:
    yield from ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.startswith((" ", "\t")))
