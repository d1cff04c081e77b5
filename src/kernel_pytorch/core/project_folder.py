"""Which folder is the project of a file that a user names by itself."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.core.inside import bound_root


def repository_of(folder: Path) -> Path | None:
    """The nearest folder that git would take for the top of a repository: this one, or one above it."""
    here = folder.resolve()
    return next((one for one in (here, *here.parents) if (one / ".git").exists()), None)


def project_folder(file: Path) -> Path:
    """The project of a file: its repository, else the nearest folder above it with a pyproject.toml.

    Where there is neither it is the folder in which kpt was started if the file lies below it, and else the file's own.
    `kpt mcp` never leaves the folder that it was started for.
    """
    own = file.resolve().parent
    described = (one for one in (own, *own.parents) if (one / "pyproject.toml").is_file())
    found = repository_of(own) or next(described, None)
    if found is None:
        here = Path.cwd()
        found = here if own.is_relative_to(here) else own
    bounds = [bound.resolve() for bound in bound_root()]
    return next((bound for bound in bounds if bound.is_relative_to(found) and own.is_relative_to(bound)), found)
