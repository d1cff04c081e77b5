"""Read setup.cfg ([options]) and Pipfile."""

from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

from kernel_pytorch.port.deps.model import (
    Declared,
    DependencyFileError,
    IndexOption,
    NotRead,
    PythonRange,
    Reading,
)
from kernel_pytorch.port.deps.packages import normalize
from kernel_pytorch.port.deps.read_requirements import named_file, read_requirements, read_text
from kernel_pytorch.port.deps.requirement_text import parse
from kernel_pytorch.port.deps.toml_text import TomlText


def read_setup_cfg(path: Path, root: Path, shown: str, known: dict[Path, str]) -> Reading:
    """`install_requires`, extras and `python_requires` of a setup.cfg; `file:` entries are followed."""
    text = read_text(path, shown)
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as error:
        line = getattr(error, "lineno", None) or (getattr(error, "errors", None) or [(1, "")])[0][0]
        raise DependencyFileError(shown, int(line), f"not a valid setup.cfg: {error}".splitlines()[0]) from error
    lines = text.splitlines()
    declared: list[Declared] = []
    not_read: list[NotRead] = []
    python: list[PythonRange] = []
    if parser.has_option("options", "python_requires"):
        python.append(
            PythonRange(parser.get("options", "python_requires").strip(), shown, _line(lines, "python_requires"))
        )
    entries = []
    if parser.has_option("options", "install_requires"):
        entries.append(("", "install_requires", parser.get("options", "install_requires")))
    if parser.has_section("options.extras_require"):
        entries += [(normalize(key), key, value) for key, value in parser.items("options.extras_require")]
    for group, key, value in entries:
        start = _line(lines, key)
        if value.strip().startswith("file:"):
            for name in value.strip().removeprefix("file:").split(","):
                other = named_file(name, path, root)
                if isinstance(other, str):
                    not_read.append(NotRead(shown, start, other))
                elif known.get(other) != group:
                    inner = read_requirements(other, root, group=group, known=known)
                    declared += inner.declared
                    not_read += inner.not_read
            continue
        for entry in _entries(value):
            line = _line(lines, entry, start)
            try:
                declared.append(parse(entry, shown, line, group=group))
            except ValueError as error:
                not_read.append(NotRead(shown, line, str(error)))
    name = parser.get("metadata", "name", fallback="")
    return Reading(
        shown, "setup.cfg", tuple(declared), python=tuple(python), not_read=tuple(not_read),
        names=(normalize(name),) if name else (),
    )  # fmt: skip


def _entries(value: str) -> list[str]:
    """The requirements of one key: a line each, or on a single line separated by semicolons."""
    lines = [line.strip() for line in value.splitlines() if line.strip() and not line.strip().startswith("#")]
    if len(lines) != 1 or ";" not in lines[0]:
        return lines
    try:
        parse(lines[0], "", 0)
    except ValueError:
        return [part.strip() for part in lines[0].split(";") if part.strip()]
    return lines


def _line(lines: list[str], needle: str, start: int = 1) -> int:
    for number in range(start, len(lines) + 1):
        if needle in lines[number - 1]:
            return number
    return start


def read_pipfile(path: Path, shown: str) -> Reading:
    """Packages, dev-packages, sources and the Python version of a Pipfile."""
    toml = TomlText(path, shown)
    declared: list[Declared] = []
    not_read: list[NotRead] = []
    for table, group in (("packages", ""), ("dev-packages", "dev")):
        entries = toml.get(table)
        for name, value in (entries if isinstance(entries, dict) else {}).items():
            line = toml.key_line(name, table)
            try:
                declared.append(_pipfile_entry(name, value, shown, line, group))
            except ValueError as error:
                not_read.append(NotRead(shown, line, str(error)))
    options = [
        IndexOption("extra-index-url", str(source["url"]), shown, toml.string_line(str(source["url"]), "source"))
        for source in toml.get("source") or []
        if isinstance(source, dict) and "url" in source
    ]
    version = toml.get("requires", "python_version")
    python = [PythonRange(f"=={version}.*", shown, toml.key_line("python_version", "requires"))] if version else []
    return Reading(shown, "pipfile", tuple(declared), tuple(options), tuple(python), tuple(not_read))


def _pipfile_entry(name: str, value: Any, shown: str, line: int, group: str) -> Declared:
    entry = value if isinstance(value, dict) else {"version": value}
    version = str(entry.get("version", "*"))
    marker = str(entry.get("markers", ""))
    extras = ",".join(str(extra) for extra in entry.get("extras", []))
    head = f"{name}[{extras}]" if extras else name
    if "git" in entry:
        revision = f"@{entry['ref']}" if entry.get("ref") else ""
        body = f"{head} @ git+{entry['git']}{revision}"
    elif "path" in entry:
        return parse(str(entry["path"]), shown, line, group=group, editable=bool(entry.get("editable")))
    else:
        body = head + ("" if version == "*" else version if version[0] in "<>=!~" else f"=={version}")
    return parse(body + (f" ; {marker}" if marker else ""), shown, line, group=group)
