"""What a case of triton_emulate.py is, and what cases share; they themselves are in the files beside this one.

A case calls the operator of a fetched library as its users do and gives pairs of (what, got, wanted); where a case says
so, gradients too. Nothing of the libraries is kept here. `wanted` is computed by torch in float64 where it can be.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed.tensor  # Liger asks for it without importing it

Pairs = list[tuple[str, Any, Any]]
HALF, BF16 = torch.float16, torch.bfloat16


@dataclass(frozen=True)
class Case:
    """One operator. `tolerance` is relative to the largest wanted value."""

    name: str
    library: str
    run: Callable[[], Pairs]
    tolerance: float


CASES: list[Case] = []


def case(name: str, library: str, tolerance: float = 2e-5) -> Callable[[Any], Any]:
    def register(run: Callable[[], Pairs]) -> Callable[[], Pairs]:
        CASES.append(Case(name, library, run, tolerance))
        return run

    return register


def bare_package(name: str, folder: Path) -> None:
    """A package whose __init__ is not run: those of these libraries import CUDA extensions."""
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    module.__version__ = "0"  # type: ignore[attr-defined]
    sys.modules[name] = module


def prepare(folders: dict[str, Path]) -> None:
    """Make the libraries importable."""
    if "liger" in folders:
        source = folders["liger"] / "src" / "liger_kernel"
        bare_package("liger_kernel", source)
        bare_package("liger_kernel.ops", source / "ops")
    if "mamba" in folders:
        bare_package("mamba_ssm", folders["mamba"] / "mamba_ssm")
    if "flash-attention" in folders:
        bare_package("flash_attn", folders["flash-attention"] / "flash_attn")
    if "fla" in folders:
        for name in ("fla", "fla.ops", "fla.modules"):
            bare_package(name, folders["fla"].joinpath(*name.split(".")))


def compared(got: Callable[..., Any], wanted: Callable[..., Any], *inputs: Any, wide: bool = True) -> Pairs:
    """Results and, for inputs that ask for one, gradients of both functions; `wanted` in float64 if `wide`."""

    def run(function: Callable[..., Any], values: list[Any]) -> list[tuple[str, Any]]:
        given = [v.detach().clone().requires_grad_(v.requires_grad) if torch.is_tensor(v) else v for v in values]
        results = function(*given)
        outputs = [one for one in (results if isinstance(results, (tuple, list)) else [results]) if one is not None]
        found = [(f"output {index}", one.detach()) for index, one in enumerate(outputs)]
        leaves = [(index, v) for index, v in enumerate(given) if torch.is_tensor(v) and v.requires_grad]
        if leaves:
            generator = torch.Generator().manual_seed(7)
            total: Any = 0
            for one in outputs:
                direction = torch.randn(one.shape, generator=generator)
                total = total + (one * direction.to(one.dtype)).sum()
            total.backward()
            found += [(f"gradient {index}", v.grad) for index, v in leaves]
        return found

    def widened(value: Any) -> Any:
        if not (torch.is_tensor(value) and value.is_floating_point()):
            return value
        return value.detach().double().requires_grad_(value.requires_grad)

    got_all = run(got, list(inputs))
    wanted_all = run(wanted, [widened(v) for v in inputs] if wide else list(inputs))
    return [(name, one, other) for (name, one), (_, other) in zip(got_all, wanted_all, strict=True)]


def rand(*shape: int, dtype: Any = torch.float32, grad: bool = True) -> Any:
    return torch.randn(*shape).to(dtype).requires_grad_(grad)


def angles(tokens: int, width: int) -> tuple[Any, Any]:
    steps = torch.arange(tokens).float()[:, None] * 10000 ** (-torch.arange(0, width, 2).float() / width)
    return steps.cos(), steps.sin()


def turned(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def all_cases() -> list[Case]:
    """Every case of every library."""
    import triton_emulate_attention  # noqa: F401
    import triton_emulate_liger  # noqa: F401
    import triton_emulate_own  # noqa: F401

    return CASES
