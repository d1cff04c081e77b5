"""Find the dependency files of a repository, and say what was passed over."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kernel_pytorch.port.cxx.includes import is_third_party, third_party_folder
from kernel_pytorch.port.settings import listing_of

_NOT_WORTH_A_WORD = frozenset({".git", "__pycache__", ".hg", ".svn"})
_REQUIREMENTS = re.compile(r"^(?P<before>[\w.-]*?)[-_.]?require?ments?(?P<after>[-_.][\w.-]*)?\.(txt|in|pip)$", re.I)
_CONDA = re.compile(r"^(?P<before>[\w.-]*?[-_.])?(conda[-_])?env(ironment)?s?(?P<after>[-_.][\w.-]*)?\.ya?ml$", re.I)
_OURS = re.compile(r"^(requirements-rocm[\w.-]*\.txt|constraints-rocm\.txt|environment-rocm\.ya?ml)$")
_MAIN_STEMS = frozenset({"", "base", "main", "core", "common", "default", "install", "runtime", "requirements", "prod"})


@dataclass(frozen=True)
class Found:
    """A dependency file: its place under the root, its format, its project folder and its group."""

    path: Path
    format: str
    project: Path
    group: str


def group_of(stem: str) -> str:
    """The group a file name stands for: `requirements-dev` is "dev", `requirements/base` is "" (always)."""
    name = re.sub(r"(?i)require?ments?", "", stem).strip("-_. ")
    name = re.sub(r"[-_.\s]+", "-", name).lower()
    return "" if name in _MAIN_STEMS else name


def find_files(root: Path) -> tuple[list[Found], list[str]]:
    """Dependency files under `root` in a stable order, and the folders and files passed over."""
    if root.is_file():
        found = identify(root)
        return ([found] if found else []), []
    listing = listing_of(root)
    skipped = {f"{one}/": None for one in listing.not_entered if PurePosixPath(one).name not in _NOT_WORTH_A_WORD}
    found_files: list[Found] = []
    for name in sorted(listing.names, key=lambda one: (PurePosixPath(one).parent.parts, one)):
        path = root / name
        if is_third_party(PurePosixPath(name)):
            skipped[f"{third_party_folder(PurePosixPath(name))}/"] = None
        elif _OURS.match(path.name):
            skipped[f"{name} (a ROCm list already)"] = None
        elif path.suffix == ".in" and path.with_suffix(".txt").exists() and _REQUIREMENTS.match(path.name):
            skipped[f"{name} (its compiled .txt is read)"] = None
        elif found := identify(path):
            found_files.append(found)
    return found_files, list(skipped)


def identify(path: Path) -> Found | None:
    """What kind of dependency file this is, by name; None if it is none."""
    name = path.name
    if name == "pyproject.toml":
        return Found(path, "pyproject", path.parent, "")
    if name == "setup.py":
        return Found(path, "setup.py", path.parent, "")
    if name == "setup.cfg":
        return Found(path, "setup.cfg", path.parent, "")
    if name == "Pipfile":
        return Found(path, "pipfile", path.parent, "")
    if _REQUIREMENTS.match(name):
        folder = path.parent
        inside = folder.name.lower() in {"requirements", "requirement", "reqs"}
        return Found(path, "requirements", folder.parent if inside else folder, group_of(path.stem))
    if path.parent.name.lower() in {"requirements", "reqs"} and path.suffix in {".txt", ".in"}:
        return Found(path, "requirements", path.parent.parent, group_of(path.stem))
    if _CONDA.match(name):
        stem = re.sub(r"(?i)(conda|env(ironment)?s?)", "", path.stem).strip("-_. ").lower()
        return Found(path, "conda", path.parent, "" if stem in _MAIN_STEMS else stem)
    return None
