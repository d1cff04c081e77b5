"""How often is a verdict of `kpt bench` wrong when its rounds depend on each other? On noise whose truth is known.

    python benchmarks/bench_noise.py [--tries 1000]

A machine's clock and temperature make neighbouring rounds alike. Here log(B / A) is AR(1) noise, its standard deviation
and its correlation as given, around a known truth; looks are taken when `kpt bench` takes them. For equal code "faster"
and "slower" are wrong, for code 1.1 % slower (just beyond the margin) "same" and "faster". The stated error is 1 %.
No clock is read: the figures are the same on every machine.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from functools import cache

from kernel_pytorch.models.clock import statistics
from kernel_pytorch.models.clock.rounds import MIN_SAMPLES
from kernel_pytorch.models.clock.verdict import ERROR, judge

TRUTHS = {1.0: ("faster", "slower"), 1.011: ("same", "faster"), 1.02: ("same", "faster")}
MOST_ROUNDS = 450


def one_try(chance: random.Random, truth: float, noise: float, correlation: float) -> tuple[str, int]:
    """The verdict, and after how many rounds it stood."""
    fresh = math.sqrt(1 - correlation**2)
    state = chance.gauss(0, noise)
    ratios: list[float] = []
    looks, next_look = 0, MIN_SAMPLES
    while len(ratios) < MOST_ROUNDS:
        state = correlation * state + fresh * chance.gauss(0, noise)
        ratios.append(math.log(truth) + state)
        if len(ratios) >= next_look:
            looks += 1
            next_look = math.ceil(1.6 * len(ratios))
            verdict = judge("a", "b", ratios, looks=looks).verdict
            if verdict != "undecided":
                return verdict, len(ratios)
    return "undecided", len(ratios)


def main() -> int:
    """Prints the table; exit 1 if more verdicts are wrong than stated, beyond what chance explains."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tries", type=int, default=1000)
    parser.add_argument("--correlations", type=float, nargs="+", default=[0.0, 0.3, 0.6, 0.8])
    args = parser.parse_args()
    exact = statistics.t_quantile
    rounded = cache(exact)
    statistics.t_quantile = lambda probability, freedom: rounded(probability, round(freedom, 1))  # a table of t
    allowed = ERROR * args.tries + 3 * math.sqrt(ERROR * args.tries)
    worst = 0
    print("| correlation | noise | truth | wrong | undecided | rounds |\n|---|---|---|---|---|---|")
    for correlation in args.correlations:
        for noise in (0.005, 0.02):
            for truth, wrong_ones in TRUTHS.items():
                chance = random.Random(7)
                found = [one_try(chance, truth, noise, correlation) for _ in range(args.tries)]
                counts = Counter(verdict for verdict, _ in found)
                wrong = sum(counts[name] for name in wrong_ones)
                worst = max(worst, wrong)
                rounds = sum(count for _, count in found) / len(found)
                print(
                    f"| {correlation:g} | {noise:.1%} | {truth:g} | {wrong / args.tries:.1%} | "
                    f"{counts['undecided'] / args.tries:.0%} | {rounds:.0f} |",
                    flush=True,
                )
    return 0 if worst <= allowed else 1


if __name__ == "__main__":
    raise SystemExit(main())
