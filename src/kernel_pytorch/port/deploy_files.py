"""New files beside a project's containers, clusters and run scripts. What is there is not touched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Finding, Patch, action
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.deploy.install_plan import install_plan
from kernel_pytorch.port.deploy.places import has_own_twin, is_for_another_vendor, is_for_rocm, twin_path
from kernel_pytorch.port.file_failure import failure_finding
from kernel_pytorch.port.rules.deploy.kp172_document_command import DOCUMENTS, document_findings
from kernel_pytorch.port.rules.deploy.kp440_dockerfile import dockerfile_twin, is_dockerfile
from kernel_pytorch.port.rules.deploy.kp441_compose import LIST, compose_twin, is_compose
from kernel_pytorch.port.rules.deploy.kp442_kubernetes import is_manifest, overlays
from kernel_pytorch.port.rules.deploy.kp443_run_script import is_script, script_twin
from kernel_pytorch.port.rules.deploy.kp444_batch_job import batch_job_findings
from kernel_pytorch.port.rules.deploy.kp445_workflow import is_workflow, workflow_findings
from kernel_pytorch.port.rules.deploy.kp446_devcontainer import devcontainer_findings
from kernel_pytorch.port.rules.deploy.kp447_environment_variable import variable_findings
from kernel_pytorch.port.rules.deploy.kp448_command import command_findings

MAX_BYTES = 1_000_000
_PARTS_SKIPPED = frozenset({"node_modules", "third_party", "vendor", "site-packages"})


def deploy_patches(root: Path, paths: Iterable[str]) -> tuple[list[Patch], list[Finding]]:
    """The ROCm twins of a project's deploy files, and what a person must fill in. `paths` are relative to the root."""
    listed = sorted(set(paths))
    ours = (path for path in listed if not is_for_another_vendor(path))
    texts = {path: text for path in ours if (text := _text(root, path)) is not None}
    patches: list[Patch] = []
    findings: list[Finding] = []
    made = _Made(root, patches, findings)
    plan = install_plan(root, listed)
    for path, text in texts.items():
        if is_dockerfile(path) and not has_own_twin(path, listed):
            with _failure_at(path, findings):
                made.keep(path, dockerfile_twin(path, text, plan))
    for path, text in texts.items():
        with _failure_at(path, findings):
            if is_compose(path):
                made.keep(path, compose_twin(path, text, made.dockerfiles))
            elif is_script(path, text):
                twins = {source: twin for source, (twin, _) in made.dockerfiles.items()}
                made.keep(path, script_twin(path, text, twins))
            for look in (batch_job_findings, workflow_findings, devcontainer_findings):
                findings += look(path, text)
            findings += document_findings(path, text, plan)
            findings += command_findings(path, text, plan, path in made.twins)
            if PurePosixPath(path).suffix not in DOCUMENTS:
                findings += variable_findings(path, text, path in made.twins)
    possible = {twin_path(path) for path in listed}
    for path in (path for path in listed if is_for_rocm(path) and path not in possible):
        theirs = _text(root, path)  # AMD's own images set such variables too
        if theirs is not None and PurePosixPath(path).suffix not in DOCUMENTS:
            findings += variable_findings(path, theirs)
    manifests = {path: text for path, text in texts.items() if is_manifest(path, text)}
    new, extra = overlays(manifests, set(texts))
    written = ((path, text.encode("utf-8", "surrogateescape")) for path, text in new.items())
    patches += [Patch(path, None, data, ("KP442",)) for path, data in written if not (root / path).exists()]
    findings += extra if any(not (root / path).exists() for path in new) else _without_done(extra)
    return patches, sorted(_once(findings), key=lambda item: (item.path, item.line, item.code))


def _without_done(findings: list[Finding]) -> list[Finding]:
    """Without the ones that say that a file will be written: it is there."""
    return [finding for finding in findings if action(finding) != "automatic"]


def _once(findings: list[Finding]) -> Iterator[Finding]:
    """Of one command in many documents, or in many workflows, the place nearest to the root, with how many more."""
    same: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if finding.code == "KP172" or (finding.code == "KP448" and is_workflow(finding.path)):
            same.setdefault((finding.code, finding.message), []).append(finding)
        else:
            yield finding
    for first, *others in (
        sorted(group, key=lambda item: (item.path.count("/"), item.path)) for group in same.values()
    ):
        more = f" ({len(others)} more {'file has' if len(others) == 1 else 'files have'} it)" if others else ""
        yield replace(first, message=first.message + more)


@contextmanager
def _failure_at(path: str, findings: list[Finding]) -> Iterator[None]:
    """One file that cannot be handled is a finding on that file."""
    try:
        yield
    except Exception as problem:
        findings.append(failure_finding(path, problem))


@dataclass
class _Made:
    root: Path
    patches: list[Patch]
    findings: list[Finding]
    dockerfiles: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    twins: set[str] = field(default_factory=set)  # files that have one

    def keep(self, path: str, result: tuple[str | None, list[Finding]]) -> None:
        """Takes a twin and what was said of it. A file of that name that is there already stays as it is."""
        text, extra = result
        target = twin_path(path)
        self.findings += _without_done(extra) if (self.root / target).exists() else extra
        if text is None:
            return
        self.twins.add(path)
        if is_dockerfile(path):
            arguments = re.findall(r"^ARG (ROCM_\w+)$", text, re.MULTILINE)
            reads_list = [LIST] if "source=requirements-rocm" in text else []
            self.dockerfiles[path] = target, (*arguments, *reads_list)
        if not (self.root / target).exists():
            codes = tuple(sorted({item.code for item in extra}))
            self.patches.append(Patch(target, None, text.encode("utf-8", "surrogateescape"), codes))


def _text(root: Path, path: str) -> str | None:
    pure = PurePosixPath(path)
    if _PARTS_SKIPPED & set(pure.parts):
        return None
    interesting = (
        is_dockerfile(path)
        or pure.suffix in (".yml", ".yaml", ".sh", ".slurm", ".sbatch", ".bash", ".env", *DOCUMENTS)
        or pure.name.startswith(".env")
        or "devcontainer" in path
    )
    full = root / path
    if not interesting or full.is_symlink():
        return None
    try:
        return read_bytes(full, root, MAX_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return None
