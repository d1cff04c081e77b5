"""The port of a project to ROCm, as a diff; `--write` applies it, `--out DIR` makes a ported copy.

    kpt port PATH                    the diff; nothing is changed
    kpt port PATH --write            all files or none
    kpt port PATH --out ported       a ported copy
    kpt port PATH --arch gfx942,gfx1100 --html port.html

Every change is inside a gate or in a new file. Before anything is shown or written, the isolation check folds the gates
to "not ROCm" and compares with the original; a file that fails is left as it was and reported. Where a HIP compiler is
found, the ported sources are built for `--arch`, and what does not compile is shown. Defaults come from
`[tool.kernel_pytorch]` in the project's pyproject.toml; what is said here wins.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kernel_pytorch.cli.scan import add_selection, file_counts, pages_of, project_name, settings_of
from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.core.findings import CheckResult, Patch
    from kernel_pytorch.port.discover import Project
    from kernel_pytorch.port.project import ProjectPort
    from kernel_pytorch.port.user_rules import UserRule
    from kernel_pytorch.verify.isolation import FileVerdict

GUARD = "rocm_compile_guard.py"
# What --add writes: the file, its template, and the rule whose page says what it is for.
ADDED = {
    "fp8": ("_rocm_fp8.py", "rocm_fp8.py", "KP543"),
    "graph-check": ("_rocm_graph_check.py", "rocm_graph_check.py", "KP701"),
}
_NOT_PACKAGES = ("tests", "test", "examples", "docs", "benchmarks", "scripts")
SUMMARY = "the port of a project, as a diff; --write applies it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", type=Path, metavar="PATH", help="the project folder")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--write", action="store_true", help="apply the port to the project")
    where.add_argument("--out", type=Path, metavar="DIR", help="write a ported copy of the project")
    parser.add_argument(
        "--layout",
        choices=("auto", "copy", "single-source", "torch-extension"),
        help="how C++ is ported (auto: torch-extension if torch builds the project's extension, else single-source)",
    )
    parser.add_argument(
        "--unsafe", action=argparse.BooleanOptionalAction, help="apply edits that need a review as well"
    )
    parser.add_argument("--arch", metavar="LIST", help="targets to build the ported sources for (default gfx942)")
    parser.add_argument("--no-build", action="store_true", help="do not build what was ported")
    parser.add_argument(
        "--compile-guard",
        action="store_true",
        help="add rocm_compile_guard.py, which keeps torch.compile from capturing graphs also inside libraries",
    )
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        choices=sorted(ADDED),
        help="add a file to use by hand: fp8 (checkpoints, scaled products), graph-check (a replay against eager)",
    )
    parser.add_argument("--json", action="store_true", help="the report as JSON on stdout instead of the diff")
    add_selection(parser)


def run(args: argparse.Namespace) -> int:
    from kernel_pytorch.core.findings import to_plain
    from kernel_pytorch.port.apply import apply_patches
    from kernel_pytorch.port.discover import discover
    from kernel_pytorch.port.layouts import layout_named
    from kernel_pytorch.port.project import PortOptions, choose_layout, port_project
    from kernel_pytorch.port.settings import AUTO, checked_targets, without_excluded
    from kernel_pytorch.report.diff import unified_diff
    from kernel_pytorch.report.port_report import action

    if not args.path.is_dir():
        raise UsageError(f"{args.path}: no such folder")
    settings, rules = settings_of(args)
    targets = settings.targets if args.arch is None else checked_targets(args.arch.split(","), "--arch")
    layout = args.layout or settings.layout
    if args.out is not None and args.out.exists():
        raise UsageError(f"{args.out}: already exists; name a folder that does not")
    project = without_excluded(discover(args.path), settings.exclude)
    layout = choose_layout(project) if layout == AUTO else layout
    if layout_named(layout).writes_twins and args.write:
        raise UsageError(
            "--layout copy makes twins of headers under the same name: write them elsewhere with --out DIR"
        )
    unsafe = settings.unsafe if args.unsafe is None else args.unsafe
    options = PortOptions(layout, args.wave, unsafe, settings.select, settings.ignore, rules)
    result = port_project(project, options, args.jobs)
    wanted = [ADDED[name] for name in args.add] + ([(GUARD, GUARD, "KP602")] if args.compile_guard else [])
    patches = (*result.patches, *_added(project, wanted, {patch.path for patch in result.patches}))
    proven, verdicts = _prove(patches)
    refused = [verdict for verdict in verdicts if verdict.path not in {patch.path for patch in proven}]
    checks, not_built = ((), "") if args.no_build else _build(project, proven, targets, layout)
    if args.html is not None:
        # Before anything is written: a page that cannot be made must not leave a port behind that nobody reported.
        _write_html(args, project, layout, result, rules, proven, verdicts, checks, not_built)
    if args.write:
        apply_patches(args.path, proven)
    elif args.out is not None:
        _copy(project, args.out)
        apply_patches(args.out, [_as_new(patch, args.out) for patch in proven])
    left = [finding for finding in result.findings if action(finding) == "a person"]
    if args.json:
        document = {
            "schema": 1,
            "layout": layout,
            "written": [patch.path for patch in proven] if args.write or args.out else [],
            "patches": [{"path": patch.path, "new": patch.before is None, "codes": patch.codes} for patch in proven],
            "refused": to_plain(refused),
            "left": [f"{finding}" for finding in left],
            "held": [{"finding": f"{item.finding}", "reason": item.reason} for item in result.held],
            "build": to_plain(checks),
        }
        print(json.dumps(document, indent=2))
    elif not (args.write or args.out):
        for patch in proven:
            sys.stdout.write(unified_diff(patch))
    _talk(args, layout, proven, refused, checks, targets, len(left), len(result.held))
    if not_built:
        print(f"not built: {not_built}", file=sys.stderr)
    _notes(args.path, proven)
    failed = refused or any(check.status.value == "fail" for check in checks)
    return 1 if failed or left or result.held else 0


def _added(project: Project, wanted: list[tuple[str, str, str]], there: set[str]) -> Iterator[Patch]:
    """Files of ours in the project's largest package, or in its root where it has none."""
    from kernel_pytorch.core.findings import Patch
    from kernel_pytorch.port.templates import template

    packages = [PurePosixPath(path).parent for path in project.of("python") if path.endswith("__init__.py")]
    tops = [folder for folder in packages if folder.parent not in packages and folder.name not in ("", *_NOT_PACKAGES)]
    sizes = {top: sum(PurePosixPath(path).is_relative_to(top) for path in project.of("python")) for top in tops}
    home = max(sorted(sizes), key=sizes.__getitem__) if sizes else PurePosixPath()
    for name, source, code in wanted:
        path = (home / name).as_posix()
        before = (project.root / path).read_bytes() if (project.root / path).is_file() else None
        after = template(source)
        if before != after and path not in there:
            yield Patch(path, before, after, (code,))


