"""The command line and the environment of every Python process we start.

Such a process may stand in a folder of a stranger's. It must not import from there: `python -m` and `python -c` put the
current folder in front of the path, where a `json.py` hides the standard library's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

START = Path(__file__).resolve().with_name("start_module.py")
_WITHOUT_CURRENT_FOLDER = "import sys; sys.path[:] = [entry for entry in sys.path if entry]; "


def python_module(module: str, *arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """`python -m MODULE ARGUMENTS` of this Python; our own package is always found. `options` are Python's."""
    return [sys.executable, *options, str(START), module, *arguments]


def python_code(source: str, *arguments: str, python: str = "", isolated: bool = False) -> list[str]:
    """`python -c SOURCE ARGUMENTS`. An isolated one also ignores PYTHONPATH and the user's own packages."""
    if isolated:
        return [python or sys.executable, "-I", "-c", source, *arguments]
    # exec: the source may begin with `from __future__`, which nothing may stand before.
    return [python or sys.executable, "-c", f"{_WITHOUT_CURRENT_FOLDER}exec({source!r})", *arguments]


def child_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment with every entry of PYTHONPATH made absolute, and without empty ones.

    An empty entry is the current folder, and a relative one another folder in a child that starts elsewhere.
    """
    made = dict(os.environ if environ is None else environ)
    if "PYTHONPATH" in made:
        entries = [str(Path(entry).absolute()) for entry in made["PYTHONPATH"].split(os.pathsep) if entry]
        made["PYTHONPATH"] = os.pathsep.join(entries)
        if not entries:  # an empty variable is no entry, but one that is joined to another becomes one
            del made["PYTHONPATH"]
    return made
