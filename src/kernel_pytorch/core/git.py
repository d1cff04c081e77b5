"""The one place that runs git. A repository is its author's: what its configuration names must not be started."""

from __future__ import annotations

import os
import re
from pathlib import Path
from subprocess import TimeoutExpired

from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.process import run_child_bytes
from kernel_pytorch.core.project_folder import repository_of
from kernel_pytorch.core.read_file import read_text

TIMEOUT_S = 120.0
# What git would start on behalf of a repository for the few commands we use. The user's own settings stay: they are
# the user's, and safe.directory is among them.
_HARMLESS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.sshCommand=false",
    "core.gitProxy=",
    "core.alternateRefsCommand=",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "credential.helper=",
    "diff.external=",
    "gpg.program=false",
    "safe.bareRepository=explicit",  # a repository that lies among the files of another
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",  # a partial clone fetches what it lacks, by a command that it names itself
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ATTR_NOSYSTEM": "1",
}

_STORED = ("", "HEAD", "config", "index", "objects", "packed-refs", "refs")
_WORK_TREE = re.compile(r"^\s*worktree\s*=\s*(.+?)\s*$", re.MULTILINE)


def git_output(folder: Path, *arguments: str) -> bytes | None:
    """What git prints for a folder; None where git is missing, fails or does not end. Starts nothing else."""
    if not _is_own_repository(folder):
        return None
    settings = [word for setting in _HARMLESS for word in ("-c", setting)]
    command = ["git", "--no-pager", *settings, "-C", str(folder), *arguments]
    try:
        done = run_child_bytes(command, timeout_s=TIMEOUT_S, env={**os.environ, **_ENVIRONMENT})
    except (OSError, TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _is_own_repository(folder: Path) -> bool:
    """Whether the repository that git would find for a folder is that of the folder.

    A `.git` that leads elsewhere makes git read another repository of the user's, as if it were the stranger's. Work
    trees and submodules have such a file too; what it names then names the folder in its turn.
    """
    if "GIT_DIR" in os.environ:
        return True
    top = repository_of(folder)
    if top is None:
        return True
    store = top / ".git"
    if store.is_dir():
        return all(is_inside(store / name, top) for name in _STORED) and not (store / "commondir").exists()
    try:
        named = (top / read_text(store).removeprefix("gitdir:").strip()).resolve()
        back = named / "gitdir"
        if back.is_file():
            return (named / read_text(back).strip()).resolve() == store
        work_tree = _WORK_TREE.search(read_text(named / "config"))
        return work_tree is not None and (named / work_tree[1].strip().strip('"')).resolve() == top
    except (OSError, UnicodeDecodeError, ValueError):
        return False


def paths_in(output: bytes) -> list[str]:
    """The names of a list that git was asked for with `-z`."""
    return [name for name in output.decode("utf-8", "surrogateescape").split("\0") if name]
