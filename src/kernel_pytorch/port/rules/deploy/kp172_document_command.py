"""A command in a document or a notebook that installs or starts CUDA

What: Code blocks of Markdown and reStructuredText files, and `!` and `%` lines of notebooks: pip or conda with an
    index, a tag or a package of CUDA builds, torch or Triton from the package index, or a container with NVIDIA's
    devices.
Why: A reader on an AMD machine types the command. It replaces the ROCm torch, fails, or gets no GPU.
Fix: A person adds the ROCm command beside it (`kpt deps` gives the list to install). kpt leaves a document alone that
    already mentions ROCm. It reports each kind of command once per file.
Source: bmaltais/kohya_ss#2228 and invoke-ai/InvokeAI#7146 (a CUDA torch replaces the ROCm one);
    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html (the flags for AMD devices).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.deps.packages import classify, normalize
from kernel_pytorch.port.python.notebook import notebook_cells, shell_lines

CODE = "KP172"
DOCUMENTS = (".md", ".rst", ".ipynb")
_INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/|test/)?(cu\d{2,3})\b|\+(cu\d{2,3})\b")
_PIP = re.compile(r"\b(?:pip3?|uv\s+pip)\s+install\s+(.*)$")
_CONDA = re.compile(r"\b(?:conda|mamba|micromamba)\s+install\b.*?(pytorch-cuda|cudatoolkit|cuda-toolkit|-c\s+nvidia)\b")
_DOCKER = re.compile(r"\b(?:docker|podman)\s+run\b.*(--gpus\b|--runtime[= ]nvidia)|\b(nvidia-docker)\b")
_NAME = re.compile(r"[A-Za-z][\w.-]*")
_HISTORY = re.compile(r"^(?:change(?:s|log)|history|news|release)", re.IGNORECASE)
_FENCE = re.compile(r"^\s*(```+|~~~+)")


def document_findings(path: str, text: str, own: frozenset[str] = frozenset()) -> Iterator[Finding]:
    """The commands of a document that only fit NVIDIA. `own` is what the project itself is called on an index."""
    pure = PurePosixPath(path)
    if pure.suffix not in DOCUMENTS or _HISTORY.match(pure.name) or re.search(r"\brocm\b", text, re.IGNORECASE):
        return
    told: set[str] = set()
    for number, line in _commands(pure.suffix, text):
        for message in _said(line, own):
            if message not in told:
                told.add(message)
                yield Finding(CODE, path, number, 1, message, Safety.MANUAL)


def _commands(suffix: str, text: str) -> Iterator[tuple[int, str]]:
    """Lines that are typed, a line that ends in a backslash joined with the next."""
    lines: Iterable[tuple[int, str]]
    if suffix == ".ipynb":
        cells = notebook_cells(text.encode("utf-8", "surrogateescape")) or []
        lines = [(line.number, line.text) for line in shell_lines(cells)]
    else:
        lines = _fenced(text) if suffix == ".md" else _indented(text)
    start, joined = 0, ""
    for number, line in lines:
        start = start if joined else number
        joined += line.rstrip().removesuffix("\\") + " "
        if not line.rstrip().endswith("\\"):
            yield start, joined.strip()
            joined = ""
    if joined:
        yield start, joined.strip()


def _fenced(text: str) -> Iterator[tuple[int, str]]:
    inside = ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is not None and (not inside or fence[1].startswith(inside)):
            inside = "" if inside else fence[1]
        elif inside:
            yield number, line


def _indented(text: str) -> Iterator[tuple[int, str]]:
    yield from ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.startswith((" ", "\t")))


def _said(line: str, own: frozenset[str]) -> Iterator[str]:
    if line.lstrip().startswith("#"):
        return
    index = _INDEX.search(line)
    if index is not None and re.search(r"\b(?:pip3?|uv|poetry|pdm)\b", line):
        yield f"the command installs CUDA builds ({index[1] or index[2]})"
        return
    conda = _CONDA.search(line)
    if conda is not None:
        yield f"the command takes CUDA from conda ({' '.join(conda[1].split())}), which has no ROCm torch"
    docker = _DOCKER.search(line)
    if docker is not None:
        yield f"{docker[1] or docker[2]} asks for NVIDIA's devices: --device /dev/kfd --device /dev/dri on AMD"
    pip = _PIP.search(line)
    for word in pip[1].split() if pip is not None else ():
        name = _NAME.match(word.strip("\"'"))
        if word.startswith("-") or name is None or "/" in word or normalize(name[0]) in own:
            continue
        row = classify(normalize(name[0]), (), "pip")
        if row is not None and row.action == "protected":
            yield f"the command takes {name[0]} from the package index, where it is no ROCm build"
        elif row is not None and (row.action in ("drop", "person") or _another(row.replacement, name[0])):
            yield f"the command installs {name[0]}: {row.reason}"


def _another(replacement: str, name: str) -> bool:
    """Whether a package has a ROCm counterpart of another name."""
    plain = re.split(r"[<>=!~\[]", replacement, maxsplit=1)[0]
    return bool(plain) and normalize(plain) != normalize(name)
