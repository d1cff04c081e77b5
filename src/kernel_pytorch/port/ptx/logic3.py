"""lop3: the shortest C++ expression for any function of three bits."""

from __future__ import annotations

from functools import cache

# PTX defines the table by these three constants: immLut = F(0xF0, 0xCC, 0xAA).
_A, _B, _C = 0xF0, 0xCC, 0xAA


@cache
def expressions() -> dict[int, str]:
    """An expression over {a}, {b}, {c} for each of the 256 tables: fewest operators first, found by closure."""
    known: dict[int, tuple[int, str]] = {
        0x00: (0, "0u"),
        0xFF: (0, "~0u"),
        _A: (0, "{a}"),
        _B: (0, "{b}"),
        _C: (0, "{c}"),
    }
    cost = 0
    while len(known) < 256:
        cost += 1
        found: dict[int, str] = {}
        entries = sorted(known.items(), key=lambda item: (item[1][0], len(item[1][1]), item[1][1]))
        for table, (price, text) in entries:
            if price == cost - 1:
                found.setdefault(~table & 0xFF, f"~{text}")
        for left, (left_price, left_text) in entries:
            for right, (right_price, right_text) in entries:
                if left_price + right_price != cost - 1 or left > right:
                    continue
                found.setdefault(left & right, f"({left_text} & {right_text})")
                found.setdefault(left ^ right, f"({left_text} ^ {right_text})")
                found.setdefault(left | right, f"({left_text} | {right_text})")
        for table, text in found.items():
            if table not in known:
                known[table] = (cost, text)
    return {table: text for table, (_, text) in known.items()}


def expression(table: int, a: str, b: str, c: str) -> str:
    """The C++ expression for `lop3.b32 d, a, b, c, table`."""
    return expressions()[table & 0xFF].format(a=a, b=b, c=c)
