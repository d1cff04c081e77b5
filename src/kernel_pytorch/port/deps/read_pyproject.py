"""Read pyproject.toml: PEP 621, dependency groups, the build system, uv, PDM and Hatch tables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernel_pytorch.port.deps.model import Declared, IndexOption, NotRead, PythonRange, Reading
from kernel_pytorch.port.deps.packages import normalize
from kernel_pytorch.port.deps.read_poetry import read_poetry
from kernel_pytorch.port.deps.read_requirements import named_file, read_requirements
from kernel_pytorch.port.deps.requirement_text import parse
from kernel_pytorch.port.deps.toml_text import TomlText


class _Collector:
    """Gathers what one pyproject.toml declares, in the order of the file's tables."""

    def __init__(self, toml: TomlText) -> None:
        self.toml = toml
        self.declared: list[Declared] = []
        self.options: list[IndexOption] = []
        self.python: list[PythonRange] = []
        self.not_read: list[NotRead] = []
        self.notes: list[str] = []

    def strings(self, values: Any, table: str, key: str, *, group: str = "", role: str = "runtime") -> None:
        for value in values if isinstance(values, list) else ():
            if not isinstance(value, str):
                continue
            line = self.toml.string_line(value, table, key)
            try:
                self.declared.append(parse(value, self.toml.shown, line, group=group, role=role))
            except ValueError as error:
                self.not_read.append(NotRead(self.toml.shown, line, str(error)))


def read_pyproject(path: Path, root: Path, shown: str, known: dict[Path, str]) -> Reading:
    """Everything a pyproject.toml says about dependencies, whichever tool it is written for."""
    toml = TomlText(path, shown)
    found = _Collector(toml)
    _project_table(found, path, root, known)
    _dependency_groups(found)
    build = toml.get("build-system", "requires")
    found.strings(build, "build-system", "requires", role="build")
    poetry = read_poetry(toml)
    found.declared += poetry.declared
    found.options += poetry.options
    found.python += poetry.python
    found.not_read += poetry.not_read
    _uv(found)
    _pdm_and_hatch(found)
    _tool_notes(found, path.parent)
    name = toml.get("project", "name") or toml.get("tool", "poetry", "name")
    return Reading(
        shown,
        "pyproject",
        tuple(_with_uv_sources(found.declared, toml)),
        tuple(found.options),
        tuple(found.python),
        tuple(found.not_read),
        tuple(found.notes),
        names=(normalize(name),) if isinstance(name, str) else (),
    )


def _project_table(found: _Collector, path: Path, root: Path, known: dict[Path, str]) -> None:
    toml = found.toml
    project = toml.get("project")
    if not isinstance(project, dict):
        return
    found.strings(project.get("dependencies"), "project", "dependencies")
    optional = project.get("optional-dependencies")
    for group, values in (optional if isinstance(optional, dict) else {}).items():
        found.strings(values, "project.optional-dependencies", group, group=normalize(group))
    wanted = project.get("requires-python")
    if isinstance(wanted, str):
        found.python.append(PythonRange(wanted, toml.shown, toml.key_line("requires-python", "project")))
    dynamic = project.get("dynamic") or []
    if "dependencies" in dynamic:
        _setuptools_dynamic(found, path, root, known)


def _setuptools_dynamic(found: _Collector, path: Path, root: Path, known: dict[Path, str]) -> None:
    """Dependencies kept in requirements files and named in `[tool.setuptools.dynamic]`."""
    toml = found.toml
    table = toml.get("tool", "setuptools", "dynamic")
    line = toml.key_line("dynamic", "project")
    if not isinstance(table, dict) or "dependencies" not in table:
        hatch = toml.get("tool", "hatch", "metadata", "hooks", "requirements_txt")
        names = hatch.get("files", hatch.get("filename")) if isinstance(hatch, dict) else None
        if names is None:
            found.not_read.append(
                NotRead(toml.shown, line, "dependencies are dynamic: the build backend computes them")
            )
            return
        _files(found, names, "", line, path, root, known)
        return
    optional = table.get("optional-dependencies")
    entries = [("", table["dependencies"])]
    entries += list(optional.items()) if isinstance(optional, dict) else []
    for group, entry in entries:
        _files(found, entry.get("file") if isinstance(entry, dict) else None, group, line, path, root, known)


def _files(
    found: _Collector, names: Any, group: str, line: int, path: Path, root: Path, known: dict[Path, str]
) -> None:
    for name in [names] if isinstance(names, str) else names or []:
        other = named_file(str(name), path, root)
        if isinstance(other, str):
            found.not_read.append(NotRead(found.toml.shown, line, other))
        elif known.get(other) != normalize(group):
            inner = read_requirements(other, root, group=normalize(group), known=known)
            found.declared += inner.declared
            found.options += inner.options
            found.not_read += inner.not_read


def _dependency_groups(found: _Collector) -> None:
    groups = found.toml.get("dependency-groups")
    if not isinstance(groups, dict):
        return
    for group in groups:
        found.strings(_expand(groups, group, ()), "dependency-groups", group, group=normalize(group))


