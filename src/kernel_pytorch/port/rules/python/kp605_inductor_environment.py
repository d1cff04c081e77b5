"""TORCHINDUCTOR_MAX_AUTOTUNE set in code

What: `os.environ["TORCHINDUCTOR_MAX_AUTOTUNE"] = "1"`, its forms for GEMMs and pointwise kernels, and
    TORCHINDUCTOR_CUDAGRAPHS.
Why: Every mode then tunes as "max-autotune" does, `mode="default"` too: minutes per graph on ROCm, which look like a
    hang. Some ROCm images set it as well; `kpt doctor` looks for that.
Fix: kpt lets the statement run on NVIDIA only, for review: its author may have set it on purpose.
Source: https://github.com/sgl-project/sglang/blob/main/docker/rocm.Dockerfile (an image that sets it);
    https://github.com/pytorch/pytorch/blob/main/torch/_inductor/config.py;
    https://skills.sh/arist12/amd-skills/amd-rocm-porting, rule 3.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import gated_statement
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import constant, environment_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP605", "inductor-environment", ("python",), Safety.REVIEW, (b"TORCHINDUCTOR_",))

NAMES = frozenset({
    "TORCHINDUCTOR_MAX_AUTOTUNE",
    "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM",
    "TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE",
    "TORCHINDUCTOR_CUDAGRAPHS",
})  # fmt: skip


def check(module: PythonModule) -> Iterator[Finding]:
    for setting in environment_settings(module):
        if setting.name in NAMES and constant(setting.value) not in ("0", ""):
            edit = gated_statement(module, setting.statement) if setting.is_assignment else None
            what = "captures graphs" if setting.name.endswith("CUDAGRAPHS") else "tunes"
            message = f"{setting.name} {what} in every compile mode"
            yield RULE.finding(module.src, module.span(setting.statement), message, [edit] if edit else [])
