"""Gives the torch of this process its emulated GPU. The environment says which one (KPT_EMULATE_*)."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kernel_pytorch.emulate.torch_device.backward_threads import wait_at_exit
from kernel_pytorch.emulate.torch_device.bindings import cuda_names
from kernel_pytorch.emulate.torch_device.build import TorchDeviceError, device_library
from kernel_pytorch.emulate.torch_device.environment import RUNTIME
from kernel_pytorch.emulate.torch_device.graphs import graph_names
from kernel_pytorch.emulate.torch_device.legacy_types import unlock_legacy_types
from kernel_pytorch.emulate.torch_device.native import Native
from kernel_pytorch.emulate.torch_device.nccl import install_nccl
from kernel_pytorch.emulate.torch_device.places import name_places
from kernel_pytorch.emulate.torch_program import adjust_on_import

ROCM = "7.2.0"

_loaded: list[Native] = []


def install_from_environment() -> None:
    """Before torch.cuda is imported: a torch without GPU support gets the emulated one; any other is left alone."""
    torch_c = sys.modules["torch._C"]
    if hasattr(torch_c, "_cuda_getDeviceCount"):
        return
    try:
        native = load()
    except TorchDeviceError as problem:
        print(f"kpt emulate: torch has no GPU: {problem}", file=sys.stderr, flush=True)
        return
    for name, value in names(native).items():
        setattr(torch_c, name, value)
    set_version(ROCM)
    storage_on_device(sys.modules["torch.storage"].UntypedStorage, native)
    install_nccl()
    adjust_on_import(ADJUSTMENTS)
    from kernel_pytorch.emulate.torch_device.report import report_at_exit

    report_at_exit(native)


def load() -> Native:
    """The C++ part for the torch of this process, loaded and registered once."""
    if not _loaded:
        torch_package: Any = sys.modules["torch"]
        folder = Path(torch_package.__file__).parent
        runtime = Path(os.environ[RUNTIME])
        version = str(sys.modules["torch.version"].__version__)
        native = Native(device_library(folder, version, runtime), runtime)
        if native.install():
            raise TorchDeviceError(native.problem().decode())
        _loaded.append(native)
        name_places(native)
        wait_at_exit()
    return _loaded[0]


def _libraries_with_operators(module: Any) -> None:
    """Operators that a library brings: those of torchvision and torchaudio are computed on the CPU too."""
    load = module._Ops.load_library

    @functools.wraps(load)
    def load_library(*arguments: Any, **named: Any) -> Any:
        done = load(*arguments, **named)
        for native in _loaded:
            native.check(native.register_operators())
        return done

    module._Ops.load_library = load_library


# torch.func comes late in torch's own import: the types are there.
ADJUSTMENTS: dict[str, Callable[[Any], None]] = {
    "torch._ops": _libraries_with_operators,
    "torch.func": lambda module: unlock_legacy_types(),
}


def names(native: Native) -> dict[str, Any]:
    """What is put into torch._C."""
    described = json.loads(Path(os.environ["KPT_EMULATE_GPU"]).read_text(encoding="utf-8"))
    return {**cuda_names(native, described), **graph_names(native)}


def set_version(rocm: str | None) -> None:
    """What torch.version says of ROCm."""
    version: Any = sys.modules["torch.version"]
    version.hip = rocm
    version.cuda = None
    if hasattr(version, "rocm"):
        version.rocm = rocm


def storage_on_device(storage: Any, native: Native) -> Callable[[], None]:
    """Making and resizing a torch.UntypedStorage of the GPU: torch's own code is for the devices it was built with.

    What is returned takes it back.
    """
    usual_new, usual_resize = storage.__new__, storage.resize_

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        import torch

        device = kwargs.get("device")
        if device is None or torch.device(device).type != "cuda":
            return usual_new(cls, *args, **kwargs)
        given = args[0] if args else kwargs.get("size", 0)
        if isinstance(given, int):
            made = torch.empty(given, dtype=torch.uint8, device=device)
        else:
            made = torch.tensor(list(given), dtype=torch.uint8, device=device)
        return made.untyped_storage()

    def resize(self: Any, size: int) -> Any:
        if self.device.type != "cuda":
            return usual_resize(self, size)
        native.check(native.resize_storage(self._cdata, size))
        return self

    storage.__new__, storage.resize_ = new, resize

    def take_back() -> None:
        del storage.__new__
        del storage.resize_

    return take_back
