"""A number with its noun, in singular or plural."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 finding`, `2 findings`; `plural` where it is not the noun with an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
