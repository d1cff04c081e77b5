"""Which files of a project are looked at, and which are not, with the reason."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.git import git_output, paths_in
from kernel_pytorch.core.inside import inside
from kernel_pytorch.core.printable import has_controls
from kernel_pytorch.port.cxx.unit import is_third_party, third_party_folder
from kernel_pytorch.port.source import language_of

MAX_BYTES = 50_000_000
# Made by tools, where git does not look after them. Other hidden folders (.github, .devcontainer) are the project's.
_SKIPPED_FOLDERS = frozenset({
    "__pycache__", "node_modules", "site-packages", ".venv", "venv", "build", "dist", ".git", ".hg", ".svn", ".tox",
    ".nox", ".eggs", ".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints", ".idea", ".vscode",
})  # fmt: skip


@dataclass(frozen=True)
class Skipped:
    """A file or folder that was not looked at."""

    path: str
    reason: str


@dataclass(frozen=True)
class Project:
    """The files of a project by language, as paths relative to its root, with forward slashes."""

    root: Path
    files: dict[str, tuple[str, ...]]
    skipped: tuple[Skipped, ...] = ()  # left alone on purpose: third-party code
    listed: tuple[str, ...] = ()  # every file, also those in no language we read; empty for a single file
    unread: tuple[Skipped, ...] = ()  # would be looked at, and could not: each of them is a finding

    def of(self, *languages: str) -> tuple[str, ...]:
        """The files in any of these languages."""
        return tuple(path for language in languages for path in self.files.get(language, ()))

    @property
    def count(self) -> int:
        return sum(len(paths) for paths in self.files.values())


def discover(root: Path) -> Project:
    """Lists a project: what git tracks or would add in a work tree, else the folder. A single file is a project too."""
    if root.is_file():
        language = _language(root)
        reason = _unreadable(root.resolve(), lambda path: True)
        if reason:
            return Project(root.parent, {}, unread=(Skipped(root.name, reason),))
        return Project(root.parent, {language: (root.name,)} if language else {})
    if not root.is_dir():
        raise UsageError(f"{root}: no such file or folder")
    files: dict[str, list[str]] = {}
    skipped: dict[str, str] = {}
    unread: dict[str, str] = {}
    is_ours = inside(root)
    listed = sorted(listed_files(root))
    for name in listed:
        path = Path(name)
        if is_third_party(path):
            skipped.setdefault(third_party_folder(path).as_posix(), "third-party code: left alone")
            continue
        by_name = language_of(path.name)
        if by_name == "other":
            continue
        full = root / name
        reason = _unreadable(full, is_ours)
        if reason is None:
            continue
        language = "" if reason else _language(full)
        if language:
            files.setdefault(language, []).append(path.as_posix())
        else:
            unread[name] = reason or "cannot be read"
    return Project(
        root,
        {language: tuple(paths) for language, paths in files.items()},
        tuple(Skipped(path, reason) for path, reason in skipped.items()),
        tuple(listed),
        tuple(Skipped(path, reason) for path, reason in unread.items()),
    )


def _unreadable(path: Path, is_ours: Callable[[Path], bool]) -> str | None:
    """Why a file of the project is not looked at: "" where it is, None where it is nothing to look at."""
    if has_controls(str(path)):
        return "its name holds control characters"
    if not is_ours(path):
        return "leads out of the project"
    if path.is_symlink():
        # The file it leads to is listed itself; a folder, a device or nothing at all is no source.
        return None if path.is_file() or path.is_dir() else "a link that leads to no file"
    if not path.is_file():
        return "no regular file" if path.exists() and not path.is_dir() else None
    if not os.access(path, os.R_OK):
        return "cannot be read (Permission denied)"
    return f"larger than {MAX_BYTES // 1_000_000} MB" if path.stat().st_size > MAX_BYTES else ""


def include_folders(root: Path, named: Sequence[str] = ()) -> tuple[Path, ...]:
    """Where headers are looked for: what the project names, the usual places, and what it brings along."""
    brought = [folder for place in ("third_party", "external", "extern") for folder in sorted((root / place).glob("*"))]
    usual = [root, root / "include", root / "src", root / "csrc"]
    every = [*(root / name for name in named), *usual, *brought, *(folder / "include" for folder in brought)]
    is_ours = inside(root)
    return tuple(dict.fromkeys(folder for folder in every if folder.is_dir() and is_ours(folder)))


def _language(path: Path) -> str | None:
    """The language, looking into C and C++ files only: they may or may not hold CUDA."""
    by_name = language_of(path.name)
    if by_name == "other":
        return None
    try:
        return language_of(path.name, path.read_bytes()) if by_name == "c++" else by_name
    except OSError:
        return None


def listed_files(root: Path) -> list[str]:
    """What git tracks or would add below a folder; outside git, every file that is not hidden or built."""
    listed = git_output(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    # Nothing at all: the folder is ignored by a repository around it, and still what the user pointed at.
    if listed:
        return paths_in(listed)
    names = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _SKIPPED_FOLDERS]
        files += [name for name in folders if (Path(folder) / name).is_symlink()]  # not entered, but the project's
        names += [(Path(folder) / name).relative_to(root).as_posix() for name in files]
    return names
