"""A library whose ROCm build is another package

What: An import of a library whose usual wheel is for CUDA and which has a ROCm build elsewhere.
Why: pip installs the CUDA build, which fails to load or finds no GPU.
Fix: kpt does not change the source. `kpt deps` plans the installation, and the message says where the build comes
    from.
Source: port/tables/libraries_python.csv has a source for each library, such as
    https://github.com/ROCm/TransformerEngine/pull/472 and deepspeedai/DeepSpeed#5274;
    https://github.com/jeffdaily/moat/blob/main/PORTING_GUIDE.md
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.library_table import library_findings, triggers
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP511", "library-with-rocm-build", ("python",), Safety.MANUAL, triggers("KP511"))


def check(module: PythonModule) -> Iterator[Finding]:
    yield from library_findings(module, RULE)
