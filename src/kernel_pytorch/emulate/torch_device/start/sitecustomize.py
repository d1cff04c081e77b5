"""Runs when a Python under `kpt emulate` starts: torch gets its emulated GPU when it is imported.

The folder of this file stands first in PYTHONPATH. A sitecustomize of the user's own, further back, still runs.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent


class _WithTorch:
    """Waits for torch and for torch.cuda, once each.

    Before torch: a CUDA build is loaded without CUDA's libraries. Before torch.cuda: torch's C++ part is there by then,
    and nothing of torch.cuda has run. It stays in sys.meta_path: a finder that takes itself out while Python goes
    through the list makes Python leave out the next one.
    """

    def __init__(self) -> None:
        self.pending = {"torch": _before_torch, "torch.cuda": _before_torch_cuda}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        prepare = self.pending.pop(name, None)
        if prepare is not None:
            prepare()


def _before_torch() -> None:
    found = importlib.machinery.PathFinder.find_spec("torch")
    if found is not None and found.origin and (Path(found.origin).parent / "lib" / "libtorch_cuda.so").is_file():
        _ours("cuda_build").take_its_place_or_say_why(Path(found.origin).parent)


def _before_torch_cuda() -> None:
    _ours("install").install_from_environment()


def _ours(module: str) -> Any:
    package = str(_HERE.parents[3])
    # Ours first, and only while it is imported: its folder may hold other packages than the program's own.
    sys.path.insert(0, package)
    try:
        return importlib.import_module(f"kernel_pytorch.emulate.torch_device.{module}")
    finally:
        sys.path.remove(package)


def _run_next() -> None:
    """The sitecustomize that Python would have found without ours."""
    folders = [entry for entry in sys.path if entry and Path(entry).resolve() != _HERE]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", folders)
    if found is None or found.loader is None:
        return
    module = importlib.util.module_from_spec(found)
    sys.modules["sitecustomize"] = module
    found.loader.exec_module(module)


if os.environ.get("KPT_TORCH_DEVICE") and __name__ == "sitecustomize":
    sys.meta_path.insert(0, _WithTorch())
    _run_next()
