"""Read Poetry's tables, and turn its version notation into pip's."""

from __future__ import annotations

import re
from typing import Any

from kernel_pytorch.port.deps.model import Declared, IndexOption, NotRead, PythonRange, Reading
from kernel_pytorch.port.deps.packages import normalize
from kernel_pytorch.port.deps.toml_text import TomlText

_NUMBERS = re.compile(r"^\d+(\.\d+)*")
_PLATFORMS = {"linux": "linux", "darwin": "darwin", "win32": "win32", "windows": "win32", "macos": "darwin"}


def pip_specifier(constraint: str) -> str:
    """Poetry's `^1.2`, `~1.2`, `1.2.*`, `*` and lists of them as a PEP 440 specifier.

    Raises ValueError for `||`, which PEP 440 cannot say.
    """
    if "||" in constraint or " or " in constraint:
        raise ValueError(f"alternatives cannot be written for pip: {constraint!r}")
    parts = [part for part in re.split(r"\s*,\s*|\s+(?=[<>=!~^])", constraint.strip()) if part]
    return ",".join(filter(None, (_one(part.replace(" ", "")) for part in parts)))


def _one(part: str) -> str:
    if part in {"*", ""}:
        return ""
    if part.startswith("^"):
        return _range(part[1:], _caret_index(part[1:]))
    if part.startswith("~") and not part.startswith("~="):
        numbers = _release(part[1:])
        return _range(part[1:], min(1, len(numbers) - 1))
    if part[0] in "<>=!~":
        return part if not re.match(r"^=[^=]", part) else "=" + part
    return f"=={part}"


def _release(version: str) -> list[int]:
    match = _NUMBERS.match(version)
    if match is None:
        raise ValueError(f"not a version: {version!r}")
    return [int(number) for number in match[0].split(".")]


def _caret_index(version: str) -> int:
    numbers = _release(version)
    # The first non-zero number may not change; all zeros: the last one given may not.
    return next((index for index, number in enumerate(numbers) if number), len(numbers) - 1)


def _range(version: str, index: int) -> str:
    numbers = _release(version)
    upper = [*numbers[:index], numbers[index] + 1]
    return f">={version},<{'.'.join(map(str, upper))}"


def read_poetry(toml: TomlText) -> Reading:
    """Requirements, sources and the Python range of `[tool.poetry]`; empty if there is no such table."""
    poetry = toml.get("tool", "poetry")
    if not isinstance(poetry, dict):
        return Reading(toml.shown, "poetry")
    declared: list[Declared] = []
    not_read: list[NotRead] = []
    python: list[PythonRange] = []
    extras = poetry.get("extras")
    group_of_optional = {
        normalize(str(name)): normalize(group)
        for group, names in (extras if isinstance(extras, dict) else {}).items()
        for name in (names if isinstance(names, list) else [])
    }
    tables = [("", "tool.poetry.dependencies", poetry.get("dependencies"))]
    tables.append(("dev", "tool.poetry.dev-dependencies", poetry.get("dev-dependencies")))
    groups = poetry.get("group")
    for group, content in (groups if isinstance(groups, dict) else {}).items():
        entries = content.get("dependencies") if isinstance(content, dict) else None
        tables.append((normalize(group), f"tool.poetry.group.{group}.dependencies", entries))
    for group, table, entries in tables:
        for name, value in (entries if isinstance(entries, dict) else {}).items():
            line = toml.key_line(name, table)
            if name == "python" and isinstance(value, str):
                _python(value, toml.shown, line, python, not_read)
                continue
            for entry in value if isinstance(value, list) else [value]:
                try:
                    declared.append(_entry(name, entry, toml.shown, line, group, group_of_optional))
                except ValueError as error:
                    not_read.append(NotRead(toml.shown, line, str(error)))
    options = [
        IndexOption(
            "extra-index-url", str(source.get("url", "")), toml.shown,
            toml.string_line(str(source.get("url", "")), "tool.poetry.source"),
        )
        for source in poetry.get("source", [])
        if isinstance(source, dict) and source.get("url")
    ]  # fmt: skip
    return Reading(toml.shown, "poetry", tuple(declared), tuple(options), tuple(python), tuple(not_read))


def _python(value: str, shown: str, line: int, python: list[PythonRange], not_read: list[NotRead]) -> None:
    try:
        python.append(PythonRange(pip_specifier(value), shown, line))
    except ValueError as error:
        not_read.append(NotRead(shown, line, str(error)))


def _entry(name: str, entry: Any, shown: str, line: int, group: str, group_of_optional: dict[str, str]) -> Declared:
    if isinstance(entry, str):
        return Declared(normalize(name), f'{name} = "{entry}"', shown, line, group, specifier=pip_specifier(entry))
    if not isinstance(entry, dict):
        raise ValueError(f"dependency {name} has no readable value: {entry!r}")
    markers = [str(entry["markers"])] if entry.get("markers") else []
    if entry.get("python"):
        markers += [_version_marker(part) for part in pip_specifier(str(entry["python"])).split(",") if part]
    if entry.get("platform"):
        platform = str(entry["platform"])
        markers.append(f'sys_platform == "{_PLATFORMS.get(platform.lower(), platform)}"')
    if entry.get("optional") and not group:
        group = group_of_optional.get(normalize(name), "optional")
    url = ""
    if entry.get("git"):
        revision = entry.get("rev") or entry.get("tag") or entry.get("branch")
        url = "git+" + str(entry["git"]) + (f"@{revision}" if revision else "")
        if entry.get("subdirectory"):
            url += f"#subdirectory={entry['subdirectory']}"
    elif entry.get("url"):
        url = str(entry["url"])
    local = str(entry.get("path") or entry.get("file") or "")
    return Declared(
        normalize(name),
        f"{name} = {entry}",
        shown,
        line,
        group,
        extras=tuple(sorted(str(extra) for extra in entry.get("extras", []))),
        specifier="" if url or local else pip_specifier(str(entry.get("version", "*"))),
        marker=" and ".join(f"({one})" if " or " in one else one for one in markers),
        url=url,
        local=local,
        editable=bool(entry.get("develop")),
    )


def _version_marker(specifier: str) -> str:
    match = re.match(r"^(>=|<=|==|!=|~=|<|>)(.+)$", specifier)
    if match is None:
        raise ValueError(f"not a Python range: {specifier!r}")
    numbers = match[2].split(".")
    variable = "python_full_version" if len(numbers) > 2 and "*" not in match[2] else "python_version"
    return f'{variable} {match[1]} "{match[2]}"'
