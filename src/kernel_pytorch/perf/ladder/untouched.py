"""A rung must not change the model it is given: seen to, and put right where that is possible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

# What decides what a module computes. Other attributes may be caches of a forward pass that a rung ran.
_TABLES = ("_parameters", "_modules", "_buffers")


@contextmanager
def untouched(model: nn.Module) -> Iterator[list[str]]:
    """The list holds afterwards what the block changed about the model; tables and attributes are as before."""
    modules = list(model.named_modules())
    attributes = [(module, dict(module.__dict__)) for _, module in modules]
    tables = [(module, name, dict(getattr(module, name))) for _, module in modules for name in _TABLES]
    versions = [(name, item, _version(item)) for name, item in model.named_parameters()]
    changed: list[str] = []
    try:
        yield changed
    finally:
        names = {id(module): name or "the model" for name, module in modules}
        for module, before in attributes:
            if module.__dict__.get("forward") is not before.get("forward"):
                changed.append(f"the forward of {names[id(module)]}")
            if module.training != before["training"]:
                changed.append(f"the mode of {names[id(module)]}")
        for module, table, rows in tables:
            now = getattr(module, table)
            if table != "_buffers" and not _same_rows(now, rows):
                changed.append(f"{table.strip('_')} of {names[id(module)]}")
        changed += [f"the values of {name}" for name, item, version in versions if _version(item) != version]
        if changed:
            for module, before in attributes:
                module.__dict__.clear()
                module.__dict__.update(before)
            for module, table, rows in tables:
                now = getattr(module, table)
                now.clear()
                now.update(rows)


def _same_rows(now: dict[str, Any], before: dict[str, Any]) -> bool:
    return list(now) == list(before) and all(now[name] is item for name, item in before.items())


def _version(item: Any) -> int:
    return 0 if item.is_inference() else int(item._version)
