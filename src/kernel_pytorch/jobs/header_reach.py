"""Brings headers within reach of torch's hipify, which reads less than the compiler does (KP821)."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Edit, Patch, Safety, Span
from kernel_pytorch.jobs.install_patches import Repaired, codes_with, contents, on_original, proven_patch, with_patch
from kernel_pytorch.jobs.proof import verdict_on
from kernel_pytorch.port.cxx.compiled_on_rocm import is_compiled
from kernel_pytorch.port.cxx.includes import include_closure, includes_of
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.layouts.gates import behind_gates
from kernel_pytorch.port.names.rename import name_file
from kernel_pytorch.port.python import run_time_build
from kernel_pytorch.port.python.hipified_suffixes import unread_suffixes, with_suffixes
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.source import source_file
from kernel_pytorch.verify.install.judge import judged
from kernel_pytorch.verify.install.out_of_reach import OutOfReach, out_of_reach
from kernel_pytorch.verify.install.record import InstallTrial

_OF_TORCH = re.compile(rb"\b(?:at|c10)::cuda\b|\b(?:ATen|c10)/cuda/")


def within_reach(root: Path, done: Repaired, trial: InstallTrial) -> Repaired:
    """Headers that hipify does not find.

    hipify is told to read them, their folder is named, the include gives their path, or we rename in them.
    """
    done, read = _with_suffixes_read(root, done, trial)
    done, named = _with_named_folders(root, done, trial)
    edits: dict[str, EditSet] = {}
    settled: dict[str, list[OutOfReach]] = {}
    for one in out_of_reach(trial):
        if one in read or (one in named and not one.climbs):
            continue
        if one in named:
            path, group = one.path, _included_as(root, done.patches, one, PurePosixPath(one.header).name)
        elif one.is_followed_in(trial):
            path, group = one.path, _included_as(root, done.patches, one, one.from_here)
        else:
            path, group = one.header, _hip_names(root, done.patches, one.header) if one.header not in edits else ()
        if (root / path).resolve() != root.resolve() / path:
            continue  # behind a link: what it leads to may be used by others as well, and no port writes through links
        for edit in group:
            edits.setdefault(path, EditSet()).add([edit])
        settled.setdefault(path, []).append(one)
    for path, every in edits.items():
        data, original = contents(root, done.patches, path)
        known = next((one for one in done.patches if one.path == path), None)
        patch = Patch(path, original, behind_gates(cxx_file(path, data), every).data, codes_with(known, "KP821"))
        verdict = verdict_on(patch)
        if verdict is None or verdict.is_proven:
            made = tuple(Edit(Span(start, end), text) for start, end, text in every)
            done = _settled(done, trial, settled[path], patch, made)
    return done


def _settled(
    done: Repaired, trial: InstallTrial, headers: Sequence[OutOfReach], patch: Patch, edits: tuple[Edit, ...]
) -> Repaired:
    """One more patch; the findings about the headers that it brings within reach are automatic with it."""
    places = {(one.path, one.line) for one in headers}
    found = (one for one in judged(trial) if one.code == "KP821" and (one.path, one.line) in places)
    shown = (replace(on_original(done.patches, one), safety=Safety.SAFE, edits=edits) for one in found)
    return Repaired(with_patch(done.patches, patch), (*done.findings, *shown))


def _with_suffixes_read(root: Path, done: Repaired, trial: InstallTrial) -> tuple[Repaired, list[OutOfReach]]:
    """hipify told to read what the unread headers are called, and what those include; and the headers meant."""
    waiting = [one for one in out_of_reach(trial) if unread_suffixes([one.header])]
    places = {one.name: one.made_at.path for one in trial.rocm.extensions if one.made_at is not None}
    read: list[OutOfReach] = []
    for path in sorted({places[one.extension] for one in waiting if one.extension in places}):
        headers = [one for one in waiting if places.get(one.extension) == path]
        closure = (reached for one in headers for reached in include_closure(trial.tree / one.header, trial.tree))
        suffixes = unread_suffixes((*(one.header for one in headers), *map(str, closure)))
        module = python_module(source_file(path, contents(root, done.patches, path)[0]))
        edits = with_suffixes(module, suffixes) if module is not None else ()
        patch = proven_patch(root, done.patches, path, edits, "KP821") if edits else None
        if patch is not None:
            done = _settled(done, trial, headers, patch, edits)
            read += headers
    return done, read


def _with_named_folders(root: Path, done: Repaired, trial: InstallTrial) -> tuple[Repaired, list[OutOfReach]]:
    """The folders of headers among the `extra_include_paths` of a build at run time, and the headers in them."""
    named: list[OutOfReach] = []
    every = out_of_reach(trial)
    for extension in trial.rocm.extensions:
        headers = [one for one in every if one.extension == extension.name and one.folder is not None]
        place = extension.made_at
        if extension.kind != "load" or place is None or not headers:
            continue
        home = PurePosixPath(place.path).parent
        # hipify follows no include with ".." in it from a folder that is named: there the header's own is.
        places = (PurePosixPath(one.header).parent if one.climbs else one.folder or "" for one in headers)
        folders = dict.fromkeys(os.path.relpath(place, home) for place in places)
        module = python_module(source_file(place.path, contents(root, done.patches, place.path)[0]))
        edits = run_time_build.with_include_folders(module, place.line, tuple(folders)) if module is not None else ()
        patch = proven_patch(root, done.patches, place.path, edits, "KP821") if edits else None
        if patch is not None:
            done = _settled(done, trial, headers, patch, edits)
            named += headers
    return done, named


def _included_as(root: Path, patches: Sequence[Patch], one: OutOfReach, name: str) -> tuple[Edit, ...]:
    data, _ = contents(root, patches, one.path)
    found = (item for item in includes_of(data) if item.name == one.include.name)
    return tuple(Edit(Span(item.start, item.end), f'"{name}"'.encode()) for item in found)[:1]


def _hip_names(root: Path, patches: Sequence[Patch], header: str) -> tuple[Edit, ...]:
    """HIP's names in a header. None where it uses torch's: how a ROCm torch calls those differs by version."""
    data, _ = contents(root, patches, header)
    src = cxx_file(header, data)
    if _OF_TORCH.search(data):
        return ()
    groups = name_file(src, frozenset(), lambda include: (root / header).parent.joinpath(include.name).is_file()).groups
    return tuple(edit for _, group in groups for edit in group if is_compiled(src, edit.span.start))
