"""pynvml

What: An import of pynvml (the package nvidia-ml-py).
Why: pynvml asks NVIDIA's driver. Without that driver the import or nvmlInit fails.
Fix: On ROCm the name comes from a generated file, `_rocm_nvml.py`. It answers the common questions (count, name,
    memory, utilisation, temperature, power) through amdsmi, in NVML's units. Elsewhere the import is as it was. If the
    program uses something that the file does not have, the message names it. Inside a `try` the change is offered for
    review.
Source: pytorch/pytorch#133259; https://github.com/vllm-project/vllm/blob/main/vllm/platforms/rocm.py (vLLM asks amdsmi
    instead); https://skills.sh/arist12/amd-skills/amd-rocm-porting, phase 5.
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.adapted_module import Adapted, adapted_findings
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP500", "pynvml", ("python",), Safety.SAFE, (b"pynvml",))

PYNVML = Adapted("pynvml", "_rocm_nvml", "pynvml reads NVIDIA's driver", Safety.SAFE)


def check(module: PythonModule) -> Iterator[Finding]:
    yield from adapted_findings(module, RULE, PYNVML)
