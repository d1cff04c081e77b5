"""An install plan that cannot overwrite a ROCm torch.

Reads requirements files, pyproject.toml (PEP 621, dependency groups, Poetry, uv, PDM, Hatch), setup.cfg, setup.py
(without running it), Pipfile and conda environments, and decides for every requirement: keep, drop, substitute,
protected, or a person decides. Prints the plan; --write puts requirements-rocm.txt and constraints-rocm.txt beside
the originals; --install installs what is missing, one package at a time, and checks torch after each.

exit status: 0 nothing has to change, 1 something has to (or an installation did not finish), 2 usage error or a file
that cannot be read
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError

if TYPE_CHECKING:
    from kernel_pytorch.port.deps.install import Installation, InstallStep
    from kernel_pytorch.port.deps.model import Plan
    from kernel_pytorch.port.deps.write import Output

SUMMARY = "an install plan that cannot overwrite a ROCm torch"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `kpt deps`."""
    parser.add_argument("path", type=Path, metavar="PATH", help="a repository, or one of its dependency files")
    parser.add_argument("--write", action="store_true", help="write the ROCm lists beside the originals")
    parser.add_argument("--force", action="store_true", help="with --write: replace lists that kpt did not generate")
    parser.add_argument("--out", type=Path, metavar="DIR", help="with --write: put the lists under DIR instead")
    parser.add_argument(
        "--group", action="append", default=[], metavar="NAME",
        help="also write or install this extra or dependency group; `all` for every one (repeatable)",
    )  # fmt: skip
    parser.add_argument("--install", action="store_true", help="install what is missing, checking torch after each")
    parser.add_argument("--yes", action="store_true", help="with --install: do not ask")
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH", help="the interpreter to look into or install into"
    )
    parser.add_argument("--json", action="store_true", help="the plan as JSON")


def run(args: argparse.Namespace) -> int:
    """Plan, then write or install if asked."""
    from kernel_pytorch.port.deps.plan import make_plan
    from kernel_pytorch.port.deps.text import plan_text
    from kernel_pytorch.port.deps.write import outputs, write

    if args.yes and not args.install:
        raise UsageError("--yes only makes sense with --install")
    if args.out is not None and not args.write:
        raise UsageError("--out only makes sense with --write")
    plan = make_plan(args.path, args.python)
    files = outputs(plan, args.group, args.out)
    if not args.json:
        print(plan_text(plan))
    if plan.broken:
        if args.json:
            print(json.dumps(_as_json(plan, files, None), indent=2))
        for broken in plan.broken:
            print(f"kpt: {broken.path}:{broken.line}: {broken.reason}", file=sys.stderr)
        print("kpt: a dependency file cannot be read: nothing was written or installed", file=sys.stderr)
        return 2
    if args.write:
        written = write(files, force=args.force)
        for file in files:
            print(f"{'wrote' if file.path in written else 'unchanged'}: {file.path}", file=sys.stderr)
    elif files and not args.install:
        for file in files:
            print(f"would write: {file.path} ({file.state})", file=sys.stderr)
    installation = _install(args, plan) if args.install else None
    if args.json:
        print(json.dumps(_as_json(plan, files, installation), indent=2))
    if installation is not None:
        return 0 if installation.ok else 1
    return 1 if plan.has_findings else 0


def _as_json(plan: Plan, files: tuple[Output, ...], installation: Installation | None) -> dict[str, Any]:
    data = asdict(plan)
    data["has_findings"] = plan.has_findings
    data["outputs"] = [{"path": str(file.path), "state": file.state} for file in files]
    if installation is not None:
        data["installation"] = asdict(installation) | {"ok": installation.ok}
    return data


def _install(args: argparse.Namespace, plan: Plan) -> Installation:
    from kernel_pytorch.port.deps.environment import inspect_python
    from kernel_pytorch.port.deps.install import check_ready, direct_requirements, install

    project = next((project for project in plan.projects if project.folder == "."), None)
    if project is None:
        folders = ", ".join(project.folder for project in plan.projects) or "none"
        raise UsageError(f"{args.path}: no dependency files in the folder itself; name one of: {folders}")
    interpreter = inspect_python(args.python)
    torch = check_ready(interpreter)
    wanted = [one for one in direct_requirements(project, args.group, interpreter) if one.line]
    if not args.yes:
        if not sys.stdin.isatty():
            raise UsageError("--install asks before it starts, and there is no terminal to ask on: add --yes")
        packages = counted(len(wanted), "package")
        question = f"Install up to {packages} and what they need into {args.python} ({torch})? [y/N] "
        print(question, end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise UsageError("not confirmed: nothing was installed")
    result = install(project, interpreter, args.group, _show_step)
    counts: dict[str, int] = {}
    for step in result.steps:
        counts[step.outcome] = counts.get(step.outcome, 0) + 1
    summary = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "nothing to do"
    state = "unchanged" if result.intact else "CHANGED: see above"
    print(f"{summary}; {result.torch}: {state}", file=sys.stderr)
    return result


def _show_step(step: InstallStep) -> None:
    detail = f": {step.detail}" if step.detail else ""
    print(f"{step.outcome:<12} {step.requirement} (for {step.wanted_by}){detail}", file=sys.stderr)
