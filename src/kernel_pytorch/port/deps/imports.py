"""Which modules import torch and which import the JAX stack, without importing anything."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.cxx.includes import is_third_party
from kernel_pytorch.port.deps.model import JaxUse
from kernel_pytorch.port.settings import listing_of

JAX_MODULES = frozenset(
    """jax jaxlib flax optax chex orbax equinox haiku diffrax optimistix lineax numpyro blackjax distrax rlax brax
    jraph augmax clu jaxopt t5x scenic penzai gymnax evosax""".split()  # noqa: SIM905
)
_QUICK = re.compile(rb"^\s*(?:import|from)\s+(\w+)", re.MULTILINE)
MAX_FILE_BYTES = 2_000_000


def python_files(root: Path) -> Iterator[Path]:
    """The Python files of a repository, third-party folders left out, in a stable order."""
    if root.is_file():
        if root.suffix == ".py":
            yield root
        return
    for name in sorted(listing_of(root).names, key=lambda one: (PurePosixPath(one).parent.parts, one)):
        if name.endswith(".py") and not is_third_party(PurePosixPath(name)):
            path = root / name
            if not path.is_symlink():  # what it leads to is listed itself
                yield path


def scan_imports(root: Path) -> JaxUse:
    """Which modules need JAX to be imported at all, use it behind a guard, or need both JAX and torch."""
    unconditional: list[str] = []
    guarded: list[str] = []
    both: list[str] = []
    torch_modules = 0
    for path in python_files(root):
        try:
            data = read_bytes(path, limit=MAX_FILE_BYTES)
        except OSError:
            continue
        named = {match.decode() for match in _QUICK.findall(data)}
        torch_modules += "torch" in named
        if not named & JAX_MODULES:
            continue
        shown = path.relative_to(root).as_posix()
        needed = _needs_jax(data)
        (unconditional if needed else guarded).append(shown)
        if needed and "torch" in named:
            both.append(shown)
    return JaxUse(tuple(unconditional), tuple(guarded), tuple(both), torch_modules)


def _needs_jax(data: bytes) -> bool:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return True
    return any(_imports_jax(statement) for statement in tree.body)


def _imports_jax(statement: ast.stmt) -> bool:
    """Whether running this module-level statement imports JAX and nothing catches the failure."""
    if isinstance(statement, ast.Import):
        return any(alias.name.split(".")[0] in JAX_MODULES for alias in statement.names)
    if isinstance(statement, ast.ImportFrom):
        return statement.level == 0 and (statement.module or "").split(".")[0] in JAX_MODULES
    if isinstance(statement, ast.ClassDef):
        return any(_imports_jax(inner) for inner in statement.body)
    # Under `if` (TYPE_CHECKING, availability flags) and `try` the module can be written to survive.
    return False
