"""Which files of a project are looked at, and which are not, with the reason."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.git import git_output, paths_in
from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.printable import has_controls
from kernel_pytorch.core.read_file import MAX_BYTES, read_bytes, why_refused
from kernel_pytorch.core.whole_file import SUFFIX as UNFINISHED
from kernel_pytorch.port.cxx.includes import is_third_party, third_party_folder
from kernel_pytorch.port.source import language_of

# Made by tools, where git does not look after them. Other hidden folders (.github, .devcontainer) are the project's.
_SKIPPED_FOLDERS = frozenset({
    "__pycache__", "node_modules", "site-packages", ".venv", "venv", "build", "dist", ".git", ".hg", ".svn", ".tox",
    ".nox", ".eggs", ".cache", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints", ".idea", ".vscode",
})  # fmt: skip
SUBMODULE = "a submodule, which is a repository of its own: not ported"
_SCRIPTS = (".py", ".sh", ".cmake", ".mk")
_OF_A_BUILD = re.compile(
    r"CMakeCache\.txt|CMakeFiles|build\.ninja|cmake_install\.cmake|(?:lib|temp|bdist)(?:\..+)?|.+\.s?o"
)
_MOST_STARS = 8


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
    excluded: frozenset[str] = frozenset()  # by a glob of the user's: read where others include it, and no more
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
        real = root.resolve()
        reason = _reason_not_to_read(real, root.name, real.parent)
        if reason:
            return Project(root.parent, {}, unread=(Skipped(root.name, reason),))
        return Project(root.parent, {language: (root.name,)} if language else {})
    if not root.is_dir():
        raise UsageError(f"{root}: no such file or folder")
    files: dict[str, list[str]] = {}
    skipped: dict[str, str] = {}
    unread: dict[str, str] = {}
    listed = sorted(list_files(root).names)
    remembered = cache(is_inside)  # a project has many files in few folders
    for name in listed:
        path = Path(name)
        if is_third_party(path):
            skipped.setdefault(third_party_folder(path).as_posix(), "third-party code: left alone")
            continue
        by_name = language_of(path.name)
        full = root / name
        if name.endswith(UNFINISHED):
            skipped[name] = "left by a kpt that was cut off while it wrote: remove it"
            continue
        reason = _reason_not_to_read(full, name, root, remembered)
        if reason:
            (skipped if by_name == "other" else unread)[name] = reason
            continue
        if full.is_dir() and not full.is_symlink() and any(full.iterdir()):
            skipped[name] = SUBMODULE
            continue
        # The file that a link leads to is listed itself; a folder is a submodule, or the target of a link.
        if by_name == "other" or full.is_symlink() or not full.is_file():
            continue
        language = _language(full)
        if language:
            files.setdefault(language, []).append(path.as_posix())
        else:
            unread[name] = "cannot be read"
    return Project(
        root,
        {language: tuple(paths) for language, paths in files.items()},
        tuple(Skipped(path, reason) for path, reason in skipped.items()),
        tuple(listed),
        unread=tuple(Skipped(path, reason) for path, reason in unread.items()),
    )


def _reason_not_to_read(path: Path, name: str, root: Path, is_inside: Callable[[Path, Path], bool] = is_inside) -> str:
    """Why a file of the project is not looked at; empty where it is, and where there is nothing to look at."""
    if has_controls(name):
        return "its name holds control characters"
    try:
        mode = os.lstat(path).st_mode
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(mode):
        return ""
    reason = why_refused(path, root, MAX_BYTES, is_inside)
    if stat.S_ISLNK(mode) and path.is_dir() and is_inside(path, root):
        return ""
    if not reason and not os.access(path, os.R_OK):
        return "cannot be read (Permission denied)"
    return reason


def _language(path: Path) -> str | None:
    """The language, looking into C and C++ files only: they may or may not hold CUDA."""
    by_name = language_of(path.name)
    if by_name == "other":
        return None
    try:
        return language_of(path.name, read_bytes(path)) if by_name == "c++" else by_name
    except OSError:
        return None


@dataclass(frozen=True)
class Listing:
    """The files below a folder, relative to it, and the folders that were not entered."""

    names: tuple[str, ...]
    not_entered: tuple[str, ...] = ()


def list_files(root: Path) -> Listing:
    """What git tracks or would add below a folder; outside git, every file that no tool has made."""
    listed = git_output(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    # Nothing at all: the folder is ignored by a repository around it, and still what the user pointed at.
    if listed:
        return Listing(tuple(paths_in(listed)))
    names, not_entered = [], []
    for folder, folders, files in os.walk(root):
        here = Path(folder)
        made = [name for name in folders if _is_made(here / name)]
        not_entered += [(here / name).relative_to(root).as_posix() for name in made]
        folders[:] = [name for name in folders if name not in made]
        files += [name for name in folders if (here / name).is_symlink()]  # not entered, but the project's
        below = here.relative_to(root).as_posix()
        names += files if below == "." else [f"{below}/{name}" for name in files]
    return Listing(tuple(names), tuple(not_entered))


def _is_made(folder: Path) -> bool:
    """Whether a tool has made a folder. One called "build" may hold the project's own scripts, and nothing built."""
    if (folder / "pyvenv.cfg").is_file():
        return True
    if folder.name != "build" or folder.is_symlink():
        return folder.name in _SKIPPED_FOLDERS
    names = [one.name for one in folder.iterdir()]
    return not any(name.endswith(_SCRIPTS) for name in names) or any(map(_OF_A_BUILD.fullmatch, names))


def globs(patterns: Sequence[str]) -> re.Pattern[str]:
    """One expression for several globs; none match nothing."""
    return re.compile("|".join(f"(?:{_regex(pattern)})" for pattern in patterns) or r"(?!)")


def _regex(pattern: str) -> str:
    """A glob: `**` crosses folders, a name without a slash matches at any depth, a folder matches what is in it."""
    if pattern.count("*") > _MOST_STARS:  # each one multiplies the time that a name takes
        raise UsageError(f"exclude {pattern!r}: more than {_MOST_STARS} stars; write several patterns")
    anchored = "/" in pattern.rstrip("/")
    parts = []
    for part in PurePosixPath(pattern.strip("/")).parts:
        if part == "**":
            parts.append("(?:[^/]+/)*")
            continue
        pieces = re.split(r"([*?])", part)
        text = "".join({"*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece)) for piece in pieces)
        parts.append(text + "/")
    body = "".join(parts).removesuffix("/")
    return ("" if anchored else "(?:.*/)?") + body + ("[^/]*" if body.endswith(")*") else "") + "(?:/.*)?"
