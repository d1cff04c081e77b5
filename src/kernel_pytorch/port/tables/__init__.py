"""Data files of the port: renames and substitutions kept as rows, not as code."""

from __future__ import annotations

import csv
from importlib.resources import files


def read_table(name: str) -> list[dict[str, str]]:
    """Rows of `port/tables/NAME` as dictionaries keyed by the header line."""
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
