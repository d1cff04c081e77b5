"""KernelPyTorch: move CUDA and PyTorch code to AMD GPUs and make it fast there.

Importing this package imports no torch and probes no GPU.

`port`, `emulate` and `verify` are subpackages, and the jobs of the same names: `kernel_pytorch.port.discover` is a
module, `kernel_pytorch.port(path)` ports a project.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernel_pytorch.version import VERSION

if TYPE_CHECKING:
    from kernel_pytorch.jobs.emulate import emulate
    from kernel_pytorch.jobs.port import port
    from kernel_pytorch.jobs.scan import scan
    from kernel_pytorch.jobs.verify import verify
    from kernel_pytorch.perf.ladder.optimize import Optimized, optimize

__version__ = VERSION

__all__ = ["Optimized", "__version__", "emulate", "optimize", "port", "scan", "verify"]


def __getattr__(name: str) -> Any:
    """What needs more than the standard library is imported when it is asked for."""
    if name in ("optimize", "Optimized"):
        from kernel_pytorch.perf.ladder import optimize as module

        return getattr(module, name)
    if name == "scan":
        from kernel_pytorch.jobs.scan import scan

        return scan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _CallableModule(ModuleType):
    """A subpackage that calls the function of its name in `jobs`. The first call imports that function.

    A plain function under the subpackage's name would not last: the first `import kernel_pytorch.port.x` binds the name
    `port` to the module.
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(import_module(f"kernel_pytorch.jobs.{name}"), name)(*args, **options)


# Their own `__init__` files hold a docstring and nothing else: importing them costs next to nothing.
for _name in ("emulate", "port", "verify"):
    import_module(f"kernel_pytorch.{_name}").__class__ = _CallableModule
