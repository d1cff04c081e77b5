"""C++ symbol names as people write them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache


@cache
def demangle(symbol: str) -> str:
    """The C++ name behind a mangled one; the symbol itself where it is not mangled or cannot be read.

    Uses the C++ library every Linux machine with a compiled Python extension has. Without it plain functions and
    namespaces are still read, templates are not.
    """
    if not symbol.startswith("_Z"):
        return symbol
    runtime = _runtime_demangler()
    if runtime is not None:
        return runtime(symbol) or symbol
    return _plain_name(symbol) or symbol


def short_name(name: str) -> str:
    """A demangled name without return type and argument list: `void scale<float>(float*, int)` -> `scale<float>`."""
    depth = 0
    end = len(name)
    for at, char in enumerate(name):
        if char == "<":
            depth += 1
        elif char == ">" and not name.endswith("operator>", 0, at + 1):
            depth -= 1
        elif char == "(" and depth == 0 and not name.startswith("(anonymous namespace)", at):
            end = at
            break
    head = name[:end]
    depth = 0
    for at in range(len(head) - 1, -1, -1):
        if head[at] in ">)":
            depth += 1
        elif head[at] in "<(":
            depth -= 1
        elif head[at] == " " and depth == 0 and not head[:at].endswith("operator"):
            return head[at + 1 :]
    return head


@cache
def _runtime_demangler() -> Callable[[str], str | None] | None:
    for name in ("libstdc++.so.6", "libc++abi.so.1", "libc++.1.dylib"):
        try:
            return _demangler_of(ctypes.CDLL(name), ctypes.CDLL(None))
        except (OSError, AttributeError):
            continue
    return None


def _demangler_of(library: ctypes.CDLL, libc: ctypes.CDLL) -> Callable[[str], str | None]:
    function, release = library.__cxa_demangle, libc.free
    function.restype = ctypes.c_void_p
    function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
    release.argtypes = (ctypes.c_void_p,)
    release.restype = None

    def read(symbol: str) -> str | None:
        status = ctypes.c_int(0)
        address = function(symbol.encode(), None, None, ctypes.byref(status))
        if not address or status.value != 0:
            return None
        text = ctypes.cast(address, ctypes.c_char_p).value
        release(address)
        return text.decode("utf-8", errors="replace") if text is not None else None

    return read


def _plain_name(symbol: str) -> str | None:
    """`_Z5saxpyPKf` -> saxpy, `_ZN2ns3addEv` -> ns::add; None for anything with templates or substitutions."""
    nested = symbol.startswith("_ZN")
    rest = symbol[3 if nested else 2 :].removeprefix("L")
    parts: list[str] = []
    while match := re.match(r"(\d+)", rest):
        length = int(match[1])
        start = match.end()
        if start + length > len(rest):
            return None
        part, rest = rest[start : start + length], rest[start + length :]
        parts.append("(anonymous namespace)" if part.startswith("_GLOBAL__N_") else part)
        if not nested:
            break
    if not parts or rest.startswith("I") or (nested and not rest.startswith("E")):
        return None
    return "::".join(parts)
