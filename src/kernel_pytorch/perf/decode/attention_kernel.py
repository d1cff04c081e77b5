"""Attention of one query per sequence over a cache, in Triton, with rotation and the write to the cache inside.

One program serves a key-value head and all query heads that share it, so keys and values are read once and never
repeated. It asks for the cache before it waits for the kernel that makes the query. This module needs Triton.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803
from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from kernel_pytorch.perf.decode.attention_parts import (
    are_shown,
    capped,
    rotated,
    row,
    rows,
    sees_itself,
    store_row,
)


@triton.jit
def one_query_attention(
    q_ptr,
    k_ptr,
    v_ptr,
    cos_ptr,
    sin_ptr,
    q_norm_ptr,
    k_norm_ptr,
    keys_ptr,
    values_ptr,
    position_ptr,
    bias_ptr,
    out_ptr,
    totals_ptr,
    weights_ptr,
    arrived_ptr,
    q_batch,
    q_head,
    k_batch,
    k_head,
    v_batch,
    v_head,
    cache_batch,
    cache_head,
    bias_batch,
    bias_head,
    bias_key,
    length,
    scale,
    epsilon,
    ROTATES: tl.constexpr,
    NORMS: tl.constexpr,
    WRITES: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    SKIPS: tl.constexpr,
    SHARED: tl.constexpr,
    GROUP: tl.constexpr,
    GROUP_BLOCK: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    TURNED: tl.constexpr,
    NEIGHBOURS: tl.constexpr,
    NORM_PLUS: tl.constexpr,
    CAP: tl.constexpr,
    BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
    OVERLAPS: tl.constexpr,
):
    """out[b, h] = softmax(cap(scale * q[b, h] . keys[b, h // GROUP]) + bias) values; with WRITES k and v enter the
    cache. A head has SIZE columns in blocks of WIDTH, a power of two.

    With SKIPS keys that the mask hides are not read: those outside a window, and places that are still empty. The keys
    are cut into PARTS; whoever comes last puts the parts together. `arrived` counts on from call to call, so that
    nobody has to set it to zero."""
    shared = tl.program_id(0)
    number = tl.program_id(1)
    batch = tl.program_id(2).to(tl.int64)
    column = tl.arange(0, WIDTH)
    lane = tl.arange(0, BLOCK)
    group = tl.arange(0, GROUP_BLOCK)
    head = shared * GROUP + group
    in_group = group < GROUP
    base = batch * cache_batch + shared * cache_head
    if OVERLAPS:
        gdc_launch_dependents()
    # The cache as earlier calls left it; this call's own entry replaces the stale one below. While kernels overlap,
    # the mask may still be on its way: then the first block is read whether it is shown or not.
    at = number * BLOCK + lane
    there = (at < length)[:, None]
    shifts = bias_ptr + batch * bias_batch + head * bias_head
    if SKIPS and not OVERLAPS:
        skips = sees_itself(shifts, in_group, position_ptr, bias_key, length)
        there = there & are_shown(shifts, in_group, at, bias_key, length, skips)[:, None]
    keys = rows(keys_ptr + base + at[:, None] * SIZE + column[None, :], there, column[None, :], SIZE, WIDTH)
    values = rows(values_ptr + base + at[:, None] * SIZE + column[None, :], there, column[None, :], SIZE, WIDTH)
    if OVERLAPS:
        gdc_wait()
    if SKIPS and OVERLAPS:
        skips = sees_itself(shifts, in_group, position_ptr, bias_key, length)
    q_start = q_ptr + batch * q_batch
    q = rotated(
        q_start,
        q_head,
        head,
        in_group,
        cos_ptr,
        sin_ptr,
        q_norm_ptr,
        epsilon,
        SIZE,
        WIDTH,
        ROTATES,
        TURNED,
        NEIGHBOURS,
        NORMS,
        NORM_PLUS,
    )
    q = q.to(keys.dtype)
    if WRITES:
        position = tl.load(position_ptr)
        alone = shared + tl.arange(0, 1)
        always = tl.full((1,), 1, tl.int1)
        k_start = k_ptr + batch * k_batch
        k_new = rotated(
            k_start,
            k_head,
            alone,
            always,
            cos_ptr,
            sin_ptr,
            k_norm_ptr,
            epsilon,
            SIZE,
            WIDTH,
            ROTATES,
            TURNED,
            NEIGHBOURS,
            NORMS,
            NORM_PLUS,
        )
        k_new = k_new.to(keys.dtype)
        v_place = v_ptr + batch * v_batch + alone[:, None] * v_head + column[None, :]
        v_new = row(v_place, column[None, :], SIZE, WIDTH)
        in_cache = (position >= 0) & (position < length)
        if in_cache & ((position // BLOCK) % PARTS == number):  # the part that reads this place writes it
            store_row(keys_ptr + base + position * SIZE, column[None, :], k_new, SIZE, WIDTH)
            store_row(values_ptr + base + position * SIZE, column[None, :], v_new, SIZE, WIDTH)
    highest = tl.full((GROUP_BLOCK,), float("-inf"), tl.float32)
    weight = tl.zeros((GROUP_BLOCK,), tl.float32)
    total = tl.zeros((GROUP_BLOCK, WIDTH), tl.float32)
    for start in range(number * BLOCK, length, BLOCK * PARTS):
        at = start + lane
        if start > number * BLOCK:
            there = (at < length)[:, None]
            if SKIPS:
                there = there & are_shown(shifts, in_group, at, bias_key, length, skips)[:, None]
            keys = rows(keys_ptr + base + at[:, None] * SIZE + column[None, :], there, column[None, :], SIZE, WIDTH)
            values = rows(values_ptr + base + at[:, None] * SIZE + column[None, :], there, column[None, :], SIZE, WIDTH)
        if WRITES:
            own = (at == position)[:, None]
            keys = tl.where(own, k_new, keys)
            values = tl.where(own, v_new, values)
        scores = capped(tl.dot(q, tl.trans(keys)) * scale, CAP)
        if HAS_BIAS:
            shift = bias_ptr + batch * bias_batch + head[:, None] * bias_head + at[None, :] * bias_key
            inside = in_group[:, None] & (at < length)[None, :]
            scores += tl.load(shift, mask=inside, other=0.0).to(tl.float32)
        scores = tl.where((at < length)[None, :], scores, float("-inf"))
        top = tl.maximum(highest, tl.max(scores, axis=1))
        # A row that sees nothing yet has no highest score; its weights are zero either way.
        safe = tl.where(top == float("-inf"), 0.0, top)
        fading = tl.exp(highest - safe)
        shares = tl.exp(scores - safe[:, None])
        weight = weight * fading + tl.sum(shares, axis=1)
        total = total * fading[:, None] + tl.dot(shares.to(values.dtype), values)
        highest = top
    place = out_ptr + (batch * SHARED * GROUP + head)[:, None] * SIZE + column[None, :]
    in_out = in_group[:, None]
    if WIDTH != SIZE:
        in_out = in_out & (column < SIZE)[None, :]
    if PARTS == 1:
        tl.store(place, (total / weight[:, None]).to(out_ptr.dtype.element_ty), mask=in_out)
    else:
        slot = (batch * SHARED + shared) * PARTS
        spots = group[:, None] * WIDTH + column[None, :]
        tl.store(totals_ptr + (slot + number) * GROUP_BLOCK * WIDTH + spots, total)
        # The highest score and the weight as one number would lose digits: two halves of one line.
        tl.store(weights_ptr + (slot + number) * 2 * GROUP_BLOCK + group, highest)
        tl.store(weights_ptr + (slot + number) * 2 * GROUP_BLOCK + GROUP_BLOCK + group, weight)
        tl.debug_barrier()
        before = tl.atomic_add(arrived_ptr + batch * SHARED + shared, 1, sem="acq_rel", scope="gpu")
        if (before + 1) % PARTS == 0:
            part = tl.arange(0, PARTS)
            lines = weights_ptr + (slot + part)[:, None] * 2 * GROUP_BLOCK + group[None, :]
            tops = tl.load(lines, cache_modifier=".cg")
            weights = tl.load(lines + GROUP_BLOCK, cache_modifier=".cg")
            top = tl.max(tops, axis=0)
            safe = tl.where(top == float("-inf"), 0.0, top)
            below = tl.sum(weights * tl.exp(tops - safe[None, :]), axis=0)
            result = tl.zeros((GROUP_BLOCK, WIDTH), tl.float32)
            for other in tl.static_range(PARTS):
                line = weights_ptr + (slot + other) * 2 * GROUP_BLOCK + group
                share = tl.exp(tl.load(line, cache_modifier=".cg") - safe)
                piece = tl.load(totals_ptr + (slot + other) * GROUP_BLOCK * WIDTH + spots, cache_modifier=".cg")
                result += piece * share[:, None]
            tl.store(place, (result / below[:, None]).to(out_ptr.dtype.element_ty), mask=in_out)


@triton.jit
def one_head_attention(
    q_ptr,
    k_ptr,
    v_ptr,
    cos_ptr,
    sin_ptr,
    q_norm_ptr,
    k_norm_ptr,
    keys_ptr,
    values_ptr,
    position_ptr,
    bias_ptr,
    out_ptr,
    q_batch,
    q_head,
    k_batch,
    k_head,
    v_batch,
    v_head,
    cache_batch,
    cache_head,
    bias_batch,
    bias_head,
    bias_key,
    length,
    scale,
    epsilon,
    ROTATES: tl.constexpr,
    NORMS: tl.constexpr,
    WRITES: tl.constexpr,
    HAS_BIAS: tl.constexpr,
    GROUP: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    TURNED: tl.constexpr,
    NEIGHBOURS: tl.constexpr,
    NORM_PLUS: tl.constexpr,
    CAP: tl.constexpr,
    BLOCK: tl.constexpr,
    OVERLAPS: tl.constexpr,
):
    """The same where one program can hold all keys and values of a head: nothing to put together at the end.

    Keys and values are read once per query head, from the cache after the first."""
    head = tl.program_id(0)
    batch = tl.program_id(1).to(tl.int64)
    shared = head // GROUP
    column = tl.arange(0, WIDTH)[None, :]
    at = tl.arange(0, BLOCK)
    base = batch * cache_batch + shared * cache_head
    place = base + at[:, None] * SIZE + column
    if OVERLAPS:
        gdc_launch_dependents()
    there = (at < length)[:, None]
    keys = rows(keys_ptr + place, there, column, SIZE, WIDTH)
    values = rows(values_ptr + place, there, column, SIZE, WIDTH)
    if OVERLAPS:
        gdc_wait()
    alone = tl.arange(0, 1)
    always = tl.full((1,), 1, tl.int1)
    q_start = q_ptr + batch * q_batch
    q = rotated(
        q_start,
        q_head,
        head + alone,
        always,
        cos_ptr,
        sin_ptr,
        q_norm_ptr,
        epsilon,
        SIZE,
        WIDTH,
        ROTATES,
        TURNED,
        NEIGHBOURS,
        NORMS,
        NORM_PLUS,
    )
    q = q.to(keys.dtype).to(tl.float32) * scale
    scores = tl.sum(keys.to(tl.float32) * q, axis=1)
    if WRITES:
        position = tl.load(position_ptr)
        k_start, its = k_ptr + batch * k_batch, shared + alone
        k_new = rotated(
            k_start,
            k_head,
            its,
            always,
            cos_ptr,
            sin_ptr,
            k_norm_ptr,
            epsilon,
            SIZE,
            WIDTH,
            ROTATES,
            TURNED,
            NEIGHBOURS,
            NORMS,
            NORM_PLUS,
        )
        k_new = k_new.to(keys.dtype)
        v_new = row(v_ptr + batch * v_batch + shared * v_head + column, column, SIZE, WIDTH)
        if (head % GROUP == 0) & (position >= 0) & (position < length):
            store_row(keys_ptr + base + position * SIZE, column, k_new, SIZE, WIDTH)
            store_row(values_ptr + base + position * SIZE, column, v_new, SIZE, WIDTH)
        # What was read there may be the entry of before or of now: it counts for nothing.
        own = at == position
        scores = tl.where(own, tl.sum(tl.sum(k_new.to(tl.float32) * q, axis=1), axis=0), scores)
    scores = capped(scores, CAP)
    if HAS_BIAS:
        shift = bias_ptr + batch * bias_batch + head * bias_head + at * bias_key
        scores += tl.load(shift, mask=at < length, other=0.0).to(tl.float32)
    scores = tl.where(at < length, scores, float("-inf"))
    top = tl.max(scores, axis=0)
    shares = tl.exp(scores - tl.where(top == float("-inf"), 0.0, top))
    weight = tl.sum(shares, axis=0)
    if WRITES:
        share = tl.sum(tl.where(own, shares, 0.0), axis=0)
    mixed = shares[:, None] * values.to(tl.float32)
    if WRITES:
        mixed = tl.where(own[:, None], 0.0, mixed)
    total = tl.sum(mixed, axis=0)[None, :]
    if WRITES:
        total += share * v_new.to(tl.float32)
    heads = tl.num_programs(0)
    mine = out_ptr + (batch * heads + head) * SIZE + column
    if WIDTH == SIZE:
        tl.store(mine, (total / weight).to(out_ptr.dtype.element_ty))
    else:
        tl.store(mine, (total / weight).to(out_ptr.dtype.element_ty), mask=column < SIZE)
