"""ROCR_VISIBLE_DEVICES beside another list of devices

What: A file that sets ROCR_VISIBLE_DEVICES and also HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES.
Why: The lists apply one after the other, and the second counts what the first has left. "2,3" in both leaves no
    device, or "invalid device ordinal". Ray refuses ROCR_VISIBLE_DEVICES.
Fix: Keep one: HIP_VISIBLE_DEVICES for a process, ROCR_VISIBLE_DEVICES for a container.
Source: ray-project/ray#53737; vllm-project/vllm#12572;
    https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import environment_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP591", "rocr-visible-devices", ("python",), Safety.MANUAL, (b"ROCR_VISIBLE_DEVICES",))


def check(module: PythonModule) -> Iterator[Finding]:
    settings = list(environment_settings(module))
    others = {setting.name for setting in settings} & {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}
    for setting in settings:
        if setting.name == "ROCR_VISIBLE_DEVICES" and others:
            message = f"set together with {' and '.join(sorted(others))}: one list selects from what the other left"
            yield RULE.finding(module.src, module.span(setting.statement), message)
