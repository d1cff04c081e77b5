"""The nvtx package

What: `import nvtx` outside a `try`: the package, not `torch.cuda.nvtx`.
Why: It is a binding of NVIDIA's library and is not installed with ROCm: ImportError. kpt leaves `torch.cuda.nvtx`
    alone: on ROCm it writes roctx ranges.
Fix: Move its ranges to `torch.cuda.nvtx.range(...)`, which serves both, or guard the import. The names differ
    (`nvtx.annotate`, `push_range`; `torch.cuda.nvtx.range`, `range_push`), so one cannot replace the other as it is.
Source: ROCm/pytorch#58
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
            yield RULE.finding(module.src, module.span(node), "ROCm has no nvtx package: use torch.cuda.nvtx")
