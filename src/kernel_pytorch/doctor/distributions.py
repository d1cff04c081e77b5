"""What pip's records say is installed, when, and who asked for it.

Read from the `*.dist-info` folders directly: no import of any package, and any folder can be looked at, so a
test can lay one out. pip and uv write INSTALLER and RECORD last, so their time is when the package arrived.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.read_file import read_text

# Packages of one `pip install` arrive one after the other; a torch wheel alone takes a while to unpack.
SAME_RUN_GAP_S = 120.0


@dataclass(frozen=True)
class Distribution:
    """One installed package as its dist-info describes it."""

    name: str  # normalised: lower case, dashes
    version: str
    path: Path
    installed_at: float = 0.0
    requested: bool = False  # named on pip's command line, not pulled in by another package
    installer: str = ""
    origin: str = ""  # where it came from, if pip wrote it down (a URL, a folder)
    requires: tuple[str, ...] = ()  # Requires-Dist lines, without those of extras
    requires_python: str = ""

    @property
    def required_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(requirement_name(line) for line in self.requires))

    def requirement_on(self, name: str) -> str:
        """The line that asks for a package, empty if none does."""
        return next((line for line in self.requires if requirement_name(line) == name), "")


def normalise(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirement_name(line: str) -> str:
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", line)
    return normalise(match.group(1)) if match else ""


def requirement_specifier(line: str) -> str:
    """`triton==3.5.1; platform_system == "Linux"` asks for ==3.5.1."""
    rest = re.sub(r"^\s*[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^\]]*\])?", "", line.partition(";")[0])
    return rest.strip().strip("()").strip()


def read_distributions(folders: Iterable[str]) -> tuple[Distribution, ...]:
    """Every distribution on a search path; where a name occurs twice the first folder wins, as for imports."""
    found: dict[str, list[Distribution]] = {}
    for folder in dict.fromkeys(folders):
        here: dict[str, list[Distribution]] = {}
        for info in _dist_infos(Path(folder)):
            item = _read(info)
            if item is not None:
                here.setdefault(item.name, []).append(item)
        for name, items in here.items():
            found.setdefault(name, items)
    return tuple(item for items in found.values() for item in items)


def _dist_infos(folder: Path) -> list[Path]:
    try:
        return sorted(folder.glob("*.dist-info"))
    except OSError:
        return []


def _read(info: Path) -> Distribution | None:
    headers = _headers(info / "METADATA")
    if not headers.get("name"):
        return None
    requires = tuple(line for line in headers.get("requires-dist", ()) if not re.search(r"\bextra\s*==", line))
    return Distribution(
        name=normalise(headers["name"][0]),
        version=headers.get("version", [""])[0],
        path=info,
        installed_at=_arrival(info),
        requested=(info / "REQUESTED").exists(),
        installer=_text(info / "INSTALLER").strip(),
        origin=_origin(info),
        requires=requires,
        requires_python=headers.get("requires-python", [""])[0],
    )


def _headers(path: Path) -> dict[str, list[str]]:
    headers: dict[str, list[str]] = {}
    for line in _text(path).splitlines():
        if not line.strip():
            break  # the description follows
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            headers.setdefault(key.lower(), []).append(value.strip())
    return headers


def _origin(info: Path) -> str:
    match = re.search(r'"url"\s*:\s*"([^"]+)"', _text(info / "direct_url.json"))
    return match.group(1) if match else ""


def _arrival(info: Path) -> float:
    for name in ("INSTALLER", "RECORD", "METADATA"):
        try:
            return (info / name).stat().st_mtime
        except OSError:
            continue
    return 0.0


def _text(path: Path) -> str:
    try:
        return read_text(path, errors="replace")
    except OSError:
        return ""


def same_run(distributions: Iterable[Distribution], member: Distribution) -> tuple[Distribution, ...]:
    """The packages that arrived in the same installation run as `member`, in order of arrival."""
    ordered = sorted(distributions, key=lambda item: item.installed_at)
    runs: list[list[Distribution]] = []
    for item in ordered:
        if runs and item.installed_at - runs[-1][-1].installed_at <= SAME_RUN_GAP_S:
            runs[-1].append(item)
        else:
            runs.append([item])
    return tuple(next((run for run in runs if member in run), [member]))


def requirement_path(start: str, goal: str, by_name: Mapping[str, Distribution]) -> tuple[str, ...]:
    """The shortest chain of requirements from one installed package to another, empty if there is none."""
    queue: deque[tuple[str, ...]] = deque([(start,)])
    seen = {start}
    while queue:
        path = queue.popleft()
        if path[-1] == goal:
            return path
        here = by_name.get(path[-1])
        for name in here.required_names if here else ():
            if name not in seen and (name in by_name or name == goal):
                seen.add(name)
                queue.append((*path, name))
    return ()
