"""The kernel object behind a name that was found by reading: a module's own, or what a function makes and returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

from kernel_pytorch.perf.inspect.compile_kernel import first_words
from kernel_pytorch.perf.inspect.find_kernels import FoundKernel

if TYPE_CHECKING:
    from triton import JITFunction


def kernel_of(
    found: FoundKernel, module: ModuleType | Exception, spec: dict[str, object]
) -> tuple[JITFunction | None, str, str]:
    """The kernel, or None with the reason and its kind. `spec` also holds the arguments of a function that makes it."""
    if isinstance(module, BaseException):
        return None, first_words(module), "import"
    if not found.factory:
        kernel = getattr(module, found.name, None)
        return kernel, "" if kernel is not None else "not at the top level of its module", "import"
    make = getattr(module, found.factory, None)
    if make is None:
        return None, "not at the top level of its module", "import"
    arguments, missing = _arguments(make, spec)
    if missing:
        wanted = ", ".join(f'"{name}": ...' for name in missing)
        why = f"{found.factory}({', '.join(missing)}) makes it: name what it is called with in --spec"
        return None, f'{why} {{"{found.name}": {{{wanted}}}}}', "signature"
    try:
        kernel = make(**arguments)
    except Exception as error:  # the repository's own function
        return None, f"{found.factory} raised {first_words(error)}", "import"
    if not hasattr(kernel, "fn"):
        return None, f"{found.factory} makes it and does not return it", "import"
    return kernel, "", ""


def _arguments(make: Callable[..., object], spec: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    given, missing = {}, []
    for name, parameter in inspect.signature(make).parameters.items():
        if name in spec:
            given[name] = spec[name]
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        ):
            missing.append(name)
    return given, missing
