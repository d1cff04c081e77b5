"""The installed Triton looked up by the name of its package

What: `importlib.metadata.version("triton")`, `pkg_resources.get_distribution("triton")`, and lightning's
    `RequirementCache("triton>=...")` with a version.
Why: The Triton that comes with a ROCm torch is the module `triton`, but its package is called `pytorch-triton-rocm` or
    `triton-rocm`. The lookup raises PackageNotFoundError, or the program believes that Triton is missing.
Fix: `triton.__version__` on ROCm, where the file imports triton. Elsewhere you decide. `RequirementCache` without a
    version falls back to the module itself, so kpt leaves it alone.
Source: https://github.com/pytorch/pytorch/pull/195022
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.edits import choice, is_editable
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

RULE = Rule("KP171", "triton-distribution", ("python",), Safety.SAFE, (b'"triton', b"'triton"))

VERSIONS = ("importlib.metadata.version", "importlib_metadata.version")
OTHERS = (
    *(
        f"{name}.{what}"
        for name in ("importlib.metadata", "importlib_metadata")
        for what in ("distribution", "metadata")
    ),
    "pkg_resources.get_distribution",
    "pkg_resources.require",
)
CACHES = ("lightning_utilities.core.imports.RequirementCache", "lightning_utilities.RequirementCache")
_NAME = re.compile(r"triton\s*(?:$|[<>=!~;\[])")


def check(module: PythonModule) -> Iterator[Finding]:
    message = "on ROCm Triton's package is pytorch-triton-rocm or triton-rocm: this lookup does not find it"
    for call in module.calls(*VERSIONS, *OTHERS, *CACHES):
        asked = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        if not isinstance(asked, str) or not _NAME.match(asked):
            continue
        name = module.qualified(call.func)
        if name in CACHES and (asked.strip() == "triton" or len(call.args) > 1 or call.keywords):
            continue  # falls back to importing the module
        imported = module.scope(call).resolve("triton") == "triton"
        is_version = name in VERSIONS and imported and is_editable(module, call)
        yield RULE.finding(
            module.src, module.span(call), message, [choice(module, call, b"triton.__version__")] if is_version else []
        )
