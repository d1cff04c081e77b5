"""Extensions built with torch.utils.ffi

What: An import of torch.utils.ffi, whose create_extension builds C sources that use TH and THC.
Why: torch 1.0 removed it, for CUDA as well. Every torch for AMD GPUs is newer, so the extension cannot be built there,
    even if its kernels compile.
Fix: Write a setup.py with torch.utils.cpp_extension.CUDAExtension, and C++ sources that take at::Tensor in place of
    THCudaTensor. Then port again: kpt tries that install and compiles the sources.
Source: https://github.com/pytorch/pytorch/pull/12122
"""

from __future__ import annotations

from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP527", "torch-ffi", ("python",), Safety.MANUAL, (b"torch.utils.ffi", b"torch.utils"))


def check(module: PythonModule) -> Iterator[Finding]:
    """Each import of the module; `from torch.utils import ffi` too."""
    message = "torch has no torch.utils.ffi since version 1.0: the extension needs a setup.py with CUDAExtension"
    for node, name in module.imports("torch.utils.ffi", "torch.utils"):
        if name.startswith("torch.utils.ffi") or any(alias.name == "ffi" for alias in node.names):
            yield RULE.finding(module.src, module.span(node), message)