def _prove(patches: tuple[Patch, ...]) -> tuple[list[Patch], list[FileVerdict]]:
    """The patches whose NVIDIA path is proven unchanged, and the verdict on every file that was there before."""
    from kernel_pytorch.verify.isolation import Verdict, compare_file

    proven, verdicts = [], []
    for patch in patches:
        verdict = None if patch.before is None else compare_file(patch.path, patch.before, patch.after)
        # The compatibility header is ours and says nothing under CUDA; it may be regenerated as a whole.
        if verdict is None or verdict.verdict in (Verdict.PROVEN, Verdict.IDENTICAL):
            proven.append(patch)
        if verdict is not None:
            verdicts.append(verdict)
    return proven, verdicts


def _build(
    project: Project, patches: list[Patch], targets: tuple[str, ...], layout: str
) -> tuple[tuple[CheckResult, ...], str]:
    """A result for every source and target, or the reason why nothing could be built."""
    from kernel_pytorch.port.builds.ported_project import build_ported
    from kernel_pytorch.port.layouts import layout_named
    from kernel_pytorch.port.source import C_SUFFIXES, CUDA_SUFFIXES
    from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

    # A torch extension's .cu may stay as it is where only its headers are ported.
    suffixes = (".cu", ".hip", *((C_SUFFIXES | CUDA_SUFFIXES) if layout_named(layout).is_built_by_torch else ()))
    if not any(patch.path.endswith(suffixes) for patch in patches):
        return (), ""
    try:
        toolchain = find_toolchain()
    except ToolchainNotFoundError as error:
        return (), str(error)
    built = (build_ported(project, patches, toolchain, name, layout=layout) for name in targets)
    return tuple(check for checks in built for check in checks), ""


