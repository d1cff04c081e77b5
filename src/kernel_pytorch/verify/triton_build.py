"""The project's own Triton kernels, compiled for every wanted target: what is no .cu file is a kernel all the same."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernel_pytorch.core.children import KPT_GRACE_S
from kernel_pytorch.core.findings import CheckResult, Status
from kernel_pytorch.core.process import run_child
from kernel_pytorch.core.project_code import is_project_code_forbidden
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.discover import Project

MOST_KERNELS = 40  # more take an hour and are left to `kpt inspect`
LIMIT_S = 1800.0
_MARK = b"@triton.jit"
_ANY = re.compile(".*")
# Not the compiler's verdict on the kernel: something about it is not known here.
_NOT_KNOWN = ("import", "signature", "time")


def triton_checks(
    project: Project, targets: Sequence[str], spec: str = "", wanted: re.Pattern[str] = _ANY
) -> list[CheckResult]:
    """One check per launched kernel and target, of the files that are wanted; none where they have no Triton."""
    files = [path for path in project.of("python") if wanted.fullmatch(path)]
    count = sum(read_bytes(project.root / path, project.root).count(_MARK) for path in files)
    command = f"kpt inspect . --triton --arch {','.join(targets)}"
    if not count:
        return []
    if is_project_code_forbidden():
        detail = f"{count} functions; compiling them imports the project's modules, which --no-run forbids: {command}"
        return [CheckResult("Triton kernels", Status.NOT_RUN, detail)]
    missing = [name for name in ("triton", "torch") if importlib.util.find_spec(name) is None]
    if missing:
        detail = f"{count} functions; {' and '.join(missing)} must be installed to compile them: {command}"
        return [CheckResult("Triton kernels", Status.NOT_RUN, detail)]
    if count > MOST_KERNELS:
        return [CheckResult("Triton kernels", Status.NOT_RUN, f"{count} functions, which takes long: {command}")]
    arguments = ["inspect", str(project.root), "--triton", "--arch", ",".join(targets), "--json"]
    arguments += ["--spec", str(project.root / spec)] if spec else []
    try:
        done = run_child(python_module("kernel_pytorch", *arguments), timeout_s=LIMIT_S, grace_s=KPT_GRACE_S)
    except subprocess.TimeoutExpired:
        return [CheckResult("Triton kernels", Status.NOT_RUN, f"did not end within {LIMIT_S:g} s: {command}")]
    if "no @triton.jit kernel that is launched" in done.stderr:
        return []
    if done.returncode not in (0, 1) or not done.stdout.strip():
        message = (done.stderr.strip().splitlines() or ["said nothing"])[-1]
        return [CheckResult("Triton kernels", Status.NOT_RUN, f"{message} ({command})")]
    kernels = json.loads(done.stdout)["kernels"]
    return [_check(project.root, kernel) for kernel in kernels if wanted.fullmatch(_shown(project.root, kernel))]


def _shown(root: Path, kernel: dict[str, Any]) -> str:
    path = Path(kernel["path"])
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def _check(root: Path, kernel: dict[str, Any]) -> CheckResult:
    name = f"{_shown(root, kernel)}:{kernel['line']} {kernel['name']} (Triton) for {kernel['target']}"
    if kernel["failure"] is not None:
        status = Status.NOT_RUN if kernel["cause"] in _NOT_KNOWN else Status.FAIL
        return CheckResult(name, status, f"{kernel['cause']}: {kernel['failure']}")
    first = next(one["resources"] for one in kernel["configurations"] if one["resources"] is not None)
    fits = f"{kernel['fitting']} of {len(kernel['configurations'])} configurations fit"
    return CheckResult(name, Status.PASS, f"{first['registers']} VGPRs, {first['lds_bytes']} B LDS, {fits}")
