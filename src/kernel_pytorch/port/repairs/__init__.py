"""Repairs by what the compiler says, one file each. The folder is the registry."""

from __future__ import annotations

import importlib
from functools import lru_cache
from pathlib import Path

from kernel_pytorch.port.repairs.repair import LoadedRepair


@lru_cache(maxsize=1)
def all_repairs() -> tuple[LoadedRepair, ...]:
    """Every repair, in the order of their codes: the first that has an edit is taken."""
    loaded = []
    for file in sorted(Path(__file__).parent.glob("kp*.py")):
        module = importlib.import_module(f"{__name__}.{file.stem}")
        loaded.append(LoadedRepair(module.REPAIR, module.edits))
    return tuple(loaded)
