"""aiter's tuning tables: which shapes a model needs, which are in the table, and how to get the others tuned.

The trap: for a shape that is not in the table `gemm_a16w16` calls F.linear, without an error and without a benefit.
"""

from __future__ import annotations

import csv
import importlib
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import read_text
from kernel_pytorch.core.whole_file import write_for_user
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.aiter.installed import package_folder

if TYPE_CHECKING:
    from torch import Tensor, nn

TABLE_VARIABLE = "AITER_CONFIG_GEMM_BF16"
COLUMNS = ("M", "N", "K", "bias", "dtype", "outdtype", "scaleAB", "bpreshuffle")
TUNER = Path("csrc/gemm_a16w16/gemm_a16w16_tune.py")
UNTUNED, TUNED = "bf16_untuned_gemm.csv", "bf16_tuned_gemm.csv"


@dataclass(frozen=True, order=True)
class GemmShape:
    """One product as aiter counts: (rows, k) times (n, k) transposed."""

    rows: int
    n: int
    k: int
    bias: bool
    dtype: str

    def in_words(self) -> str:
        """As aiter's log has it."""
        return f"M:{self.rows}, N:{self.n}, K:{self.k}{', bias' if self.bias else ''}"


def linear_shapes(model: nn.Module, inputs: Inputs) -> tuple[GemmShape, ...]:
    """The shapes of all nn.Linear in one call of the model, each once."""
    import torch

    from kernel_pytorch.models.undisturbed import undisturbed

    found: set[GemmShape] = set()

    def note(module: nn.Linear, args: tuple[Tensor, ...]) -> None:
        x = args[0]
        rows = x.numel() // x.shape[-1]
        found.add(GemmShape(rows, module.out_features, module.in_features, module.bias is not None, str(x.dtype)))

    hooks = [one.register_forward_pre_hook(note) for one in model.modules() if isinstance(one, torch.nn.Linear)]
    try:
        with undisturbed(model), torch.no_grad():
            inputs.call(model)
    finally:
        for hook in hooks:
            hook.remove()
    return tuple(sorted(found))


def table_files() -> tuple[Path, ...]:
    """The tables aiter reads: those of its variable, or the one in the package."""
    named = os.environ.get(TABLE_VARIABLE, "")
    if named:
        return tuple(Path(part) for part in named.split(os.pathsep) if part)
    folder = package_folder()
    return (folder / "configs" / TUNED,) if folder is not None else ()


def tuned_shapes(
    files: Iterable[Path], target: str, compute_units: int, preshuffled: bool = False
) -> frozenset[GemmShape]:
    """Those that the tables have for this device and that another kernel than torch's was found for."""
    found = set()
    for path in files:
        if not path.is_file():
            continue
        with io.StringIO(read_text(path), newline="") as file:
            for row in csv.DictReader(file):
                try:
                    if row.get("gfx", target) != target or int(row["cu_num"]) != compute_units:
                        continue
                    if (row.get("bpreshuffle", "False") == "True") != preshuffled or row.get("libtype") == "torch":
                        continue
                    numbers = (int(row["M"]), int(row["N"]), int(row["K"]))
                except (KeyError, ValueError) as error:
                    raise UsageError(f"{path}: not a tuning table of aiter's ({error})") from error
                found.add(GemmShape(*numbers, row.get("bias") == "True", row.get("dtype", "torch.bfloat16")))
    return frozenset(found)


def padded_rows(shape: GemmShape) -> tuple[int, ...]:
    """The numbers of rows under which aiter looks a shape up: its own, and two rounded ones where aiter tells them."""
    try:
        padded = importlib.import_module("aiter.ops.gemm_op_common").get_padded_m
    except (ImportError, AttributeError):
        return (shape.rows,)
    return (shape.rows, *(int(padded(shape.rows, shape.n, shape.k, coarse)) for coarse in (0, 1)))


def is_tuned(shape: GemmShape, table: frozenset[GemmShape]) -> bool:
    """Would aiter find it?"""
    return any(GemmShape(rows, shape.n, shape.k, shape.bias, shape.dtype) in table for rows in padded_rows(shape))


def is_skinny(shape: GemmShape, compute_units: int) -> bool:
    """So few rows and outputs that aiter has a kernel for it without a table (CDNA, half precision)."""
    if "float16" not in shape.dtype or shape.k % 8:
        return False
    rows, n, k = shape.rows, shape.n, shape.k
    few = (rows == 1 and n <= 2 * compute_units) or (1 < rows <= 4 and n <= compute_units)
    return (
        (few and k <= 9216)
        or (4 < rows <= 8 and n <= compute_units and k <= 5120)
        or (8 < rows <= 16 and n <= compute_units and k <= 256)
    )


def is_for_tuner(shape: GemmShape) -> bool:
    """Whether aiter's gemm_a16w16 and its tuner take it: 16-bit types alone."""
    return shape.dtype in ("torch.bfloat16", "torch.float16")


def diagnosis(missing: Iterable[GemmShape], files: Iterable[Path]) -> str:
    """The trap in words, with the way out."""
    listed = [shape.in_words() for shape in missing]
    where = ", ".join(str(path) for path in files) or "no table"
    shapes = counted(len(listed), "shape")
    return (
        f"aiter's tuning table ({where}) has no kernel for {shapes} ({'; '.join(listed[:3])}): there "
        f"gemm_a16w16 calls F.linear, silently (AITER_LOG_TUNED_CONFIG=1 shows it as 'using torch solution:0'). "
        f"`kpt aiter TARGET --out DIR` writes the shapes and the tuner's command"
    )


def write_untuned(shapes: Iterable[GemmShape], path: Path) -> int:
    """The file the tuner takes; gives how many shapes are in it."""
    rows = [dict(zip(COLUMNS, (s.rows, s.n, s.k, s.bias, s.dtype, s.dtype, False, False), strict=True)) for s in shapes]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
    writer.writeheader()
    writer.writerows(rows)
    write_for_user(path, text.getvalue())
    return len(rows)


def tuner_command(checkout: Path, folder: Path, python: str = "python3") -> list[str]:
    """The tuner's command line. Raises UsageError where the checkout has no tuner."""
    script = checkout / TUNER
    if not script.is_file():
        raise UsageError(f"{script}: no such file; give --aiter the folder of aiter's sources, which hold the tuner")
    files = ["--input_file", str(folder / UNTUNED), "--tuned_file", str(folder / TUNED)]
    return [python, str(script), *files]
