"""The nvtx package

What: `import nvtx` outside a `try`, the package and not `torch.cuda.nvtx`.
Why: it is a binding of NVIDIA's library and is not installed with ROCm: ImportError. `torch.cuda.nvtx` is left alone:
    on ROCm it writes roctx ranges.
Fix: a person moves its ranges to `torch.cuda.nvtx.range(...)`, which serves both, or guards the import. The names of
    the two differ (`nvtx.annotate`, `push_range`; `torch.cuda.nvtx.range`, `range_push`), so that one cannot stand in.
Source: catalogue row 116, https://github.com/ROCm/pytorch/issues/58
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP598", "nvtx-package", ("python",), Safety.MANUAL, (b"nvtx",))


def check(module: PythonModule) -> Iterator[Finding]:
    for node, _ in module.imports("nvtx"):
        if not module.is_import_guarded(node) and not module.is_type_checking_only(node):
            yield RULE.finding(
                module.src, module.span(node), "the nvtx package is not there on ROCm: torch.cuda.nvtx is"
            )
