"""The rows of h200_times.json.gz, which h200_times.py measured, with the work that kpt sees in each.

    python benchmarks/h200_rows.py [--fit] [--kinds]      expected times against the test (or fit) side, by class

The measured file is kept as it was written, with the day and the command in front. Each model counts as a source.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from h200_cases import FIT
from times_data import Measured

from kernel_pytorch.perf.expected.formulas import Launched, kind_of
from kernel_pytorch.perf.recorded_work import kernel_aware_work
from kernel_pytorch.perf.roofline.forms import Convolved
from kernel_pytorch.perf.trace.recording import Signature

FILE = Path(__file__).with_name("h200_times.json.gz")
GPU = "h200"


def kept() -> dict[str, Any]:
    """What was measured, and on what."""
    found: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))
    return found


def provenance() -> str:
    """What the table says about it."""
    found = kept()
    return f"h200_times.py on {found['gpu']} (torch {found['torch']} {found['date']})"


def h200_rows(side: str | None = None) -> Iterator[Measured]:
    """Those whose work is known, of both sides or of one."""
    for row in kept()["rows"]:
        if side not in (None, row["side"]):
            continue
        names = ("dims", "types", "strides", "concrete")
        one = Signature(row["operator"], *(_frozen(row[name]) for name in names))
        work = kernel_aware_work(one, row["kernels"][0])
        if work is None or work.form is None:
            continue
        category = row["category"]
        if category == "convolution" and not isinstance(work.form, Convolved):
            category = "elementwise"  # the bias is added by a kernel of its own
        yield Measured(
            GPU, f"{GPU}/{row['side']}/{row['model']}", row["model"], category, row["operator"], work, row["us"],
            row["calls"], Launched(row["idle"], len(row["kernels"]), row["cold"]),
        )  # fmt: skip


def is_h200_fit(row: Measured) -> bool:
    """Whether a row of this file is on the fit side."""
    return row.source.split("/")[1] == FIT


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def main() -> int:
    """Print a table."""
    from amd_times import pairs, table

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true", help="the side that the table was fitted on")
    parser.add_argument("--kinds", action="store_true", help="by kind of the table of coefficients instead of class")
    args = parser.parse_args()
    found = pairs(h200_rows(FIT if args.fit else "test"))
    by = (lambda row: kind_of(row.work) or "") if args.kinds else (lambda row: row.category)
    print("\n".join(table(found, by)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
