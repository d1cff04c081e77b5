"""How a buffer is wrong: still what it was before the launch, some lanes of every wave, transposed, or what the
comparison of tensors finds (NaN, a scale, a constant, permuted)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernel_pytorch.core.counted import counted
from kernel_pytorch.verify.golden.diagnose import Diagnosis
from kernel_pytorch.verify.golden.record import as_double
from kernel_pytorch.verify.kernels.contents import as_tensor

_CERTAIN = ("nan", "overflow", "shape", "scale", "bias")
_MOSTLY = 0.9


@dataclass(frozen=True)
class Wrong:
    """Two contents that differ, what was there before, and the launch's shape."""

    here: bytes
    reference: bytes
    before: bytes | None
    dtype: str
    limit: float
    grid: tuple[int, ...]
    block: tuple[int, ...]


def describe(wrong: Wrong, found: Diagnosis | None) -> Diagnosis:
    """The most telling pattern; `found` is what the comparison said, without knowing the launch."""
    here, reference = (as_double(as_tensor(content, wrong.dtype)) for content in (wrong.here, wrong.reference))
    if here.shape != reference.shape or (found is not None and found.kind in _CERTAIN):
        return found or Diagnosis("shape", "another number of elements")
    off = _wrong_elements(here, reference, wrong.limit)
    count = int(off.sum())
    where = _lanes(off)
    stale = _stale(wrong, here, off)
    if stale is not None and stale >= _MOSTLY * count > 0:
        text = f"{stale} of {here.numel()} elements still hold what they held before the launch"
        return Diagnosis("stale lanes" if where else "stale", f"{text}: {where}" if where else text)
    if where:
        return Diagnosis("lanes", where)
    turned = _transposed(wrong, here, reference)
    if turned is not None:
        return turned
    first = int(off.nonzero()[0]) if count else 0
    values = f"{float(here[first]):.6g} here, {float(reference[first]):.6g} in the record"
    return Diagnosis(
        found.kind if found is not None else "noise",
        f"{count} of {here.numel()} elements, the first at {first}: {values}"
        + (f"; {found.text}" if found is not None and found.kind not in ("noise", "part") else ""),
    )


def _wrong_elements(here: Any, reference: Any, limit: float) -> Any:
    import torch

    usual = torch.isfinite(reference) & torch.isfinite(here)
    size = reference[usual]
    typical = float(size.pow(2).mean()) ** 0.5 if size.numel() else 0.0
    differs = (here - reference).abs() > 16 * limit * torch.clamp(reference.abs(), min=typical)
    return torch.where(usual, differs, torch.isfinite(reference) != torch.isfinite(here))


def _lanes(off: Any) -> str:
    """`lanes 32 to 63 of every 64` where the same lanes of most waves are off and the others are not."""
    for wave in (64, 32):
        whole = off[: off.numel() // wave * wave].reshape(-1, wave).double()
        if whole.shape[0] < 2:
            continue
        share = whole.mean(dim=0)
        wrong = (share > 0.5).nonzero().reshape(-1).tolist()
        others = float(share.sum()) - float(share[wrong].sum()) if wrong else 1.0
        if 0 < len(wrong) <= wave // 2 and others < 0.05 * len(wrong):
            contiguous = wrong[-1] - wrong[0] + 1 == len(wrong)
            listed = f"lanes {wrong[0]} to {wrong[-1]}" if len(wrong) > 1 else f"lane {wrong[0]}"
            if not contiguous:
                listed = f"{counted(len(wrong), 'lane')} ({', '.join(map(str, wrong[:6]))}, ...)"
            return f"{listed} of every {wave}"
    return ""


def _stale(wrong: Wrong, here: Any, off: Any) -> int | None:
    if wrong.before is None or len(wrong.before) != len(wrong.here):
        return None
    old = as_double(as_tensor(wrong.before, wrong.dtype))
    return int(((here == old) & off).sum())


def _transposed(wrong: Wrong, here: Any, reference: Any) -> Diagnosis | None:
    count = here.numel()
    threads = [size * blocks for size, blocks in zip(wrong.block, wrong.grid, strict=True)]
    root = round(count**0.5)
    rows = [root, *(size for size in (*threads, *wrong.block, *wrong.grid) if size > 1)]
    for row in dict.fromkeys(rows):
        if row < 2 or count % row or count // row < 2:
            continue
        turned = reference.reshape(row, count // row).T.reshape(-1)
        norm = float(reference.norm()) or 1.0
        if float((here - turned).norm()) <= 4 * max(wrong.limit, 1e-12) * norm:
            return Diagnosis("transposed", f"the matrix of {row} x {count // row} is stored with its sides swapped")
    return None
