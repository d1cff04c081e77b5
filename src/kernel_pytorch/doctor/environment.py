"""The environment variables that matter on ROCm, as a table: what each does, its default, who says so."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

from kernel_pytorch.core.hardware import UnknownTargetError, target

ALLOCATOR_VARIABLES = ("PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
OFF_VALUES = ("", "0", "false", "off", "no")


@dataclass(frozen=True)
class Variable:
    """One row. `applies` is "all", "cdna" or a library that must serve the target; `value` is what we recommend."""

    name: str
    kind: str
    value: str
    default: str
    applies: str
    what: str
    source: str

    def applies_to(self, target_name: str) -> bool:
        if self.applies == "all":
            return True
        try:
            facts = target(target_name)
        except UnknownTargetError:
            return False
        return facts.matrix == "mfma" if self.applies == "cdna" else self.applies in facts.libraries

    @property
    def is_default(self) -> bool:
        """The recommended value is what ROCm or torch does anyway."""
        return bool(self.value) and self.default.split(" ")[0] == self.value


@cache
def variables(kind: str | None = None) -> tuple[Variable, ...]:
    """The rows of the table, or those of one kind."""
    text = (resources.files("kernel_pytorch.doctor") / "data" / "environment.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    table = tuple(
        Variable(row["variable"], row["kind"], row["value"], row["default"], row["applies"], row["what"], row["source"])
        for row in rows
    )
    return tuple(row for row in table if kind in (None, row.kind))


def variable(name: str) -> Variable:
    """One row by name. Raises KeyError."""
    return {row.name: row for row in variables()}[name]


def is_on(value: str | None) -> bool:
    """Whether a flag's value switches it on."""
    return value is not None and value.strip().lower() not in OFF_VALUES


def allocator_options(env: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The options in each allocator variable that is set: {"PYTORCH_CUDA_ALLOC_CONF": {"max_split_size_mb": "128"}}."""
    found: dict[str, dict[str, str]] = {}
    for name in ALLOCATOR_VARIABLES:
        if env.get(name):
            parts = (part.partition(":") for part in env[name].split(","))
            found[name] = {key.strip(): value.strip() for key, _, value in parts if key.strip()}
    return found
