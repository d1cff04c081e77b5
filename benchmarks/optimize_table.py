"""The table of optimize_h200.py, and what it must show. `python benchmarks/optimize_table.py FILE` prints it again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

EAGER, DEFAULT, REDUCE, SEARCH = "eager", "compile default", "reduce-overhead", "max-autotune"
OURS, ALLOWED = "ours without reduce-overhead", "ours with it allowed"
ORDER = (EAGER, DEFAULT, REDUCE, SEARCH, OURS, ALLOWED)


def shown(name: str, case: dict[str, Any]) -> str:
    lines = [f"\n{name}"]
    for variant in ORDER:
        row = case["rows"].get(variant)
        if row is None:
            continue
        if "failed" in row:
            lines.append(f"  {variant:<30}{row['failed']}")
            continue
        memory = f"{row['peak_gib']:6.2f} GiB" if row.get("peak_gib") else ""
        verdict = case["others_against_ours"].get(variant)
        words = f"  {verdict['ratio']:.3f}x ours [{verdict['low']:.3f}, {verdict['high']:.3f}]" if verdict else ""
        lines.append(
            f"  {variant:<30}{row['ms']:8.4f} ms [{row['low']:.4f}, {row['high']:.4f}]  made in {row['made_s']:5.1f} s"
            f"  {memory}{words}"
        )
    for variant, recipe in case["recipes"].items():
        lines.append(f"    {variant}: {', '.join(rung for rung, _ in recipe) or 'nothing helped'}")
    return "\n".join(lines)


def slower_than_best(case: dict[str, Any]) -> list[str]:
    """Which of ours is slower than the best of the others, beyond 2 % and the intervals."""
    rows = {name: row for name, row in case["rows"].items() if "ms" in row}
    others = [rows[name] for name in (EAGER, DEFAULT, REDUCE, SEARCH) if name in rows]
    if not others:
        return []
    best = min(others, key=lambda row: row["ms"])
    return [
        n for n in (OURS, ALLOWED) if n in rows and rows[n]["low"] > best["high"] and rows[n]["ms"] > 1.02 * best["ms"]
    ]


def main() -> int:
    found = json.loads(Path(sys.argv[1]).read_text())
    print(f"{found['device']}, torch {found['torch']}, copy {found.get('copy_gbs') or 0:.0f} GB/s")
    for name, case in found["cases"].items():
        print(shown(name, case))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
