"""Where the CUDA and the ROCm run of a build description part: the conditions that came out differently."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from kernel_pytorch.verify.install.record import InstallRecord, Place


def parting_conditions(cuda: InstallRecord, rocm: InstallRecord, tree: Path) -> tuple[Place, ...]:
    """Each `if` and `while` of the project that took one branch on CUDA and another on ROCm, in the order of files."""
    theirs = {one.path: set(one.lines) for one in rocm.lines}
    found = []
    for ran in cuda.lines:
        try:
            module = ast.parse((tree / ran.path).read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        found += [Place(ran.path, line) for line in _parting(module, set(ran.lines), theirs.get(ran.path, set()))]
    return tuple(found)


def _parting(module: ast.Module, cuda: set[int], rocm: set[int]) -> Iterator[int]:
    for node in ast.walk(module):
        if not isinstance(node, (ast.If, ast.While)) or not {node.lineno, node.test.lineno} & cuda & rocm:
            continue
        if _entered(node.body, cuda) != _entered(node.body, rocm):
            yield node.lineno


def _entered(body: list[ast.stmt], ran: set[int]) -> bool:
    return body[0].lineno in ran
