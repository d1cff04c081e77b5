"""The two sides of a comparison: a folder, or a revision of a git repository."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from functools import cached_property
from pathlib import Path
from typing import Protocol

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.git import git_output, paths_in
from kernel_pytorch.core.given_path import require_folder
from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.read_file import read_bytes, why_refused

# What tools write and no build reads. Somebody may have committed it all the same.
_CACHES = {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}
_SKIPPED = {".git", ".hg", ".venv", "node_modules"} | _CACHES


_MAX_LINKS = 8


class Tree(Protocol):
    """Paths and contents; `name` is what a person calls it."""

    name: str

    def paths(self) -> frozenset[str]: ...

    def identity(self, path: str) -> str:
        """The id git gives to the content: equal ids are equal bytes, without reading both."""

    def read(self, path: str) -> bytes: ...

    def link(self, path: str) -> str | None:
        """What a symbolic link says; None for a file."""

    def mentioning(self, word: str) -> frozenset[str]:
        """The files that hold a word."""


def read_through_links(tree: Tree, path: str) -> bytes:
    """A file's content; of a link inside the tree the content of what it leads to, else what the link says."""
    there = tree.paths()
    for _ in range(_MAX_LINKS):
        target = tree.link(path)
        if target is None:
            break
        onward = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if onward not in there:
            break
        path = onward
    return tree.read(path)


class FolderTree:
    """A folder as it lies on disk. In a git work tree, what git ignores is left out."""

    def __init__(self, root: Path) -> None:
        require_folder(root, "name the folder with the project before the port")
        self.root = root
        self.name = str(root)

    def paths(self) -> frozenset[str]:
        listed = git_output(self.root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
        if listed:  # empty for a folder that a repository around it ignores: then the folder itself is looked at
            names = (name for name in paths_in(listed) if not _CACHES & set(name.split("/")))
            return frozenset(name for name in names if self._has(self.root / name))
        return frozenset(
            path.relative_to(self.root).as_posix()
            for path in self.root.rglob("*")
            if self._has(path) and not _SKIPPED & set(path.relative_to(self.root).parts)
        )

    def _has(self, path: Path) -> bool:
        """Whether a path is a file or a link of the tree, and no folder on the way leads out of it."""
        if path.is_symlink():
            return is_inside(path.parent, self.root)
        return path.is_file() and not why_refused(path, self.root)

    def identity(self, path: str) -> str:
        data = self.read(path)
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    def read(self, path: str) -> bytes:
        place = self.root / path
        # A link is what it says, as in git: what it leads to is another file, of the tree or not.
        return os.fsencode(place.readlink()) if place.is_symlink() else read_bytes(place, self.root)

    def link(self, path: str) -> str | None:
        place = self.root / path
        return os.fspath(place.readlink()) if place.is_symlink() else None

    def mentioning(self, word: str) -> frozenset[str]:
        pattern = re.compile(rb"\b" + re.escape(os.fsencode(word)) + rb"\b")
        return frozenset(path for path in self.paths() if pattern.search(self.read(path)))


class GitTree:
    """One revision of a git repository, seen from a folder in it."""

    def __init__(self, repository: Path, revision: str) -> None:
        if (
            revision.startswith("-")
            or git_output(repository, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}") is None
        ):
            raise UsageError(f"{revision!r} is not a revision of the git repository at {repository}")
        self.repository = repository
        self.revision = revision
        self.name = revision

    @cached_property
    def _entries(self) -> dict[str, tuple[str, bool]]:
        """The id of every file's content, and whether it is a symbolic link."""
        # Without --full-tree git lists what lies under the folder it is asked from, by names relative to it.
        listed = git_output(self.repository, "ls-tree", "-r", "-z", self.revision) or b""
        entries = {}
        for row in listed.decode("utf-8", "surrogateescape").split("\0"):
            facts, _, path = row.partition("\t")
            if path and facts.split()[1] == "blob" and not _CACHES & set(path.split("/")):
                mode, _, name = facts.split()
                entries[path] = name, mode == "120000"
        return entries

    def paths(self) -> frozenset[str]:
        return frozenset(self._entries)

    def identity(self, path: str) -> str:
        return self._entries[path][0]

    def link(self, path: str) -> str | None:
        return os.fsdecode(self.read(path)) if self._entries[path][1] else None

    def read(self, path: str) -> bytes:
        content = git_output(self.repository, "cat-file", "blob", self.identity(path))
        if content is None:
            raise UsageError(f"{path}: git cannot read it at {self.revision}")
        return content

    def mentioning(self, word: str) -> frozenset[str]:
        found = (
            git_output(self.repository, "grep", "--no-textconv", "-l", "-z", "-w", "-F", "-e", word, self.revision)
            or b""
        )
        return frozenset(name.partition(":")[2] for name in paths_in(found))
