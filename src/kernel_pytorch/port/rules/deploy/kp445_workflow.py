"""A workflow that installs or runs CUDA

What: A job of a CI service (GitHub, GitLab, Azure, CircleCI, Buildkite, Lightning and others) with a CUDA toolkit
    action, a CUDA image, or a step that runs nvidia-smi or nvcc.
Why: The job can only run on NVIDIA machines.
Fix: Add a job for ROCm beside it; building and static checks need no GPU. kpt writes nothing. It reports each kind
    once per file.
Source: https://github.com/meta-pytorch/monarch/pull/2001 (a workflow for ROCm beside the one for CUDA); the workflows
    of public repositories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.deploy.site_settings import Patterns, named_lines

CODE = "KP445"
PATTERNS: Patterns = (
    (r"uses:\s*(Jimver/cuda-toolkit\S*)", "{0} installs CUDA: ROCm needs a job of its own"),
    (r"^\s*(?:-\s+)?(?:run|script|command):.*\b(nvidia-smi|nvcc)\b", "the step runs {0}"),
    (r"^\s*(?:-\s+)?(nvidia-smi|nvcc)\b", "the step runs {0}"),
    (
        r"image:\s*[\"']?((?:nvidia/cuda|nvcr\.io/)[^\s\"']*|[^\s\"']*[:/_-]cuda[-_.]?\d[^\s\"']*)",
        "the job runs in {0}: ROCm needs a job of its own",
    ),
)
_PLACES = re.compile(
    r"(?:^|/)(?:\.github/workflows/|\.lightning/workflows/|\.circleci/|\.buildkite/|\.azure|\.gitlab|\.ci/"
    r"|azure-pipelines|bitbucket-pipelines|\.travis\.|\.drone\.|\.woodpecker|\.cirrus\.)"
)
_COMMENT = re.compile(r"(^|\s)#.*$", re.MULTILINE)


def is_workflow(path: str) -> bool:
    """By its place."""
    return bool(_PLACES.search(path) and path.endswith((".yml", ".yaml")))


def workflow_findings(path: str, text: str) -> Iterator[Finding]:
    """The lines of a workflow that need NVIDIA."""
    if is_workflow(path):
        yield from _once_each(list(named_lines(CODE, path, _COMMENT.sub(r"\1", text), PATTERNS)))


def _once_each(findings: list[Finding]) -> Iterator[Finding]:
    """Of what is said of many jobs of one file (often a generated one) the first, with the number of the others."""
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        # Two images of one kind ask the same of a person.
        kind = "image" if finding.message.startswith("the job runs in") else finding.message
        kinds.setdefault(kind, []).append(finding)
    for same in kinds.values():
        more = f" ({len(same) - 1} more of the kind in this file)" if len(same) > 1 else ""
        yield replace(same[0], message=same[0].message + more)