def _expand(groups: dict[str, Any], group: str, seen: tuple[str, ...]) -> list[str]:
    """A PEP 735 group with its `include-group` entries replaced by what they name."""
    if group in seen:
        return []
    values: list[str] = []
    by_name = {normalize(name): entries for name, entries in groups.items()}
    entries = by_name.get(normalize(group), [])
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, str):
            values.append(entry)
        elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
            values += _expand(groups, entry["include-group"], (*seen, group))
    return values


def _uv(found: _Collector) -> None:
    toml = found.toml
    uv = toml.get("tool", "uv")
    if not isinstance(uv, dict):
        return
    found.strings(uv.get("dev-dependencies"), "tool.uv", "dev-dependencies", group="dev")
    found.strings(uv.get("override-dependencies"), "tool.uv", "override-dependencies", role="constraint")
    found.strings(uv.get("constraint-dependencies"), "tool.uv", "constraint-dependencies", role="constraint")
    for index in _tables(uv.get("index")):
        url = str(index.get("url", ""))
        found.options.append(IndexOption("uv-index", url, toml.shown, toml.string_line(url, "tool.uv")))
    for key, kind in (("index-url", "index-url"), ("extra-index-url", "extra-index-url"), ("find-links", "find-links")):
        values = uv.get(key)
        for value in [values] if isinstance(values, str) else values or []:
            found.options.append(IndexOption(kind, str(value), toml.shown, toml.key_line(key, "tool.uv")))


def _pdm_and_hatch(found: _Collector) -> None:
    toml = found.toml
    groups = toml.get("tool", "pdm", "dev-dependencies")
    for group, values in (groups if isinstance(groups, dict) else {}).items():
        found.strings(values, "tool.pdm.dev-dependencies", group, group=normalize(group))
    for source in _tables(toml.get("tool", "pdm", "source")):
        url = str(source.get("url", ""))
        found.options.append(IndexOption("extra-index-url", url, toml.shown, toml.string_line(url, "tool.pdm.source")))
    envs = toml.get("tool", "hatch", "envs")
    for name, env in (envs if isinstance(envs, dict) else {}).items():
        table = f"tool.hatch.envs.{name}"
        for key in ("dependencies", "extra-dependencies"):
            found.strings(env.get(key) if isinstance(env, dict) else None, table, key, group=f"hatch-{normalize(name)}")


def _tool_notes(found: _Collector, folder: Path) -> None:
    """Commands of the project's own tool that would put the locked torch back."""
    toml = found.toml
    sources = toml.get("tool", "uv", "sources")
    bound = [name for name in ("torch", "torchvision", "torchaudio") if isinstance(sources, dict) and name in sources]
    if bound:
        line = toml.key_line(bound[0], "tool.uv.sources")
        found.notes.append(
            f"{toml.shown}:{line}: [tool.uv.sources] ties {', '.join(bound)} to an index; on ROCm use uv pip install "
            "--no-deps, or an extra with PyTorch's rocm index (uv pip: --torch-backend=rocmX.Y)"
        )
    if toml.get("tool", "uv") is not None or (folder / "uv.lock").exists():
        found.notes.append("uv sync and uv run install the locked torch again: use uv run --no-sync")
    if toml.get("tool", "poetry", "dependencies") is not None or (folder / "poetry.lock").exists():
        found.notes.append("poetry install puts the locked torch back: use poetry run, or pip with the ROCm list")


def _tables(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _with_uv_sources(declared: Iterable[Declared], toml: TomlText) -> list[Declared]:
    """Requirements whose place `[tool.uv.sources]` gives: git, url, path or workspace member.

    pip knows nothing of that table, so the ROCm list has to spell the place out.
    """
    sources = toml.get("tool", "uv", "sources")
    by_name = {normalize(name): entry for name, entry in sources.items()} if isinstance(sources, dict) else {}
    result = []
    for requirement in declared:
        entries = by_name.get(requirement.name)
        if entries is None or requirement.url or requirement.local:
            result.append(requirement)
            continue
        options = [entry for entry in (entries if isinstance(entries, list) else [entries]) if isinstance(entry, dict)]
        result.append(_placed(requirement, options))
    return result


def _placed(requirement: Declared, sources: list[dict[str, Any]]) -> Declared:
    for source in sources:
        if "git" in source:
            revision = source.get("rev") or source.get("tag") or source.get("branch")
            url = "git+" + str(source["git"]).removeprefix("git+") + (f"@{revision}" if revision else "")
            if source.get("subdirectory"):
                url += f"#subdirectory={source['subdirectory']}"
            return replace(requirement, url=url, specifier="")
        if "url" in source:
            return replace(requirement, url=str(source["url"]), specifier="")
        if "path" in source:
            return replace(requirement, local=str(source["path"]), editable=bool(source.get("editable")))
        if source.get("workspace"):
            # The member's folder is found by its project name once all files are read.
            return replace(requirement, local=f"workspace:{requirement.name}", editable=True)
    return requirement
