"""Applies repairs to patches: at the user's own line, behind a gate where the line is not ROCm's already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kernel_pytorch.core.findings import Edit, Patch, Span
from kernel_pytorch.port.cxx.compiled_on_rocm import is_within, left_out_on_cuda
from kernel_pytorch.port.cxx.source import CxxFile, cxx_file
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.layouts.gates import behind_gates
from kernel_pytorch.port.repairs import all_repairs
from kernel_pytorch.port.repairs.complaint import Complaint, Spot
from kernel_pytorch.port.repairs.repair import Around, RepairPlace

# Code, path, the line as it was and the column, and which of several lines like it: a repair is tried once at a place.
Key = tuple[str, str, bytes, int, int]


@dataclass(frozen=True)
class Repaired:
    """What one complaint was answered with."""

    code: str
    spot: Spot
    complaint: Complaint


@dataclass(frozen=True)
class Round:
    """All patches after a round of repairs, and the repairs that were made."""

    patches: tuple[Patch, ...]
    made: tuple[Repaired, ...]


def repair_round(
    complaints: Iterable[Complaint],
    patches: Sequence[Patch],
    read: Callable[[str], bytes | None],
    tried: set[Key],
    is_proven: Callable[[Patch], bool],
    is_mentioned_beside: Callable[[str, bytes], bool] = lambda path, name: False,
) -> Round:
    """Answers each complaint with the first repair that has an edit. `read` gives a file that no patch changes;
    `is_mentioned_beside` says whether a file of the project besides `path` has a word.

    `tried` grows: what is in it is not tried again, so that repairs cannot undo each other for ever.
    """
    current = {patch.path: patch for patch in patches}
    files: dict[str, CxxFile] = {}
    edits: dict[str, EditSet] = {}
    made: list[Repaired] = []

    def file(path: str) -> CxxFile | None:
        src = files.get(path) or _load(path, current, read)
        if src is not None:
            files[path] = src
        return src

    for complaint in complaints:
        for spot in complaint.spots:
            src = file(spot.path)
            if src is None:
                continue
            around = Around(partial(is_mentioned_beside, spot.path), file)
            repaired = _repair(src, spot, complaint, edits.setdefault(spot.path, EditSet()), tried, around)
            if repaired is not None:
                made.append(repaired)
                break
    kept: list[Repaired] = []
    for path, group in edits.items():
        codes = [one.code for one in made if one.spot.path == path]
        patch = _patched(files[path], group, current.get(path), codes)
        if patch is not None and is_proven(patch):
            current[path] = patch
            kept += [one for one in made if one.spot.path == path]
    return Round(tuple(current.values()), tuple(kept))


def _load(path: str, current: Mapping[str, Patch], read: Callable[[str], bytes | None]) -> CxxFile | None:
    patch = current.get(path)
    if patch is not None and patch.before is None:
        return None  # written by us
    data = patch.after if patch is not None else read(path)
    return cxx_file(path, data) if data is not None else None


def _repair(
    src: CxxFile,
    spot: Spot,
    complaint: Complaint,
    edits: EditSet,
    tried: set[Key],
    around: Around,
) -> Repaired | None:
    if spot.line > src.data.count(b"\n") + 1:
        return None
    offset = min(src.offset(spot.line, max(spot.column, 1)), len(src.data))
    start, end = src.line_span(min(offset, max(len(src.data) - 1, 0)))
    for loaded in all_repairs():
        found = loaded.repair.message.search(complaint.text)
        if found is None:
            continue
        group = loaded.edits(RepairPlace(src, offset, complaint, found, around))
        line = src.data[start:end]
        key = (loaded.repair.code, spot.path, line, offset - start, src.data.count(line, 0, start))
        if group and key not in tried and edits.add(group):
            tried.add(key)
            return Repaired(loaded.repair.code, spot, complaint)
    return None


def _patched(src: CxxFile, edits: EditSet, patch: Patch | None, codes: Iterable[str]) -> Patch | None:
    """The file with the edits: as they are on lines that only ROCm compiles, behind a gate elsewhere."""
    only_rocm = left_out_on_cuda(src)
    plain, gated = EditSet(), EditSet()
    for start, end, text in edits:
        (plain if is_within(start, only_rocm) else gated).add([Edit(Span(start, end), text)])
    after = _with_both(src, plain, gated)
    if after == src.data:
        return None
    before = patch.before if patch is not None else src.data
    every = tuple(sorted({*(patch.codes if patch is not None else ()), *codes}))
    return Patch(src.path, before, after, every)


def _with_both(src: CxxFile, plain: EditSet, gated: EditSet) -> bytes:
    first = replace(src, data=plain.apply(src.data))
    moved = EditSet()
    for start, end, text in gated:
        shift = sum(len(new) - (last - begin) for begin, last, new in plain if begin < start)
        moved.add([Edit(Span(start + shift, end + shift), text)])
    return behind_gates(first, moved).data
