"""The patches of a port while trials of its install change them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernel_pytorch.core.findings import Edit, Finding, Patch
from kernel_pytorch.core.read_file import read_if_there
from kernel_pytorch.jobs.proof import verdict_on
from kernel_pytorch.port.builds.hipified_tree import line_map
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.python.rewrite import gate_edits
from kernel_pytorch.port.source import source_file


@dataclass(frozen=True)
class Repaired:
    """The patches with the gates that the trials asked for, and one automatic finding for each gate."""

    patches: tuple[Patch, ...]
    findings: tuple[Finding, ...] = ()


def contents(root: Path, patches: Sequence[Patch], path: str) -> tuple[bytes, bytes]:
    """The file as it is now, and its text before the port."""
    patch = next((one for one in patches if one.path == path), None)
    original = (patch.before if patch is not None else read_if_there(root / path, root)) or b""
    return (patch.after if patch is not None else original), original


def on_original(patches: Sequence[Patch], finding: Finding) -> Finding:
    """A finding in a patched file, on the line that the user has."""
    patch = next((one for one in patches if one.path == finding.path and one.before is not None), None)
    if patch is None or patch.before is None:
        return finding
    return replace(finding, line=line_map(patch.before, patch.after).get(finding.line, finding.line))


def proven_patch(root: Path, patches: Sequence[Patch], path: str, edits: Sequence[Edit], code: str) -> Patch | None:
    """A build description with some edits, where they go together, parse, and leave the NVIDIA path alone."""
    data, original = contents(root, patches, path)
    src = source_file(path, data)
    every = EditSet()
    module = python_module(src) if src.language == "python" else None
    if module is not None:
        every.add(gate_edits(module, edits))  # first: of two insertions at one place the gate's definition leads
    for edit in edits:
        every.add([edit])
    after = every.apply(data)
    known = next((one for one in patches if one.path == path), None)
    patch = Patch(path, known.before if known else original, after, codes_with(known, code))
    verdict = verdict_on(patch)
    is_broken = module is not None and python_module(source_file(path, after)) is None
    return None if is_broken or (verdict is not None and not verdict.is_proven) else patch


def codes_with(known: Patch | None, code: str) -> tuple[str, ...]:
    """The codes of a patch, if there is one, and one more."""
    return tuple(sorted({*(known.codes if known else ()), code}))


def with_patch(patches: Sequence[Patch], patch: Patch) -> tuple[Patch, ...]:
    return (*(one for one in patches if one.path != patch.path), patch)
