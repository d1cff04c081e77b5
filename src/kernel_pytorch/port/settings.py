"""The `[tool.kernel_pytorch]` table of the project that is ported: what `kpt scan` and `kpt port` do by default.

The command line wins over the table. `backend`, `device_id` and `[tool.kernel_pytorch.amd]` in the same table belong to
`core.config_sources`, and are left to it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.inside import is_inside
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.core.toml_file import read_toml
from kernel_pytorch.port.discover import Listing, Project, Skipped, discover, globs, list_files

AUTO = "auto"  # torch-extension where torch builds the project's extension, else single-source
DEFAULT_TARGET = "gfx942"
OF_OTHERS = ("amd", "backend", "device_id", "verify")
_CODE = re.compile(r"(?:KP|U)\d{0,3}")


@dataclass(frozen=True)
class PortSettings:
    """The table, as values. `rules` are files of the user's own rules, resolved against the table's folder."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    layout: str = AUTO
    targets: tuple[str, ...] = (DEFAULT_TARGET,)
    unsafe: bool = False
    rules: tuple[Path, ...] = ()


KEYS = tuple(PortSettings.__dataclass_fields__)


def read_settings(path: Path) -> PortSettings:
    """The settings of a project folder, or of the nearest folder above a single file; the defaults without a table."""
    file = _pyproject(path)
    # A project's own mistakes in a file that does not speak of us are none of our business.
    if file is None or b"kernel_pytorch" not in (read_if_there(file) or b""):
        return PortSettings()
    tools = read_toml(file).get("tool", {})
    table = tools.get("kernel_pytorch", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{file}: [tool.kernel_pytorch] is not a table")
    for key in table:
        if key not in (*KEYS, *OF_OTHERS):
            near = difflib.get_close_matches(key, (*KEYS, *OF_OTHERS), n=1)
            hint = f"did you mean {near[0]}?" if near else f"known keys: {', '.join((*KEYS, *OF_OTHERS))}"
            raise UsageError(f"{file}: [tool.kernel_pytorch] has no key {key!r}; {hint}")
    return _checked(file, {key: value for key, value in table.items() if key in KEYS})


def project_of(root: Path) -> Project:
    """The files of a project that every verb looks at: git's ignore rules, less what the table excludes."""
    return without_excluded(discover(root), read_settings(root).exclude) if root.is_dir() else discover(root)


def listing_of(root: Path) -> Listing:
    """The names of those files, in every language."""
    listing = list_files(root)
    excluded = globs(read_settings(root).exclude)
    return Listing(tuple(name for name in listing.names if not excluded.fullmatch(name)), listing.not_entered)


def _pyproject(path: Path) -> Path | None:
    folders = [path] if path.is_dir() else path.resolve().parents
    named = (folder / "pyproject.toml" for folder in folders)
    return next((file for file in named if file.is_file() and is_inside(file, file.parent)), None)


def _checked(file: Path, table: dict[str, Any]) -> PortSettings:
    where = f"{file}: [tool.kernel_pytorch]"
    settings = PortSettings()
    if "select" in table:
        codes = checked_codes(_strings(where, "select", table["select"]), f"{where} select")
        settings = replace(settings, select=codes)
    if "ignore" in table:
        codes = checked_codes(_strings(where, "ignore", table["ignore"]), f"{where} ignore")
        settings = replace(settings, ignore=codes)
    if "exclude" in table:
        settings = replace(settings, exclude=_strings(where, "exclude", table["exclude"]))
    if "targets" in table:
        settings = replace(settings, targets=checked_targets(_strings(where, "targets", table["targets"]), where))
    if "rules" in table:
        files = _strings(where, "rules", table["rules"])
        for name in files:
            if not is_inside(file.parent / name, file.parent):
                raise UsageError(f"{where} rules: {name} is not a file of the project; name it with --rules")
        settings = replace(settings, rules=tuple(file.parent / name for name in files))
    if "layout" in table:
        # Imported here: most projects name no layout, and `kpt deps` must not wait for the C++ front end.
        from kernel_pytorch.port.layouts import LAYOUTS

        if table["layout"] not in (AUTO, *LAYOUTS):
            raise UsageError(f"{where} layout = {table['layout']!r}: one of {', '.join((AUTO, *LAYOUTS))}")
        settings = replace(settings, layout=table["layout"])
    if "unsafe" in table:
        if not isinstance(table["unsafe"], bool):
            raise UsageError(f"{where} unsafe = {table['unsafe']!r}: true or false")
        settings = replace(settings, unsafe=table["unsafe"])
    return settings


def _strings(where: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise UsageError(f'{where} {key} = {value!r}: a list of strings, such as {key} = ["..."]')
    return tuple(value)


def checked_codes(values: Sequence[str], where: str) -> tuple[str, ...]:
    """Codes or their beginnings in capitals. Raises UsageError for what can begin no code: it would select nothing."""
    codes = tuple(value.strip().upper() for value in values)
    for code in codes:
        if not _CODE.fullmatch(code):
            raise UsageError(f"{where}: {code!r} is not a code; write KP601, KP6 for all of KP6xx, or U101")
    return codes


def checked_targets(values: Sequence[str], where: str) -> tuple[str, ...]:
    """Target names that the hardware table knows. Raises UsageError naming the place."""
    from kernel_pytorch.core.hardware import target

    if not values:
        raise UsageError(f"{where}: no target given; write for instance gfx942")
    for value in values:
        try:
            target(value)
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from error
    return tuple(values)


def without_excluded(project: Project, patterns: Sequence[str]) -> Project:
    """The project without the files that a glob matches; they are named among what was skipped.

    An excluded CUDA or C++ file is still read, as a header of those that include it: only nothing is said about it.
    """
    if not patterns:
        return project
    matches = globs(patterns)
    out = {path for paths in project.files.values() for path in paths if matches.fullmatch(path)}
    files = {language: tuple(p for p in paths if p not in out) for language, paths in project.files.items()}
    readable = tuple(sorted({*files.get("c++", ()), *(path for path in project.of("cuda", "c++") if path in out)}))
    if readable:
        files["c++"] = readable
    skipped = tuple(Skipped(path, "excluded by a glob of the user's") for path in sorted(out))
    listed = tuple(path for path in project.listed if not matches.fullmatch(path))
    unread = tuple(one for one in project.unread if not matches.fullmatch(one.path))
    return Project(project.root, files, (*project.skipped, *skipped), listed, frozenset(out), unread)
