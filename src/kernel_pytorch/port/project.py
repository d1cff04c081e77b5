"""A whole project: every rule over every file, on all cores, and the patches that come of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Edit, Finding, Held, Patch, Safety
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.core.worker_pool import worker_pool
from kernel_pytorch.port.build_files.cmake import with_twins
from kernel_pytorch.port.build_files.findcuda import findcuda_patches
from kernel_pytorch.port.build_files.makefile import derive_makefile, uses_nvcc
from kernel_pytorch.port.build_files.own_switches import is_build_for_amd, switch_macros, with_switches
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.deploy_files import deploy_patches
from kernel_pytorch.port.device_headers import device_headers
from kernel_pytorch.port.discover import Project
from kernel_pytorch.port.edits import EditSet
from kernel_pytorch.port.file_failure import failure_finding, not_looked_at
from kernel_pytorch.port.hipify.file import HipifyOptions
from kernel_pytorch.port.hipify.tree import Task, hipify_task, tasks_of
from kernel_pytorch.port.kernel_text import cxx_string_findings, kernel_string_findings
from kernel_pytorch.port.layouts import layout_named
from kernel_pytorch.port.layouts.compat_place import with_compat_header
from kernel_pytorch.port.layouts.cuda_headers import is_cuda_header_of_ours, with_cuda_headers
from kernel_pytorch.port.names.compat_header import COMPAT_HEADER, Needs, shim_headers
from kernel_pytorch.port.names.torch_headers import torch_header_findings
from kernel_pytorch.port.notebook import notebook_findings
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.python.rewrite import gate_edits
from kernel_pytorch.port.rules import rule_names, rules_for, run_rules
from kernel_pytorch.port.source import SourceFile, source_file
from kernel_pytorch.port.suppress import apply_suppressions
from kernel_pytorch.port.templates import is_written_by_us, placed
from kernel_pytorch.port.user_rule_edits import user_findings
from kernel_pytorch.port.user_rules import UserRule

OTHER_LANGUAGES = ("python", "cmake", "make")
MAX_PASSES = 4
_REVIEW = "needs a review: applied only when asked for"
_OVERLAPS = "overlaps an edit already made: run again"
_CHUNK = 64  # files per process task: large enough to pay for its start, small enough to keep memory flat


@dataclass(frozen=True)
class PortOptions:
    """How to port. `select` and `ignore` are codes or their beginnings: "KP3" is every wave rule."""

    layout: str = "single-source"
    wave: str = "logical32"
    unsafe: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    user_rules: tuple[UserRule, ...] = ()
    findings_only: bool = False  # a scan: rewritten files are not kept, so that memory does not grow with the tree

    def wants(self, code: str) -> bool:
        """Whether findings with this code are asked for."""
        if self.select and not code.startswith(self.select):
            return False
        return not (self.ignore and code.startswith(self.ignore))

    @property
    def rule_codes(self) -> tuple[str, ...]:
        return tuple(code for code in (name[:5].upper() for name in rule_names()) if self.wants(code))


@dataclass(frozen=True)
class FilePort:
    """What became of one file."""

    path: str
    findings: tuple[Finding, ...] = ()
    held: tuple[Held, ...] = ()
    patch: Patch | None = None
    translated: int = 0
    untranslated: int = 0
    needs: Needs | None = None


@dataclass(frozen=True)
class ProjectPort:
    """What became of all of them."""

    files: tuple[FilePort, ...]
    patches: tuple[Patch, ...] = field(default=())

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for item in self.files for finding in item.findings)

    @property
    def held(self) -> tuple[Held, ...]:
        return tuple(one for item in self.files for one in item.held)


def choose_layout(project: Project) -> str:
    """torch's own build renames names where a torch extension is built; elsewhere one source serves both."""
    for path in project.of("python"):
        if PurePosixPath(path).name.startswith("setup") or "ext" in path or "build" in path:
            data = read_bytes(project.root / path, project.root)
            if b"CUDAExtension" in data or b"cpp_extension" in data:
                return "torch-extension"
    return "single-source"


def _torch_headers(project: Project) -> Iterator[FilePort]:
    """The sources that need torch's CUDA headers, where no file of the project asks torch to build them."""
    if any(b"cpp_extension" in read_bytes(project.root / path, project.root) for path in project.of("python")):
        return
    for path in project.of("cuda", "c++"):
        data = read_bytes(project.root / path, project.root)
        if b"/cuda/" in data:
            found = tuple(torch_header_findings(cxx_file(path, data)))
            if found:
                yield FilePort(path, found)


