"""Commands that people and scripts type: which of them install or start CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kernel_pytorch.port.deploy.install_steps import InstallPlan, StageInstalls
from kernel_pytorch.port.deps.packages import classify, normalize

DEVICES = "asks for NVIDIA's devices"
_INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/|test/)?(cu\d{2,3})\b|\+(cu\d{2,3})\b")
_PIP = re.compile(r"\b(?:pip3?|uv\s+pip)\s+install\s+(.*)$")
_CONDA = re.compile(r"\b(?:conda|mamba|micromamba)\s+install\b.*?(pytorch-cuda|cudatoolkit|cuda-toolkit|-c\s+nvidia)\b")
_DOCKER = re.compile(r"\b(?:docker|podman)\s+run\b.*(--gpus\b|--runtime[= ]nvidia)|\b(nvidia-docker)\b")
_LOCKED = re.compile(r"(?:^|[;&]\s*)(?:poetry|pdm|pipenv)\s+(?:install|sync)\b")
_NAME = re.compile(r"[A-Za-z][\w.-]*")


def joined(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Numbered lines, one that ends in a backslash joined with the next."""
    start, text = 0, ""
    for number, line in lines:
        start = start if text else number
        text += line.rstrip().removesuffix("\\") + " "
        if not line.rstrip().endswith("\\"):
            yield start, text.strip()
            text = ""
    if text:
        yield start, text.strip()


def cuda_in_command(line: str, plan: InstallPlan) -> Iterator[str]:
    """What a command does that only fits NVIDIA. `plan` knows the project's own names and dependencies."""
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
        yield f"{docker[1] or docker[2]} {DEVICES}: --device /dev/kfd --device /dev/dri on AMD"
    pip = _PIP.search(line)
    named = list(_packages(pip[1].split(), plan.names)) if pip is not None else []
    yield from named
    if not named and _installs_the_project(line, plan):
        yield (
            "the command installs what the project pins, and may put CUDA's torch over ROCm's: install the list of"
            " `kpt deps . --write`, then the project with --no-deps"
        )


def _packages(words: list[str], own: frozenset[str]) -> Iterator[str]:
    for word in words:
        name = _NAME.match(word.strip("\"'"))
        if word.startswith("-") or name is None or "/" in word or normalize(name[0]) in own:
            continue
        row = classify(normalize(name[0]), (), "pip")
        if row is not None and row.action == "protected":
            yield f"the command takes {name[0]} from the package index, where it is no ROCm build"
        elif row is not None and (row.action in ("drop", "person") or _another(row.replacement, name[0])):
            yield f"the command installs {name[0]}: {row.reason}"


def _installs_the_project(line: str, plan: InstallPlan) -> bool:
    """`pip install -e .`, a requirements file or a lock file of a project that asks for torch."""
    if "--no-deps" in line or not re.search(r"\b(?:install|sync)\b", line):
        return False
    if _LOCKED.search(line):
        return "." in plan.folders()
    # The project by its name on an index is a finished package, not its source.
    return StageInstalls(replace(plan, names=frozenset()), has_torch=True).rewrite(line) != line


def _another(replacement: str, name: str) -> bool:
    """Whether a package has a ROCm counterpart of another name."""
    plain = re.split(r"[<>=!~\[]", replacement, maxsplit=1)[0]
    return bool(plain) and normalize(plain) != normalize(name)
