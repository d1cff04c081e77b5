"""constexpr variables made through a reference

What: `constexpr float k = 1.f / model.SCALE;` in device code, where `model` is a reference made in the same function.
Why: nvcc reads the static member without looking at the reference. clang follows the standard: if a reference's object
    is not known, the whole expression is not a constant.
Fix: kpt makes the variable `const` on ROCm. Where its value sizes an array or is a template argument, name the class
    instead: `Model::SCALE`.
Source: https://eel.is/c++draft/expr.const (references in constant expressions); clang's "initializer of 'x' is not a
    constant expression"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kernel_pytorch.core.findings import Edit, Finding, Safety, Span
from kernel_pytorch.port.cxx.device_code import device_region_at
from kernel_pytorch.port.rule import Rule

if TYPE_CHECKING:
    from kernel_pytorch.port.cxx.source import CxxFile

RULE = Rule("KP275", "constexpr-through-reference", languages=("cuda",), safety=Safety.SAFE, triggers=(b"constexpr",))

_VARIABLE = re.compile(rb"constexpr(?<!\wconstexpr)\b(?=[^;={}()]*?\w\s*=\s*([^;{}]*);)")
_MEMBER = re.compile(rb"(?<![\w.])([A-Za-z_]\w*)\s*\.\s*[A-Za-z_]")


def check(src: CxxFile) -> Iterator[Finding]:
    """Each constexpr variable whose value goes through a reference of its function."""
    starts: set[int] | None = None
    for found in _VARIABLE.finditer(src.data):
        names = _MEMBER.findall(found.group(1))
        region = device_region_at(src, found.start()) if names else None
        if region is None:
            continue
        before = src.data[region.start : found.start()]
        through = next((name for name in names if re.search(rb"&\s*" + name + rb"\s*=[^=]", before)), None)
        if through is None:
            continue
        starts = starts if starts is not None else {token.start for token in src.code}
        if found.start() in starts:
            span = Span(found.start(), found.end())
            message = f"computed through the reference {through.decode()}: clang does not accept it as a constant"
            yield RULE.finding(src, span, message, [Edit(span, b"const")])
