"""Which torch versions this can stand in for, and the few names that moved between them.

Inductor is not a stable interface. A version is supported when every name used here is where it is expected; another
one is refused by name instead of being guessed at.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

from kernel_pytorch.core.errors import UsageError

FIRST, LAST = (2, 9), (2, 15)

# module -> names that must be there; a dot goes into a class.
NEEDED: dict[str, tuple[str, ...]] = {
    "torch._inductor.graph": ("GraphLowering._compile_to_module", "GraphLowering.codegen"),
    "torch._inductor.async_compile": ("AsyncCompile.triton", "AsyncCompile.wait"),
    "torch._inductor.codecache": ("PyCodeCache.load", "PyCodeCache.write"),
    "torch._inductor.codegen.triton": ("TritonScheduling.define_kernel", "TritonKernel.estimate_kernel_num_bytes"),
    "torch._inductor.runtime.triton_heuristics": (
        "CachingAutotuner._precompile_config",
        "GridExpr.from_meta",
        "GridExpr.eval_slow",
        "triton",
    ),
    "torch._inductor.runtime.triton_helpers": ("set_driver_to_gpu",),
    "torch._subclasses.fake_tensor": (
        "FakeTensor",
        "FakeTensorMode.avoid_device_init",
        "DataDependentOutputException",
        "unset_fake_temporarily",
    ),
    "torch.nn.init": ("_no_grad_trunc_normal_",),
    "torch._inductor.fx_passes.pad_mm": ("_should_pad",),
    "torch._dynamo.output_graph": ("OutputGraph.compile_subgraph", "GraphCompileReason"),
}


def check_versions() -> tuple[str, str]:
    """(torch's, Triton's version). Raises UsageError where one is missing or not supported."""
    try:
        import torch
        import triton
    except ImportError as error:
        raise UsageError(
            f"{error.name} is not installed, and kpt inspect needs it: pip install torch triton"
        ) from error
    number = version_number(torch.__version__)
    if not FIRST <= number <= LAST:
        span = f"{_text(FIRST)} to {_text(LAST)}"
        raise UsageError(f"torch {torch.__version__}: kpt inspect knows the inner parts of {span} only")
    return str(torch.__version__), str(triton.__version__)


def check_names() -> None:
    """Raises UsageError where this torch is built differently inside. Call it once the GPU is stood in for:
    Inductor's modules keep what they find on import."""
    import torch

    missing = missing_names()
    if missing:
        raise UsageError(f"torch {torch.__version__} does not have {', '.join(missing)}: not supported by kpt inspect")


def version_number(text: str) -> tuple[int, int]:
    """ "2.13.0+cpu" is (2, 13)."""
    found = re.match(r"(\d+)\.(\d+)", text)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)


def missing_names(needed: dict[str, tuple[str, ...]] = NEEDED) -> list[str]:
    """Names this installation of torch does not have."""
    missing = []
    for module_name, names in needed.items():
        try:
            module: Any = importlib.import_module(module_name)
        except ImportError:
            missing.append(module_name)
            continue
        for name in names:
            found = module
            for part in name.split("."):
                found = getattr(found, part, None)
            if found is None:
                missing.append(f"{module_name}.{name}")
    return missing


def _text(number: tuple[int, int]) -> str:
    return f"{number[0]}.{number[1]}"
