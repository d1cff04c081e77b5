"""Find the dependency files of a repository, and say what was passed over."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.read_file import why_refused

SKIPPED_FOLDERS = frozenset(
    {
        *(".git", ".hg", ".svn", ".tox", ".nox", ".eggs", ".idea", ".vscode", "__pycache__", "node_modules"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", "build", "dist"),
        *(".venv", "venv", "env", ".env", "virtualenv", "site-packages"),
        *("third_party", "third-party", "thirdparty", "3rdparty", "vendor", "vendored", "external", "extern"),
    }
)
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
    found_files: list[Found] = []
    skipped: list[str] = []
    for folder, children, names in os.walk(root):
        here = Path(folder)
        kept = []
        for child in sorted(children):
            if child.lower() in SKIPPED_FOLDERS or child.endswith(".egg-info") or _is_venv(here / child):
                if child not in {".git", "__pycache__", ".hg", ".svn"}:
                    skipped.append((here / child).relative_to(root).as_posix() + "/")
            else:
                kept.append(child)
        children[:] = kept
        for name in sorted(names):
            path = here / name
            if _OURS.match(name):
                skipped.append(f"{path.relative_to(root).as_posix()} (a ROCm list already)")
                continue
            if name.endswith(".in") and path.with_suffix(".txt").exists() and _REQUIREMENTS.match(name):
                skipped.append(f"{path.relative_to(root).as_posix()} (its compiled .txt is read)")
                continue
            found = identify(path)
            if found and (reason := why_refused(path, root)):
                skipped.append(f"{path.relative_to(root).as_posix()} ({reason})")
            elif found:
                found_files.append(found)
    return found_files, skipped


def _is_venv(folder: Path) -> bool:
    return (folder / "pyvenv.cfg").is_file()


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
