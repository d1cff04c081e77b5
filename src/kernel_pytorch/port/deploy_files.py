"""New files beside a project's containers, clusters and run scripts. What is there is not touched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from kernel_pytorch.core.findings import Finding, Patch
from kernel_pytorch.core.read_file import read_bytes
from kernel_pytorch.port.deploy.install_plan import install_plan
from kernel_pytorch.port.deploy.places import has_own_twin, is_for_another_vendor, twin_path
from kernel_pytorch.port.file_failure import failure_finding
from kernel_pytorch.port.rules.deploy.kp172_document_command import DOCUMENTS, document_findings
from kernel_pytorch.port.rules.deploy.kp440_dockerfile import dockerfile_twin, is_dockerfile
from kernel_pytorch.port.rules.deploy.kp441_compose import LIST, compose_twin, is_compose
from kernel_pytorch.port.rules.deploy.kp442_kubernetes import is_manifest, overlays
from kernel_pytorch.port.rules.deploy.kp443_run_script import is_script, script_twin
from kernel_pytorch.port.rules.deploy.kp444_batch_job import batch_job_findings
from kernel_pytorch.port.rules.deploy.kp445_workflow import workflow_findings
from kernel_pytorch.port.rules.deploy.kp446_devcontainer import devcontainer_findings

MAX_BYTES = 1_000_000
_PARTS_SKIPPED = frozenset({"node_modules", "third_party", "vendor", "site-packages"})


def deploy_patches(root: Path, paths: Iterable[str]) -> tuple[list[Patch], list[Finding]]:
    """The ROCm twins of a project's deploy files, and what a person must fill in. `paths` are relative to the root."""
    listed = sorted(set(paths))
    texts = {path: text for path in listed if (text := _text(root, path)) is not None}
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
            findings += document_findings(path, text, plan.names)
    manifests = {path: text for path, text in texts.items() if is_manifest(path, text)}
    new, said = overlays(manifests, set(texts))
    written = ((path, text.encode("utf-8", "surrogateescape")) for path, text in new.items())
    patches += [Patch(path, None, data) for path, data in written if not (root / path).exists()]
    findings += said
    return patches, sorted(findings, key=lambda item: (item.path, item.line, item.code))


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

    def keep(self, path: str, result: tuple[str | None, list[Finding]]) -> None:
        """Takes a twin and what was said of it. A file of that name that is there already stays as it is."""
        text, said = result
        self.findings += said
        if text is None:
            return
        target = twin_path(path)
        if is_dockerfile(path):
            arguments = re.findall(r"^ARG (ROCM_\w+)$", text, re.MULTILINE)
            reads_list = [LIST] if "source=requirements-rocm" in text else []
            self.dockerfiles[path] = target, (*arguments, *reads_list)
        if not (self.root / target).exists():
            codes = tuple(sorted({item.code for item in said}))
            self.patches.append(Patch(target, None, text.encode("utf-8", "surrogateescape"), codes))


def _text(root: Path, path: str) -> str | None:
    pure = PurePosixPath(path)
    if _PARTS_SKIPPED & set(pure.parts) or is_for_another_vendor(path):
        return None
    interesting = (
        is_dockerfile(path)
        or pure.suffix in (".yml", ".yaml", ".sh", ".slurm", ".sbatch", ".bash", *DOCUMENTS)
        or "devcontainer" in path
    )
    full = root / path
    if not interesting or full.is_symlink():
        return None
    try:
        return read_bytes(full, root, MAX_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return None