def _write_html(
    args: argparse.Namespace,
    project: Project,
    layout: str,
    result: ProjectPort,
    rules: tuple[UserRule, ...],
    proven: list[Patch],
    verdicts: list[FileVerdict],
    checks: tuple[CheckResult, ...],
    not_built: str,
) -> None:
    from kernel_pytorch.port.phases import effort, phases
    from kernel_pytorch.report.html import write_html
    from kernel_pytorch.report.port_report import PortReport
    from kernel_pytorch.version import VERSION

    written = "" if args.write or args.out else "Nothing was written: this is what --write would do."
    reason = "not built: --no-build was given" if args.no_build else f"not built: {not_built}" if not_built else ""
    report = PortReport(
        verb="port",
        project=project_name(args.path),
        version=VERSION,
        files=file_counts(project),
        phases=phases(project, result.findings),
        effort=effort(result.findings),
        findings=result.findings,
        skipped=project.skipped,
        layout=layout,
        patches=tuple(proven),
        verdicts=tuple(verdicts),
        held=result.held,
        checks=checks,
        pages=pages_of(result.findings, rules),
        notes=tuple(note for note in (written, reason) if note),
    )
    write_html(report, args.html)


def _notes(root: Path, proven: list[Patch]) -> None:
    """What the port itself does not do, and which command or line does."""
    from kernel_pytorch.port.deps.discover import find_files
    from kernel_pytorch.port.line_limit import line_limit, long_lines

    guard = next((patch.path for patch in proven if PurePosixPath(patch.path).name == GUARD), None)
    if guard is not None:
        module = ".".join(part for part in PurePosixPath(guard).with_suffix("").parts if part != "src")
        print(
            f"{guard} does nothing by itself: call install() of {module} before the library that compiles is imported",
            file=sys.stderr,
        )
    limit = line_limit(root)
    long = long_lines(proven, limit[0]) if limit is not None else []
    if limit is not None and long:
        shown = ", ".join(long[:4]) + (" ..." if len(long) > 4 else "")
        print(
            f"longer than the {limit[0]} characters of this project's {limit[1]}: {shown}; "
            "run its formatter, the proof holds afterwards",
            file=sys.stderr,
        )
    found, _ = find_files(root)
    if found:
        names = ", ".join(sorted({item.path.name for item in found})[:3])
        print(
            f"dependencies ({names}): `kpt deps {root} --write` makes requirements-rocm.txt; nothing here did",
            file=sys.stderr,
        )


def _copy(project: Project, out: Path) -> None:
    """The files of the project, without what git ignores."""
    from kernel_pytorch.port.discover import list_files

    for name in list_files(project.root).names:
        source = project.root / name
        if source.is_file() or source.is_symlink():  # a link to a folder as well
            destination = out / name
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, destination, follow_symlinks=False)
        elif source.is_dir():  # git names a submodule as one entry: without it the copy does not build
            shutil.copytree(source, out / name, symlinks=True, ignore=shutil.ignore_patterns(".git"))


def _as_new(patch: Patch, out: Path) -> Patch:
    """In the copy layout a header's twin takes the place of the header that was copied."""
    from kernel_pytorch.core.findings import Patch

    path = out / patch.path
    return Patch(patch.path, path.read_bytes() if path.is_file() else None, patch.after, patch.codes)


def _talk(
    args: argparse.Namespace,
    layout: str,
    proven: list[Patch],
    refused: list[FileVerdict],
    checks: tuple[CheckResult, ...],
    targets: tuple[str, ...],
    left: int,
    held: int,
) -> None:
    from kernel_pytorch.port.layouts import layout_named

    out = sys.stderr
    verb = "written" if args.write or args.out else "to write (--write or --out DIR)"
    # In the copy layout the headers of the copy are HIP's: there the original keeps the NVIDIA path, not the copy.
    proof = (
        "the original is untouched"
        if layout_named(layout).writes_twins
        else "NVIDIA path proven unchanged in all of them"
    )
    if not proven:
        proof = "nothing could be proven" if refused else "nothing to change"
    print(f"{args.path}: {len(proven)} files {verb}, layout {layout}; {proof}", file=out)
    for verdict in refused:
        print(f"left as it was, not proven: {verdict}", file=out)
    counts = {status: sum(check.status.value == status for check in checks) for status in ("pass", "fail", "not_run")}
    if checks:
        print(
            f"built for {', '.join(targets)}: {counts['pass']}, failed {counts['fail']}, not built {counts['not_run']}",
            file=out,
        )
    for check in checks:
        if check.status.value != "pass":
            print(f"  {check.check}: {check.detail}", file=out)
    print(f"left for a person: {left} findings; held for a review: {held} (`kpt scan` lists them)", file=out)
