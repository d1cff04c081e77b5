"""What the attention kernels of decoding have in common: norm and rotation, rows of a cache, caps, hidden keys.

This module needs Triton: import it inside a function.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803
from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def rotated(
    ptr,
    stride_head,
    head,
    inside,
    cos_ptr,
    sin_ptr,
    norm_ptr,
    epsilon,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    ROTATES: tl.constexpr,
    TURNED: tl.constexpr,
    NEIGHBOURS: tl.constexpr,
    NORMS: tl.constexpr,
    NORM_PLUS: tl.constexpr,
):
    """Rows of SIZE at the given heads, as fp32, with zeros up to WIDTH; each divided by its root mean square and times
    a weight plus NORM_PLUS (NORMS), then the first TURNED of it rotated: x * cos + (-x[half:], x[:half]) * sin, or with
    NEIGHBOURS x * cos + (-x[1], x[0], -x[3], x[2], ...) * sin."""
    column = tl.arange(0, WIDTH)
    start = ptr + head[:, None] * stride_head
    here = inside[:, None]
    if WIDTH != SIZE:
        here = here & (column < SIZE)[None, :]
    x = tl.load(start + column[None, :], mask=here, other=0.0).to(tl.float32)
    if NORMS:
        factor = tl.rsqrt(tl.sum(x * x, axis=1) / SIZE + epsilon)[:, None]
        x = x * factor * norm_weight(norm_ptr, column, SIZE, WIDTH, NORM_PLUS)[None, :]
    if ROTATES:
        half: tl.constexpr = TURNED // 2
        partner = column ^ 1 if NEIGHBOURS else tl.where(column < half, column + half, column - half)
        if TURNED != WIDTH:
            partner = tl.where(column < TURNED, partner, column)
        turned = tl.load(start + partner[None, :], mask=here, other=0.0).to(tl.float32)
        if NORMS:
            turned = turned * factor * norm_weight(norm_ptr, partner, SIZE, WIDTH, NORM_PLUS)[None, :]
        if NEIGHBOURS:
            turned = tl.where((column % 2 == 0)[None, :], -turned, turned)
        else:
            turned = tl.where((column < half)[None, :], -turned, turned)
        # What is not turned: times one, and nothing added.
        cos = vector(cos_ptr, column, TURNED, WIDTH, 1.0)
        sin = vector(sin_ptr, column, TURNED, WIDTH, 0.0)
        x = x * cos[None, :] + turned * sin[None, :]
    return x


@triton.jit
def norm_weight(ptr, column, SIZE: tl.constexpr, WIDTH: tl.constexpr, NORM_PLUS: tl.constexpr):
    weight = vector(ptr, column, SIZE, WIDTH, 0.0)
    if NORM_PLUS != 0.0:
        weight += NORM_PLUS
    return weight


@triton.jit
def vector(ptr, column, SIZE: tl.constexpr, WIDTH: tl.constexpr, BEYOND: tl.constexpr):
    if WIDTH == SIZE:
        return tl.load(ptr + column).to(tl.float32)
    return tl.load(ptr + column, mask=column < SIZE, other=BEYOND).to(tl.float32)


@triton.jit
def rows(place, there, column, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    """Keys or values; columns beyond SIZE are zeros, which add nothing to a score."""
    if WIDTH != SIZE:
        there = there & (column < SIZE)
    return tl.load(place, mask=there, other=0.0)


@triton.jit
def row(place, column, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    if WIDTH == SIZE:
        return tl.load(place)
    return tl.load(place, mask=column < SIZE, other=0.0)


@triton.jit
def capped(scores, CAP: tl.constexpr):
    """CAP * tanh(scores / CAP); as they are where there is no cap."""
    if CAP > 0:
        doubled = tl.exp(-2.0 * tl.abs(scores) / CAP)  # not more than 1: no score is too large
        size = CAP * (1.0 - doubled) / (1.0 + doubled)
        return tl.where(scores < 0, -size, size)
    return scores


@triton.jit
def store_row(ptr, column, row, SIZE: tl.constexpr, WIDTH: tl.constexpr):
    if WIDTH == SIZE:
        tl.store(ptr + column, row)
    else:
        tl.store(ptr + column, row, mask=column < SIZE)


@triton.jit
def sees_itself(shifts, in_group, position_ptr, bias_key, length):
    """Whether the mask shows every query of a group its own key. If not, it may hide all keys by the same number, and
    then it hides none: the keys that it seems to hide must be read."""
    position = tl.load(position_ptr)
    is_inside = (position >= 0) & (position < length)
    place = tl.where(is_inside, position, 0)
    own = tl.load(shifts + place * bias_key, mask=in_group, other=0.0).to(tl.float32)
    return is_inside & (tl.min(own, axis=0) > -1e29)


@triton.jit
def are_shown(shifts, in_group, at, bias_key, length, skips):
    """Which keys some query of a group is shown. The others, behind minus infinity or the most negative number of a
    type, would have a weight of exactly zero: nobody has to read them."""
    inside = in_group[:, None] & (at < length)[None, :]
    shift = tl.load(shifts[:, None] + at[None, :] * bias_key, mask=inside, other=float("-inf")).to(tl.float32)
    return tl.max(tl.where(skips, shift, 0.0), axis=0) > -1e30
