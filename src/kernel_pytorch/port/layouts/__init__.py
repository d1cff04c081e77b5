"""How ported C++ is laid out: as a copy, behind gates in one source, or for torch's own extension build."""

from __future__ import annotations

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.port.layouts.copy import copy
from kernel_pytorch.port.layouts.layout import Layout
from kernel_pytorch.port.layouts.single_source import single_source
from kernel_pytorch.port.layouts.torch_extension import is_renamed_here, torch_extension

LAYOUTS = {
    one.name: one
    for one in (
        Layout("copy", copy, writes_twins=True, renames=lambda name: True),
        Layout("single-source", single_source, has_one_header=True),
        Layout("torch-extension", torch_extension, is_built_by_torch=True, renames=is_renamed_here),
    )
}


def layout_named(name: str) -> Layout:
    """The layout of that name. Raises UsageError, which names those there are."""
    if name not in LAYOUTS:
        raise UsageError(f"layout {name!r} is not known: expected one of {', '.join(LAYOUTS)}")
    return LAYOUTS[name]
