"""A script or a workflow that installs CUDA or runs NVIDIA's tools

What: Shell scripts, workflows and development containers: pip, uv, poetry or conda with CUDA builds; `uv sync`,
    `pip install -e .` or a requirements file of a project that asks for torch; an image of NVIDIA's; nvidia-smi, nvcc,
    nsys or ncu in a script.
Why: The command replaces the ROCm torch with a CUDA build, or fails because the tool is not there.
Fix: Add the ROCm command beside it. `kpt deps . --write` makes the list to install; the project itself goes in with
    `pip install --no-deps -e .`. amd-smi, hipcc and rocprofv3 take the tools' places. kpt leaves a file alone that
    mentions ROCm, and a workflow without a GPU. It reports each kind of command once per file.
Source: https://skills.sh/arist12/amd-skills/amd-rocm-porting, phase 0; bmaltais/kohya_ss#2228 and
    invoke-ai/InvokeAI#7146 (a CUDA torch replaces the ROCm one).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.deploy.commands import DEVICES, cuda_in_command, joined
from kernel_pytorch.port.deploy.install_steps import InstallPlan
from kernel_pytorch.port.rules.deploy.kp440_dockerfile import image_row
from kernel_pytorch.port.rules.deploy.kp445_workflow import is_workflow

CODE = "KP448"
SCRIPTS = (".sh", ".bash", ".slurm", ".sbatch")
_TOOLS = {"nvidia-smi": "amd-smi", "nvcc": "hipcc", "nsys": "rocprofv3", "ncu": "rocprof-compute"}
_TOOL = re.compile(r"(?:^|[|;&(`]\s*|\$\(\s*|(?:then|do|else|sudo|exec|watch)\s+)(nvidia-smi|nvcc|nsys|ncu)(?=\s|$)")
_IMAGE = re.compile(r"(?<![\w/.-])((?:[\w.-]+/)+[\w.-]+:[\w.-]+)")
# What stands before the command in a workflow or a profile.
_STEP = re.compile(r"^\s*(?:-\s+)?(?:(?:run|script|command|\"\w*Command\")\s*:\s*[|>]?[-+]?\s*)?[\"']?")


def command_findings(path: str, text: str, plan: InstallPlan, has_twin: bool) -> Iterator[Finding]:
    """`has_twin`: its images and devices are reported with the twin."""
    is_script = PurePosixPath(path).suffix in SCRIPTS
    is_profile = PurePosixPath(path).name == "devcontainer.json"
    # A workflow without a GPU tests on the CPU, where torch of the index is right.
    is_gpu_job = is_workflow(path) and re.search(r"cuda|nvidia|\bgpu", text, re.IGNORECASE)
    if not (is_script or is_profile or is_gpu_job) or re.search(r"\brocm|\bhip\b", text, re.IGNORECASE):
        return
    reported: set[str] = set()
    for number, line in joined(enumerate(text.splitlines(), 1)):
        for message in _messages(line if is_script else _STEP.sub("", line), plan, is_script, has_twin):
            if message not in reported:
                reported.add(message)
                yield Finding(CODE, path, number, 1, message, Safety.MANUAL)


def _messages(line: str, plan: InstallPlan, is_script: bool, has_twin: bool) -> Iterator[str]:
    if line.lstrip().startswith("#"):
        return
    yield from (message for message in cuda_in_command(line, plan) if not (has_twin and DEVICES in message))
    if not is_script:
        return  # a workflow's tools and images are KP445's
    for tool in _TOOL.findall(line):
        yield f"runs {tool}, which ROCm does not have: {_TOOLS[tool]}"
    for image in _IMAGE.findall(line.replace("#", "/")) if not has_twin else ():
        row = image_row(image)
        if row is not None:
            yield f"image {image}: " + (f"choose a tag of {row['image']}" if row["image"] != "?" else row["note"])
