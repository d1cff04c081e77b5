"""What a project says about its own verification: `[tool.kernel_pytorch.verify]` in its pyproject.toml.

[tool.kernel_pytorch.verify]
programs = ["csrc/selfcheck.cu"]            # self-checking programs: exit 0 means right
entry_points = ["fused_norm.model:example"] # module:function returning (model, inputs), run on the CPU
tests = ["tests"]                            # what pytest is given, on emulated GPUs, before the port and after
golden = ["fused_norm.model:example = golden/example", "csrc/selfcheck.cu = golden/selfcheck"]
include_dirs = ["third_party/glm"]           # where kernels find headers, besides the usual places
triton_spec = "kernels.json"                 # types and constants of Triton kernels, as for `kpt inspect --spec`
iterations = 100
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.core.toml_file import read_toml

KEYS = ("programs", "entry_points", "tests", "golden", "include_dirs", "triton_spec", "iterations")


@dataclass(frozen=True)
class VerifySettings:
    """The table, as values. `golden` are pairs of a target (an entry point, or a program's source) and its record."""

    programs: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()
    golden: tuple[tuple[str, str], ...] = ()
    iterations: int = 100
    include_dirs: tuple[str, ...] = ()
    triton_spec: str = ""
    tests: tuple[str, ...] = ()


def read_verify_settings(root: Path) -> VerifySettings:
    """The table of a project folder; the defaults where there is none. Raises UsageError for what does not fit."""
    file = root / "pyproject.toml"
    if b"kernel_pytorch" not in (read_if_there(file) or b""):
        return VerifySettings()
    table = read_toml(file).get("tool", {}).get("kernel_pytorch", {}).get("verify", {})
    where = f"{file}: [tool.kernel_pytorch.verify]"
    if not isinstance(table, dict):
        raise UsageError(f"{where} is not a table")
    unknown = [key for key in table if key not in KEYS]
    if unknown:
        raise UsageError(f"{where} has no key {unknown[0]!r}; known keys: {', '.join(KEYS)}")
    iterations = table.get("iterations", 100)
    if not isinstance(iterations, int) or isinstance(iterations, bool) or iterations < 1:
        raise UsageError(f"{where} iterations = {iterations!r}: a positive number")
    pairs = tuple(_pair(where, text) for text in _strings(where, "golden", table))
    programs = _strings(where, "programs", table)
    for name in programs:
        if not (root / name).is_file():
            raise UsageError(f"{where} programs: {name} is not a file of the project")
    folders = _strings(where, "include_dirs", table)
    for name in folders:
        if not (root / name).is_dir():
            raise UsageError(f"{where} include_dirs: {name} is not a folder")
    spec = table.get("triton_spec", "")
    if not isinstance(spec, str) or (spec and not (root / spec).is_file()):
        raise UsageError(f"{where} triton_spec = {spec!r}: the name of a file of the project")
    tests = _strings(where, "tests", table)
    return VerifySettings(programs, _strings(where, "entry_points", table), pairs, iterations, folders, spec, tests)


def header_folders(root: Path, given: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Where a project's builds find headers of libraries: the folders of its table, and those that a caller names."""
    for folder in given:
        if not folder.is_dir():
            raise UsageError(f"-I {folder}: no such directory")
    named = (root / name for name in read_verify_settings(root).include_dirs)
    return tuple(dict.fromkeys((*(one.resolve() for one in given), *named)))


def _strings(where: str, key: str, table: dict[str, Any]) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise UsageError(f'{where} {key} = {value!r}: a list of strings, such as {key} = ["..."]')
    return tuple(value)


def _pair(where: str, text: str) -> tuple[str, str]:
    target, equals, folder = text.partition("=")
    if not equals or not target.strip() or not folder.strip():
        raise UsageError(f'{where} golden: {text!r}: expected "module:function = folder" or "program.cu = folder"')
    return target.strip(), folder.strip()
