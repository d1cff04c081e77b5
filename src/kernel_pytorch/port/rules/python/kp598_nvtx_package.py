"""The nvtx package

What: `import nvtx` outside a `try`: the package, not `torch.cuda.nvtx`.
Why: It is a binding of NVIDIA's library and is not installed with ROCm: ImportError. kpt leaves `torch.cuda.nvtx`
    alone: on ROCm it writes roctx ranges.
Fix: A person moves its ranges to `torch.cuda.nvtx.range(...)`, which serves both, or guards the import. The names
    differ (`nvtx.annotate`, `push_range`; `torch.cuda.nvtx.range`, `range_push`), so one cannot replace the other as
    it is.
Source: ROCm/pytorch#58
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.cxx.unit import Unit
from kernel_pytorch.port.python.module import python_module
from kernel_pytorch.port.rules import Rule
from kernel_pytorch.port.source import SourceFile

RULE = Rule("KP598", "nvtx-package", ("python",), Safety.MANUAL, (b"nvtx",))


def check(src: SourceFile, unit: Unit) -> Iterator[Finding]:
    module = python_module(src)
    if module is None:
        return
    for node, _ in module.imports("nvtx"):
        if not module.is_import_guarded(node) and not module.is_type_checking_only(node):
            yield RULE.finding(src, module.span(node), "the nvtx package is not there on ROCm: torch.cuda.nvtx is")
