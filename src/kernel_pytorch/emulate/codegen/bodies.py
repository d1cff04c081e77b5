"""A row's body as C statements."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernel_pytorch.emulate.assembly.instruction import Decimal, Modifier, Named, Number, Operand, Register

_PLACEHOLDER = re.compile(r"\{(\w+)(?::(\d+))?\}")


def statements(body: str, has_result: bool) -> str:
    """The body as statements; an expression is assigned to `d`."""
    if ";" in body or not has_result or re.match(r"\s*(scc|d|e|x)\s*=[^=]", body):
        return body if body.rstrip().endswith((";", "}")) else body + ";"
    return f"d = {body};"


def fill(body: str, modifiers: Mapping[str, Modifier]) -> str:
    """Replace {name} by a modifier's number, {name:default} by the default where the modifier is absent."""
    return _PLACEHOLDER.sub(lambda match: modifier_number(modifiers, match[1], match[2]), body)


def modifier_number(modifiers: Mapping[str, Modifier], name: str, default: str | None) -> str:
    """A modifier as a C number: a list is a mask with bit i for element i; op_sel_hi is all ones when it is absent."""
    value = modifiers.get(name)
    if value is None:
        return f"{default if default is not None else '7' if name == 'op_sel_hi' else '0'}u"
    if isinstance(value, bool):
        return f"{int(value)}u"
    if isinstance(value, int):
        return f"{value}u" if value >= 0 else f"({value})"
    if isinstance(value, tuple):
        return f"{sum(bool(one) << index for index, one in enumerate(value))}u"
    return f'"{value}"'


def sign_masks(sources: list[Operand]) -> dict[str, Modifier]:
    """The sources that are negated or made positive, as bit masks `neg` and `abs`."""
    signed = [one if isinstance(one, (Register, Number, Decimal, Named)) else None for one in sources]
    return {
        "neg": sum(1 << at for at, one in enumerate(signed) if one is not None and one.neg),
        "abs": sum(1 << at for at, one in enumerate(signed) if one is not None and one.abs),
    }
