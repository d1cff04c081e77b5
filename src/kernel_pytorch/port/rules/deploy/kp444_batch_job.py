"""A batch job that names NVIDIA GPUs or CUDA modules

What: `#SBATCH --gres=gpu:a100:4`, `--constraint=h100`, `module load cuda`.
Why: GPU types, constraints and modules are names of one site.
Fix: Give the AMD site's names, or ask for GPUs without a type. kpt writes nothing.
Source: https://slurm.schedmd.com/gres.html
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding
from kernel_pytorch.port.deploy.site_settings import Patterns, named_lines

CODE = "KP444"
_GPU_NAME = r"[avhlbtp]\d{2,4}\w*"
PATTERNS: Patterns = (
    (
        r"#SBATCH\s+.*--gres=gpu:([a-z]\w*):?\d*",
        "the GPU type {0} is this cluster's name for a GPU: use the AMD cluster's",
    ),
    (rf"#SBATCH\s+.*(?:--constraint|-C)[=\s]\S*\b({_GPU_NAME})\b", "the constraint {0} names an NVIDIA GPU"),
    (r"^\s*module\s+(?:load|add)\s+(\S*(?:cuda|cudnn|nccl)\S*)", "{0} is CUDA's: load the site's ROCm module"),
)


def batch_job_findings(path: str, text: str) -> Iterator[Finding]:
    """The lines of a shell script or batch job that name a site's NVIDIA GPUs."""
    if PurePosixPath(path).suffix in (".sh", ".bash", ".slurm", ".sbatch"):
        yield from named_lines(CODE, path, text, PATTERNS)