def port_project(project: Project, options: PortOptions, workers: int | None = None) -> ProjectPort:
    """Scans every file and makes the patches. Writes nothing."""
    jobs: list[tuple[object, ...]] = []
    layout = layout_named(options.layout)
    sources = [project.root / path for path in project.of("cuda", "c++")]
    # Headers of our own are seen by the files that include them, and need no port.
    wanted = {path for path in (*project.of("cuda"), *device_headers(project)) if not _is_header_of_ours(path)}
    jobs += [(_port_cuda, task, options) for task in tasks_of(project.root, sources, chosen=wanted)]
    others = sorted(project.of(*OTHER_LANGUAGES))
    own = own_packages(project)
    jobs += [
        (_port_others, project.root, tuple(others[at : at + _CHUNK]), options, own)
        for at in range(0, len(others), _CHUNK)
    ]
    unread = [FilePort(one.path, (not_looked_at(one.path, one.reason),)) for one in project.unread]
    files = tuple(sorted([*unread, *_run(jobs, workers)], key=lambda item: item.path))
    patches = [item.patch for item in files if item.patch is not None]
    needs = {item.path: item.needs for item in files if item.needs is not None}
    if layout.has_one_header:
        patches = with_compat_header(project.root, patches, tuple(needs.values()), project.listed)
    if layout.is_built_by_torch:
        patches += [Patch(path, *sides) for path, sides in shim_headers(project.root, needs).items()]
        patches = with_cuda_headers(project.root, patches, tuple(needs.values()), project.of("cmake"))
    patches = placed(project.root, patches, project.of("python"))
    patches = findcuda_patches(project.root, patches, layout.writes_twins, project.of("cmake"))
    if layout.writes_twins:
        patches = [replace(patch, after=with_twins(patch.after)) for patch in patches]
    if not layout.is_built_by_torch and options.wants("KP410"):
        patches += _makefile_twins(project, in_place=not layout.writes_twins)
    if any(is_build_for_amd(patch) for patch in patches):
        patches = with_switches(patches, switch_macros(project.root, project.of("cuda", "c++"), project.of("cmake")))
    twins, deploy_findings = deploy_patches(project.root, project.listed)
    wanted_codes = [finding for finding in deploy_findings if options.wants(finding.code)]
    if not options.select or any(code.startswith("KP44") or "KP44".startswith(code) for code in options.select):
        patches += twins
    files += tuple(FilePort(finding.path, (finding,)) for finding in wanted_codes)
    if layout.has_one_header and options.wants("KP213"):
        files += tuple(_torch_headers(project))
    files += tuple(_notebook(project.root, path, options, own) for path in project.of("notebook"))
    return ProjectPort(files, tuple(patch for patch in patches if patch.before != patch.after))


def _is_header_of_ours(path: str) -> bool:
    return PurePosixPath(path).name == COMPAT_HEADER or is_cuda_header_of_ours(path)


def _run(jobs: Sequence[tuple[object, ...]], workers: int | None) -> Iterator[FilePort]:
    workers = workers or os.cpu_count() or 1
    if workers == 1 or len(jobs) < 3:
        for job in jobs:
            yield from _call(job)
        return
    with worker_pool(workers) as pool:
        waiting = [(job, pool.submit(_call, job)) for job in jobs]
        for job, future in waiting:
            try:
                yield from future.result()
            except BrokenProcessPool:  # a file on which the process itself died took all the others with it
                yield from _one_by_one(job)


def _one_by_one(job: tuple[object, ...]) -> Iterator[FilePort]:
    """Every file of a job in a process of its own. One that dies is said at its file."""
    for path, single in _files_of(job):
        with worker_pool(1) as pool:
            try:
                yield from pool.submit(_call, single).result()
            except BrokenProcessPool as problem:
                yield FilePort(path, (failure_finding(path, problem),))


def _files_of(job: tuple[object, ...]) -> Iterator[tuple[str, tuple[object, ...]]]:
    function, first, *rest = job
    if isinstance(first, Task):
        yield from ((path, (function, replace(first, chosen=(path,)), *rest)) for path in first.chosen)
    else:
        paths, *others = rest
        assert isinstance(paths, tuple)
        yield from ((path, (function, first, (path,), *others)) for path in paths)


def _call(job: tuple[object, ...]) -> list[FilePort]:
    function, *arguments = job
    assert callable(function)
    result: list[FilePort] = function(*arguments)
    options = next(item for item in arguments if isinstance(item, PortOptions))
    return [FilePort(item.path, item.findings) for item in result if item.findings] if options.findings_only else result


def _port_cuda(task: Task, options: PortOptions) -> list[FilePort]:
    layout = layout_named(options.layout)
    beside = layout.is_built_by_torch
    chosen = HipifyOptions(options.layout, options.wave, options.rule_codes, options.unsafe, beside)
    done = []
    for result in hipify_task(task, chosen):
        before = None if layout.writes_twins else result.before
        found = (*result.findings, *_in_strings(result.path, result.before, options))
        patch = Patch(layout.written_name(result.path), before, result.after, tuple(sorted(set(result.applied))))
        done.append(
            FilePort(
                result.path,
                tuple(finding for finding in sorted(found, key=_place) if options.wants(finding.code)),
                result.held,
                patch if result.changed or (layout.writes_twins and not result.is_failed) else None,
                result.translated,
                result.untranslated,
                result.needs,
            )
        )
    return done


