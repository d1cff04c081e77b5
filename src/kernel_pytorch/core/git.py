"""The one place that runs git. A repository is its author's: what its configuration names must not be started."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

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


def git_output(folder: Path, *arguments: str) -> bytes | None:
    """What git prints for a folder; None where git is missing, fails or does not end. Starts nothing else."""
    settings = [word for setting in _HARMLESS for word in ("-c", setting)]
    command = ["git", "--no-pager", *settings, "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=TIMEOUT_S,
            env={**os.environ, **_ENVIRONMENT},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def paths_in(output: bytes) -> list[str]:
    """The names of a list that git was asked for with `-z`."""
    return [name for name in output.decode("utf-8", "surrogateescape").split("\0") if name]
