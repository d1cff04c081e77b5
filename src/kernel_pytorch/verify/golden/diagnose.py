"""Says how a tensor is wrong, not only that it is: NaN, overflow, a scale, a constant, transposed, permuted, some rows,
some lanes of a wave, or noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_MAX_SLICES = 512
_BLOCKS = (16, 32, 48, 64, 80, 96, 128, 160, 192, 256)
_LISTED = 8


@dataclass(frozen=True)
class Diagnosis:
    """The kind of difference and a sentence about it."""

    kind: str
    text: str


def diagnose(here: Any, reference: Any, limit: float, dtype: str = "float32") -> Diagnosis:
    """How `here` differs from `reference` (float64 tensors of one shape). `limit` is the norm-wise tolerance."""
    for shape in (_not_finite, _scaled, _shifted, _transposed, _permuted, _some_lanes, _some_slices):
        found = shape(here, reference, max(limit, 1e-12), dtype)
        if found is not None:
            return found
    error = _relative(here, reference)
    return Diagnosis("noise", f"no pattern: every part differs, by {error:.2g} of the norm (limit {limit:.2g})")


def _relative(here: Any, reference: Any) -> float:
    norm = float(reference.norm())
    return float((here - reference).norm()) / norm if norm else float(here.norm())


def _not_finite(here: Any, reference: Any, limit: float, dtype: str) -> Diagnosis | None:
    import torch

    bad = ~torch.isfinite(here) & torch.isfinite(reference)
    if not bool(bad.any()):
        return None
    count, nan = int(bad.sum()), int((torch.isnan(here) & bad).sum())
    largest = float(reference[bad].abs().max())
    close = float(reference[torch.isfinite(reference)].abs().max())
    if dtype == "float16" and nan < count:
        return Diagnosis(
            "overflow",
            f"{count - nan} values are infinite where the reference has up to {largest:.4g}: float16 ends at 65504",
        )
    what = f"{nan} NaN and {count - nan} infinite values"
    return Diagnosis("nan", f"{what} where the reference is finite (its largest value is {close:.4g})")


def _scaled(here: Any, reference: Any, limit: float, dtype: str) -> Diagnosis | None:
    square = float((reference * reference).sum())
    if not square:
        return None
    scale = float((here * reference).sum()) / square
    # One factor explains the difference when nearly nothing of it is left after dividing it out.
    if abs(scale) < 1e-6 or float((here - scale * reference).norm()) > 0.1 * float((here - reference).norm()):
        return None
    return Diagnosis("scale", f"off by one factor: here = {scale:.6g} x reference")


def _shifted(here: Any, reference: Any, limit: float, dtype: str) -> Diagnosis | None:
    difference = here - reference
    mean = float(difference.mean())
    if abs(mean) * difference.numel() ** 0.5 < 0.99 * float(difference.norm()):
        return None
    return Diagnosis("bias", f"off by one constant: here = reference + {mean:.6g}")


def _transposed(here: Any, reference: Any, limit: float, dtype: str) -> Diagnosis | None:
    dims = [(i, j) for i in range(here.dim()) for j in range(i + 1, here.dim()) if here.shape[i] == here.shape[j] > 1]
    for first, second in dims:
        if _relative(here, reference.transpose(first, second)) <= 4 * limit:
            return Diagnosis("transposed", f"dimensions {first} and {second} are swapped")
    return None


def _permuted(here: Any, reference: Any, limit: float, dtype: str) -> Diagnosis | None:
    for name, left, right in _slicings(here, reference):
        wrong = _wrong_slices(left, right, limit)
        if not wrong or len(wrong) > _MAX_SLICES:
            continue
        pieces = right.reshape(right.shape[0], -1)
        source: list[int] = []
        for index in wrong:
            found = _match(left[index], pieces, limit)
            if found is None:  # one slice that comes from nowhere settles it
                break
            source.append(found)
        else:
            pairs = [f"{index} holds {found}" for index, found in zip(wrong, source, strict=True)]
            return Diagnosis("permuted", f"{name} are permuted: {_listed(pairs)}")
    return None


def _some_slices(here: Any, reference: Any, limit: float, dtype: str) -> Diagnosis | None:
    best: tuple[float, str, list[int], Any] | None = None
    for name, left, right in _slicings(here, reference):
        wrong = _wrong_slices(left, right, limit)
        share = len(wrong) / left.shape[0]
        if wrong and share <= 0.5 and (best is None or share < best[0]):
            best = (share, name, wrong, left)
    if best is None:
        return None
    share, name, wrong, left = best
    zero = all(float(left[index].abs().max()) == 0 for index in wrong)
    which = f"{len(wrong)} of {left.shape[0]} {name}: {_listed(str(index) for index in wrong)}"
    if zero:
        return Diagnosis("stale", f"nothing was written to {which} (zeros)")
    return Diagnosis("part", f"only a part differs, {which}")


def _some_lanes(here: Any, reference: Any, limit: float, dtype: str) -> Diagnosis | None:
    import torch

    if here.numel() < 256:
        return None
    scale = float(reference.pow(2).mean()) ** 0.5 or 1.0
    wrong = ((here - reference).abs() > 16 * limit * scale).reshape(-1)
    for wave in (64, 32):
        length = wrong.numel() // wave * wave
        lanes = wrong[:length].reshape(-1, wave).double().mean(dim=0)
        off = torch.nonzero(lanes > 0.5).reshape(-1).tolist()
        if 0 < len(off) <= wave // 2 and float(lanes.sum() - lanes[off].sum()) < 0.05 * len(off):
            span = f"lanes {off[0]} to {off[-1]}" if len(off) > 1 else f"lane {off[0]}"
            return Diagnosis("lanes", f"{span} of every {wave}: a part of each wave was not computed or is stale")
    return None


def _slicings(here: Any, reference: Any) -> Iterator[tuple[str, Any, Any]]:
    """The ways to cut both tensors: along each dimension, and into head-sized blocks of the last."""
    for dim in range(here.dim()):
        if here.shape[dim] > 1:
            yield f"slices of dimension {dim}", here.movedim(dim, 0), reference.movedim(dim, 0)
    last = here.shape[-1] if here.dim() else 0
    for block in _BLOCKS:
        if last % block == 0 and last // block > 1:
            shape = (*here.shape[:-1], last // block, block)
            cut = (here.reshape(shape).movedim(-2, 0), reference.reshape(shape).movedim(-2, 0))
            yield f"blocks of {block} in the last dimension", *cut


def _wrong_slices(left: Any, right: Any, limit: float) -> list[int]:
    flat_left, flat_right = left.reshape(left.shape[0], -1), right.reshape(right.shape[0], -1)
    errors = (flat_left - flat_right).norm(dim=1)
    # A slice of small values is judged by the size of a typical one: its own norm may be nothing but rounding.
    norms = flat_right.norm(dim=1)
    typical = float(norms.pow(2).mean()) ** 0.5
    return [int(i) for i in (errors > 8 * limit * norms.clamp(min=typical)).nonzero().reshape(-1)]


def _match(piece: Any, pieces: Any, limit: float) -> int | None:
    """The row of `pieces` that `piece` is a copy of."""
    errors = (pieces - piece.reshape(1, -1)).norm(dim=1)
    index = int(errors.argmin())
    return index if float(errors[index]) <= 8 * limit * float(pieces[index].norm()) + 1e-30 else None


def _listed(items: Any) -> str:
    texts = [str(item) for item in items]
    return ", ".join(texts[:_LISTED]) + (f", ... ({len(texts)} in all)" if len(texts) > _LISTED else "")