def _place(finding: Finding) -> tuple[int, int, str]:
    return finding.line, finding.col, finding.code


def _in_strings(path: str, data: bytes, options: PortOptions) -> tuple[Finding, ...]:
    try:
        return tuple(apply_suppressions(data, path, cxx_string_findings(cxx_file(path, data), options.rule_codes)))
    except Exception as problem:
        return (failure_finding(path, problem),)


def own_packages(project: Project) -> frozenset[str]:
    """The top-level Python packages of a project, below its root or its src folder."""
    homes = (PurePosixPath(path).parent for path in project.of("python") if path.endswith("/__init__.py"))
    return frozenset(home.name for home in homes if home.parent.as_posix() in (".", "src", "python"))


def _makefile_twins(project: Project, in_place: bool) -> list[Patch]:
    """Makefile.hip beside every Makefile whose twin can be derived.

    It builds the .hip files of the copy layout or, `in_place`, the .cu files with their gates open.
    """
    patches = []
    for path in project.of("make"):
        text = read_bytes(project.root / path, project.root).decode("utf-8", "surrogateescape")
        twin = derive_makefile(text, PurePosixPath(path).name, in_place).text if uses_nvcc(text) else None
        if twin is not None and not (project.root / f"{path}.hip").exists():
            patches.append(Patch(f"{path}.hip", None, twin.encode("utf-8", "surrogateescape"), ("KP410",)))
    return patches


def _port_others(
    root: Path, paths: Sequence[str], options: PortOptions, own: frozenset[str] = frozenset()
) -> list[FilePort]:
    done = []
    for path in paths:
        try:
            plain = source_file(path, read_bytes(root / path, root))
            src = replace(plain, project_packages=own, project_root=root)
            done.append(FilePort(path) if is_written_by_us(src.data) else port_plain_file(src, options))
        except Exception as problem:
            done.append(FilePort(path, (failure_finding(path, problem),)))
    return done


def _notebook(root: Path, path: str, options: PortOptions, own: frozenset[str]) -> FilePort:
    try:
        return FilePort(path, notebook_findings(path, read_bytes(root / path, root), options.rule_codes, own))
    except Exception as problem:
        return FilePort(path, (failure_finding(path, problem),))


def port_plain_file(src: SourceFile, options: PortOptions) -> FilePort:
    """One file that is not C++: its rules' findings, and the file with those that may be applied.

    Of edits that overlap the first is made, and the file is looked at again: the next run must find nothing to do.
    """
    first = _one_pass(src, options)
    if first.patch is None or not any(item.reason == _OVERLAPS for item in first.held):
        return first
    patch, codes = first.patch, set(first.patch.codes)
    for _ in range(MAX_PASSES - 1):
        again = _one_pass(replace(src, data=patch.after), options)
        left = {finding.code for finding in again.findings}
        if again.patch is None:
            break
        patch = again.patch
        codes.update(patch.codes)
    held = tuple(item for item in first.held if item.reason != _OVERLAPS or item.finding.code in left)
    return FilePort(src.path, first.findings, held, Patch(src.path, src.data, patch.after, tuple(sorted(codes))))


def _one_pass(src: SourceFile, options: PortOptions) -> FilePort:
    rules = [loaded for loaded in rules_for(src.language) if options.wants(loaded.rule.code)]
    found = list(run_rules(rules, src))
    if src.language == "python" and options.user_rules:
        found += user_findings(src, [rule for rule in options.user_rules if options.wants(rule.code)])
    module = python_module(src) if src.language == "python" else None
    if module is not None:
        found += [one for one in kernel_string_findings(module, options.rule_codes) if options.wants(one.code)]
    elif src.language == "python" and src.data.strip():
        found.append(Finding("KP001", src.path, 1, 1, "Python cannot parse it: not looked at", Safety.MANUAL))
    findings = sorted(apply_suppressions(src.data, src.path, found), key=lambda item: (item.line, item.col, item.code))
    edits = EditSet()
    applied: list[Edit] = []
    codes: set[str] = set()
    held: list[Held] = []
    for finding in findings:
        if not finding.edits:
            continue
        if finding.safety is Safety.REVIEW and not options.unsafe:
            held.append(Held(finding, _REVIEW))
        elif edits.add(finding.edits):
            applied.extend(finding.edits)
            codes.add(finding.code)
        else:
            held.append(Held(finding, _OVERLAPS))
    if module is not None:
        edits.add(gate_edits(module, applied))
    after = edits.apply(src.data)
    patch = Patch(src.path, src.data, after, tuple(sorted(codes))) if after != src.data else None
    return FilePort(src.path, tuple(findings), tuple(held), patch)
