"""HSA_OVERRIDE_GFX_VERSION set in code

What: `os.environ["HSA_OVERRIDE_GFX_VERSION"] = ...`.
Why: The runtime takes the GPU for another one and runs that one's code. On a GPU it was not meant for, that faults or
    computes wrong numbers, and it hides that no kernels were built for the real one.
Fix: You decide. Build for the real target (`PYTORCH_ROCM_ARCH`), or set it outside the code, per machine.
Source: https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.python.settings import environment_settings
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP599", "gfx-override", ("python",), Safety.MANUAL, (b"HSA_OVERRIDE_GFX_VERSION",))


def check(module: PythonModule) -> Iterator[Finding]:
    for setting in environment_settings(module):
        if setting.name == "HSA_OVERRIDE_GFX_VERSION":
            message = "makes the GPU pose as another one, whose code then runs on it"
            yield RULE.finding(module.src, module.span(setting.statement), message)
