"""Read conda environment files, with the line of every entry."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.port.deps.model import Declared, DependencyFileError, IndexOption, NotRead, PythonRange, Reading
from kernel_pytorch.port.deps.packages import normalize
from kernel_pytorch.port.deps.read_requirements import named_file, read_requirements, read_text
from kernel_pytorch.port.deps.requirement_text import parse

if TYPE_CHECKING:
    import yaml

_SPEC = re.compile(r"^(?:(?P<channel>[\w./-]+)::)?(?P<name>[A-Za-z0-9_.-]+)(?:\[[^]]*\])?\s*(?P<rest>.*)$")


def is_conda_environment(text: str) -> bool:
    """Whether a YAML text has a conda environment's `dependencies` list; many env.yml files do not."""
    return re.search(r"(?m)^dependencies\s*:", text) is not None


def read_conda(path: Path, root: Path, shown: str, group: str) -> Reading:
    """Conda and pip requirements, channels and the Python pin of one environment file."""
    import yaml

    from kernel_pytorch.core.yaml_text import compose_yaml

    text = read_text(path, shown)
    try:
        node = compose_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        problem = getattr(error, "problem", None) or str(error)
        raise DependencyFileError(shown, line, f"not valid YAML: {problem}") from error
    if not isinstance(node, yaml.MappingNode):
        return Reading(shown, "conda", not_read=(NotRead(shown, 1, "not a conda environment: no mapping"),))
    declared: list[Declared] = []
    options: list[IndexOption] = []
    python: list[PythonRange] = []
    not_read: list[NotRead] = []
    for key, value in node.value:
        if key.value == "channels":
            for channel in _scalars(value):
                options.append(IndexOption("conda-channel", channel.value, shown, channel.start_mark.line + 1, group))
        if key.value == "dependencies" and isinstance(value, yaml.SequenceNode):
            for entry in value.value:
                line = entry.start_mark.line + 1
                if isinstance(entry, yaml.ScalarNode):
                    _conda_line(entry.value, shown, line, group, declared, python, not_read)
                elif isinstance(entry, yaml.MappingNode):
                    for kind, lines in entry.value:
                        if kind.value == "pip":
                            _pip_lines(lines, path, root, shown, group, declared, options, not_read)
    return Reading(shown, "conda", tuple(declared), tuple(options), tuple(python), tuple(not_read))


def _scalars(node: yaml.Node) -> list[yaml.ScalarNode]:
    import yaml

    children = node.value if isinstance(node, yaml.SequenceNode) else []
    return [child for child in children if isinstance(child, yaml.ScalarNode)]


def _conda_line(
    text: str,
    shown: str,
    line: int,
    group: str,
    declared: list[Declared],
    python: list[PythonRange],
    not_read: list[NotRead],
) -> None:
    match = _SPEC.match(text.strip())
    if match is None:
        not_read.append(NotRead(shown, line, f"not a conda requirement: {text!r}"))
        return
    specifier = conda_specifier(match["rest"])
    name = normalize(match["name"])
    if name == "python":
        python.append(PythonRange(specifier, shown, line))
    declared.append(Declared(name, text.strip(), shown, line, group, ecosystem="conda", specifier=specifier))


def conda_specifier(rest: str) -> str:
    """Conda's `=1.2`, `==1.2`, `=1.2=build`, `>=1,<2`, ` 1.2.*` as a PEP 440 specifier; builds are dropped.

    What pip cannot say (`1.2|1.3`) becomes no limit at all.
    """
    rest = rest.strip()
    if not rest or "|" in rest or rest == "*":
        return ""
    parts = []
    for part in rest.split(","):
        match = re.match(r"^\s*(==|>=|<=|!=|~=|=|<|>)?\s*([\w.+*!-]+?)(?:[= ].*)?$", part)
        if match is None:
            return ""
        operator, version = match[1] or "=", match[2]
        if operator == "=":
            exact = "=" in part.strip().lstrip("=") or version.endswith("*") or version.count(".") >= 2
            version = version if exact else version + ".*"
            operator = "=="
        parts.append(operator + version)
    return ",".join(parts)


def _pip_lines(
    node: yaml.Node,
    path: Path,
    root: Path,
    shown: str,
    group: str,
    declared: list[Declared],
    options: list[IndexOption],
    not_read: list[NotRead],
) -> None:
    for entry in _scalars(node):
        line = entry.start_mark.line + 1
        text = entry.value.strip()
        include = re.match(r"^(?:-r|--requirement)\s*(\S+)$", text)
        option = re.match(r"^(?:--(index-url|extra-index-url|find-links)|-(i|f))[=\s]+(\S+)$", text)
        editable = re.match(r"^(?:-e|--editable)\s+(\S.*)$", text)
        if include:
            other = named_file(include[1], path, root)
            if isinstance(other, str):
                not_read.append(NotRead(shown, line, other))
                continue
            inner = read_requirements(other, root, group=group)
            declared += inner.declared
            options += inner.options
            not_read += inner.not_read
        elif option:
            kind = option[1] or {"i": "index-url", "f": "find-links"}[option[2]]
            options.append(IndexOption(kind, option[3], shown, line, group))
        elif text.startswith("--"):
            options.append(IndexOption(text.removeprefix("--").split("=")[0].split(" ")[0], "", shown, line, group))
        else:
            try:
                body = editable[1] if editable else text
                declared.append(parse(body, shown, line, group=group, editable=editable is not None))
            except ValueError as error:
                not_read.append(NotRead(shown, line, str(error)))
