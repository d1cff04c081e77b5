"""Attention of one query over a cache, inside the decoder kernel: a program has one head and some of its keys.

The first 128 keys and values of a program are in registers before the query is there. What it finds goes out as a
mixture of values with the logarithm of its weight, and whoever multiplies by the output matrix puts the parts together.

This module needs Triton with Gluon, for NVIDIA.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803, N806
from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernel_pytorch.perf.decode.hopper.decoder_words import (
    ROWS,
    high,
    low,
    packed,
    values_of,
    values_of_both,
    wait_for,
    word,
    words_each,
)

# (warp, key, word): a warp has 16 keys.
CACHE = gl.constexpr(gl.BlockedLayout([1, 1, 4], [1, 4, 8], [8, 1, 1], [2, 1, 0]))
SCORES = gl.constexpr(gl.SliceLayout(2, gl.BlockedLayout([1, 1, 4], [1, 4, 8], [8, 1, 1], [2, 1, 0])))
MIXED = gl.constexpr(gl.SliceLayout(1, gl.BlockedLayout([1, 1, 4], [1, 4, 8], [8, 1, 1], [2, 1, 0])))
ONE = gl.constexpr(gl.SliceLayout(0, gl.BlockedLayout([1, 1, 4], [1, 4, 8], [8, 1, 1], [2, 1, 0])))
# Eight rows of 32 words, one word a thread; and all eight of a word in one thread.
SPREAD = gl.constexpr(gl.BlockedLayout([1, 1], [1, 32], [8, 1], [1, 0]))
GATHERED = gl.constexpr(gl.BlockedLayout([8, 1], [1, 32], [8, 1], [1, 0]))


@gluon.jit
def pair_numbers():
    """0 to 31: (1, words)."""
    return gl.expand_dims(gl.arange(0, 32, layout=gl.SliceLayout(0, ONE)), 0)


@gluon.jit
def key_numbers(start):
    """Of 128 keys: (warp, key)."""
    warp = gl.expand_dims(gl.arange(0, 8, layout=gl.SliceLayout(1, SCORES)), 1)
    key = gl.expand_dims(gl.arange(0, 16, layout=gl.SliceLayout(0, SCORES)), 0)
    return start + warp * 16 + key


@gluon.jit
def from_cache(cache, keys, LENGTH: gl.constexpr):
    """Rows of a head's cache as words."""
    place = cache + gl.expand_dims(keys, 2) * 32 + gl.expand_dims(pair_numbers(), 0)
    return gl.load(place, mask=gl.expand_dims(keys < LENGTH, 2), other=0)


@gluon.jit
def biases(bias, bias_head, bias_key, head, keys, S: gl.constexpr):
    shift = gl.zeros(keys.shape, gl.float32, SCORES)
    if S.has_bias:
        shift += gl.load(bias + head * bias_head + keys * bias_key, mask=keys < S.length, other=0.0).to(gl.float32)
    return shift


@gluon.jit
def fresh_places(words, head, S: gl.constexpr):
    """Where this head's new q, k and v are, and once more with their halves the other way round."""
    row = gl.expand_dims(gl.arange(0, 8, layout=gl.SliceLayout(1, SPREAD)), 1)
    pair = gl.expand_dims(gl.arange(0, 32, layout=gl.SliceLayout(0, SPREAD)), 0)
    shared = head // S.group * 32
    k: gl.constexpr = S.q_boxes * 2
    v: gl.constexpr = (S.q_boxes + S.k_boxes) * 2
    which = row % 4
    start = gl.where(which == 1, k + shared, gl.where(which == 2, v + shared, head * 32))
    return words + start + gl.where(row < 4, pair, (pair + 16) % 32)


@gluon.jit
def _turned(x, other, cos, sin):
    """A rotary embedding; `sin` has the signs."""
    return packed(low(x) * low(cos) + low(other) * low(sin), high(x) * high(cos) + high(other) * high(sin))


@gluon.jit
def _mixture(keys, values, at, shift, q_low, q_high, own_score, v_new, position, LENGTH: gl.constexpr):
    """What 128 keys give, each warp's 16 for themselves: highest score, weight, and the values mixed."""
    scores = gl.sum(low(keys) * gl.expand_dims(q_low, 0) + high(keys) * gl.expand_dims(q_high, 0), axis=2)
    own = at == position  # what the cache has there is of another time
    scores = gl.where(own, own_score, scores) + shift
    scores = gl.where(at < LENGTH, scores, float("-inf"))
    top = gl.max(scores, axis=1)
    shares = gl.exp(scores - gl.expand_dims(gl.where(top == float("-inf"), 0.0, top), 1))
    values = gl.where(gl.expand_dims(own, 2), 0, values)
    mixed_low = gl.sum(gl.expand_dims(shares, 2) * low(values), axis=1)
    mixed_high = gl.sum(gl.expand_dims(shares, 2) * high(values), axis=1)
    own_share = _beside(gl.sum(gl.where(own, shares, 0.0), axis=1))
    new = gl.convert_layout(v_new, MIXED)
    mixed_low += own_share * low(new)
    mixed_high += own_share * high(new)
    return top, gl.sum(shares, axis=1), mixed_low, mixed_high


