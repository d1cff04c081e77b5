"""Which kernel of a module a launch means: by name, by symbol, or the only one there is."""

from __future__ import annotations

from collections.abc import Mapping

from kernel_pytorch.toolchain.demangle import demangle, short_name

# What older C++ libraries cannot read, and an older spelling of the same type that they can.
_OLDER_SPELLINGS = (("DF16_", "Dh"), ("DF16b", "u6__bf16"))


def readable_name(symbol: str) -> str:
    """The C++ declaration behind a symbol; the symbol itself where it cannot be read."""
    name = demangle(symbol)
    if name != symbol or not symbol.startswith("_Z"):
        return name
    older = symbol
    for new, old in _OLDER_SPELLINGS:
        older = older.replace(new, old)
    name = demangle(older)
    return symbol if name == older else name


def choose_kernel(label: str, kernels: Mapping[str, str], wanted: str | None = None) -> str:
    """The symbol to launch out of `kernels` (symbol -> readable name).

    `wanted` is a symbol or a C++ name with or without its parameter list. Without it, the kernel that has the
    label's name, or the only kernel. Raises ValueError listing the kernels otherwise.
    """
    if wanted is not None:
        found = _matching(kernels, wanted)
        if len(found) == 1:
            return found[0]
        problem = "is not in the module" if not found else "names more than one kernel"
        raise ValueError(f"kernel={wanted!r} {problem}; it has: {_listing(kernels)}")
    if len(kernels) == 1:
        return next(iter(kernels))
    found = _matching(kernels, label)
    if len(found) == 1:
        return found[0]
    raise ValueError(f"{label!r} holds {len(kernels)} kernels; say which with kernel=...: {_listing(kernels)}")


def _matching(kernels: Mapping[str, str], wanted: str) -> list[str]:
    if wanted in kernels:
        return [wanted]
    for view in (str, short_name, _without_scope):
        found = [symbol for symbol, readable in kernels.items() if view(readable) == wanted]
        if found:
            return found
    return []


def _without_scope(readable: str) -> str:
    """The last identifier: `ns::add<float>(int)` is `add`."""
    name = short_name(readable)
    return name.split("<")[0].rpartition("::")[2] if "<" in name else name.rpartition("::")[2]


def _listing(kernels: Mapping[str, str]) -> str:
    return ", ".join(sorted(kernels.values())) or "no kernel"
