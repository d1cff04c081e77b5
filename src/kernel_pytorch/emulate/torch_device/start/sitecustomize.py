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


class _BeforeTorchCuda:
    """Waits for the import of torch.cuda: by then torch's C++ part is there, and nothing of torch.cuda has run."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name != "torch.cuda":
            return
        sys.meta_path.remove(self)
        package = str(_HERE.parents[3])
        # Ours first, and only while it is imported: its folder may hold other packages than the program's own.
        sys.path.insert(0, package)
        try:
            install = importlib.import_module("kernel_pytorch.emulate.torch_device.install")
        finally:
            sys.path.remove(package)
        install.install_from_environment()


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
    sys.meta_path.insert(0, _BeforeTorchCuda())
    _run_next()