@gluon.jit
def _beside(per_warp):
    """(warp,) as (warp, 1) beside a mixture."""
    return gl.expand_dims(gl.convert_layout(per_warp, gl.SliceLayout(1, MIXED)), 1)


@gluon.jit
def attend(
    words,
    counters_turn,
    table_keys,
    table_values,
    keys,
    values,
    shift,
    fresh,
    turned,
    mix,
    cos,
    sin,
    bias,
    bias_head,
    bias_key,
    head,
    part,
    position,
    scale,
    S: gl.constexpr,
):
    """This program's part of a head's attention, and the new key and value into the cache."""
    turned.store(values_of(fresh, counters_turn, 1, 1, False))
    q = _turned(turned.slice(0, 1).load(ONE), turned.slice(4, 1).load(ONE), cos, sin)
    k_new = _turned(turned.slice(1, 1).load(ONE), turned.slice(5, 1).load(ONE), cos, sin)
    v_new = turned.slice(2, 1).load(ONE)
    q_low = low(q) * scale
    q_high = high(q) * scale
    own_score = gl.sum(gl.sum(low(k_new) * q_low + high(k_new) * q_high, axis=1), axis=0)
    at = key_numbers(part * S.keys_each)
    top, weight, mixed_low, mixed_high = _mixture(
        keys, values, at, shift, q_low, q_high, own_score, v_new, position, S.length
    )
    for chunk in range(1, S.chunks):
        more = at + chunk * 128
        next_keys = from_cache(table_keys, more, S.length)
        next_values = from_cache(table_values, more, S.length)
        next_shift = biases(bias, bias_head, bias_key, head, more, S)
        next_top, next_weight, next_low, next_high = _mixture(
            next_keys, next_values, more, next_shift, q_low, q_high, own_score, v_new, position, S.length
        )
        both = gl.maximum(top, next_top)
        safe = gl.where(both == float("-inf"), 0.0, both)
        fade = gl.exp(top - safe)
        next_fade = gl.exp(next_top - safe)
        weight = weight * fade + next_weight * next_fade
        mixed_low = mixed_low * _beside(fade) + next_low * _beside(next_fade)
        mixed_high = mixed_high * _beside(fade) + next_high * _beside(next_fade)
        top = both
    # The eight warps' results together, once, through shared memory.
    mix.index(0).store(mixed_low)
    mix.index(1).store(mixed_high)
    mix.index(2).store(_beside(weight) + gl.zeros_like(mixed_low))
    mix.index(3).store(_beside(top) + gl.zeros_like(mixed_low))
    tops = mix.index(3).load(GATHERED)
    highest = gl.max(tops, axis=0)
    safe_highest = gl.where(highest == float("-inf"), 0.0, highest)
    fades = gl.exp(tops - gl.expand_dims(safe_highest, 0))
    total = gl.sum(mix.index(2).load(GATHERED) * fades, axis=0)
    divisor = 1.0 / gl.maximum(total, 1e-30)
    seen_low = gl.sum(mix.index(0).load(GATHERED) * fades, axis=0) * divisor
    seen_high = gl.sum(mix.index(1).load(GATHERED) * fades, axis=0) * divisor
    pair = gl.arange(0, 32, layout=seen_low.type.layout)
    row = part * S.heads + head
    gl.store(words + S.at_pieces + row * 32 + pair, word(packed(seen_low, seen_high), counters_turn))
    in_logs = (safe_highest + gl.log(total)).to(gl.int32, bitcast=True)
    gl.store(words + S.at_tops + row + pair * 0, word(in_logs, counters_turn), mask=pair == 0)
    inside = (position >= 0) & (position < S.length)  # past a full cache there is nothing of ours
    if (head % S.group == 0) & (position // S.keys_each == part) & inside:
        place = position * 32 + pair_numbers()
        gl.store(table_keys + place, k_new)
        gl.store(table_values + place, v_new)


@gluon.jit
def _add(a, b, c, d, e, f):
    return a + d, b + e, c + f


@gluon.jit
def all_heads(words, turn, counters, LAYOUT: gl.constexpr, S: gl.constexpr):
    """The whole result of attention, put together from all parts: two values to a word, a head to a line."""
    R: gl.constexpr = S.pieces
    row = gl.expand_dims(gl.arange(0, R, layout=gl.SliceLayout(1, ROWS)), 1)
    pair = gl.expand_dims(gl.arange(0, 32, layout=gl.SliceLayout(0, ROWS)), 0)
    wait_for(counters, turn * S.programs, LAYOUT)
    pieces, logs = values_of_both(
        words + S.at_pieces + row * 32 + pair, words + S.at_tops + row + pair * 0, turn, words_each(R)
    )
    logs = gl.reshape(logs.to(gl.float32, bitcast=True), [S.parts, S.heads, 32])
    pieces = gl.reshape(pieces, [S.parts, S.heads, 32])
    share = gl.exp(logs - gl.expand_dims(gl.max(logs, axis=0), 0))
    seen_low, seen_high, weight = gl.reduce((low(pieces) * share, high(pieces) * share, share), 0, _add)
    return packed(seen_low / weight, seen_high / weight)
