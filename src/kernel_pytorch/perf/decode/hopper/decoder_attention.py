"""Attention of one query over a cache, inside the decoder kernel: a program has one head and some of its keys.

The first 128 keys and values of a program, 64 where heads have 128 elements, are in registers before the query is
there. What it finds goes out as a mixture of values with the logarithm of its weight, and whoever multiplies by the
output matrix puts the parts together.

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

# Eight rows of words, a row to a warp; and all eight of a word in one thread.
SPREAD = gl.constexpr(gl.BlockedLayout([1, 1], [1, 32], [8, 1], [1, 0]))
GATHERED = gl.constexpr(gl.BlockedLayout([8, 1], [1, 32], [1, 8], [1, 0]))


@gluon.constexpr_function
def _cache(words):
    """(warp, key, word): a thread reads four words at a time."""
    across = words // 4
    return gl.BlockedLayout([1, 1, 4], [1, 32 // across, across], [8, 1, 1], [2, 1, 0])


@gluon.constexpr_function
def scores_layout(words):
    return gl.SliceLayout(2, _cache(words))


@gluon.constexpr_function
def mixed_layout(words):
    return gl.SliceLayout(1, _cache(words))


@gluon.constexpr_function
def one_layout(words):
    return gl.SliceLayout(0, _cache(words))


@gluon.jit
def pair_numbers(S: gl.constexpr):
    """Numbers of a head's words: (1, words)."""
    ONE: gl.constexpr = one_layout(S.head_words)
    return gl.expand_dims(gl.arange(0, S.head_words, layout=gl.SliceLayout(0, ONE)), 0)


@gluon.jit
def key_numbers(start, S: gl.constexpr):
    """Of the keys that are held: (warp, key)."""
    EACH: gl.constexpr = S.keys_held // 8
    SCORES: gl.constexpr = scores_layout(S.head_words)
    warp = gl.expand_dims(gl.arange(0, 8, layout=gl.SliceLayout(1, SCORES)), 1)
    key = gl.expand_dims(gl.arange(0, EACH, layout=gl.SliceLayout(0, SCORES)), 0)
    return start + warp * EACH + key


@gluon.jit
def from_cache(cache, keys, S: gl.constexpr):
    """Rows of a head's cache as words."""
    place = cache + gl.expand_dims(keys, 2) * S.head_words + gl.expand_dims(pair_numbers(S), 0)
    return gl.load(place, mask=gl.expand_dims(keys < S.length, 2), other=0)


@gluon.jit
def biases(bias, bias_head, bias_key, head, keys, S: gl.constexpr):
    shift = gl.zeros(keys.shape, gl.float32, scores_layout(S.head_words))
    if S.has_bias:
        shift += gl.load(bias + head * bias_head + keys * bias_key, mask=keys < S.length, other=0.0).to(gl.float32)
    return shift


@gluon.jit
def fresh_places(words, head, S: gl.constexpr):
    """Where this head's new q, k and v are, and once more with their halves the other way round."""
    row = gl.expand_dims(gl.arange(0, 8, layout=gl.SliceLayout(1, SPREAD)), 1)
    W: gl.constexpr = S.head_words
    pair = gl.expand_dims(gl.arange(0, W, layout=gl.SliceLayout(0, SPREAD)), 0)
    shared = head // S.group * W
    k: gl.constexpr = S.q_boxes * 2
    v: gl.constexpr = (S.q_boxes + S.k_boxes) * 2
    which = row % 4
    start = gl.where(which == 1, k + shared, gl.where(which == 2, v + shared, head * W))
    return words + start + gl.where(row < 4, pair, (pair + W // 2) % W)


@gluon.jit
def head_norms(first, S: gl.constexpr):
    """Weights of a norm of heads, and once more with their halves the other way round."""
    pair = pair_numbers(S)
    return gl.load(first + pair), gl.load(first + (pair + S.head_words // 2) % S.head_words)


@gluon.jit
def _turned(x, other, norm, cos, sin, epsilon, S: gl.constexpr):
    """A head's norm, if there is one, and its rotary embedding; `sin` has the signs."""
    x_low, x_high, other_low, other_high = low(x), high(x), low(other), high(other)
    if S.has_head_norms:
        squares = gl.sum(gl.sum(x_low * x_low + x_high * x_high, axis=1), axis=0)
        factor = gl.rsqrt(squares / S.size + epsilon)
        x_low = x_low * factor * low(norm[0])
        x_high = x_high * factor * high(norm[0])
        other_low = other_low * factor * low(norm[1])
        other_high = other_high * factor * high(norm[1])
    return packed(x_low * low(cos) + other_low * low(sin), x_high * high(cos) + other_high * high(sin))


@gluon.jit
def _mixture(keys, values, at, shift, q_low, q_high, own_score, v_new, position, S: gl.constexpr):
    """What the keys that are held give, each warp's for themselves: highest score, weight, and the values mixed."""
    scores = gl.sum(low(keys) * gl.expand_dims(q_low, 0) + high(keys) * gl.expand_dims(q_high, 0), axis=2)
    own = at == position  # what the cache has there is of another time
    scores = gl.where(own, own_score, scores) + shift
    scores = gl.where(at < S.length, scores, float("-inf"))
    top = gl.max(scores, axis=1)
    shares = gl.exp(scores - gl.expand_dims(gl.where(top == float("-inf"), 0.0, top), 1))
    values = gl.where(gl.expand_dims(own, 2), 0, values)
    mixed_low = gl.sum(gl.expand_dims(shares, 2) * low(values), axis=1)
    mixed_high = gl.sum(gl.expand_dims(shares, 2) * high(values), axis=1)
    own_share = _beside(gl.sum(gl.where(own, shares, 0.0), axis=1), S)
    new = gl.convert_layout(v_new, mixed_layout(S.head_words))
    mixed_low += own_share * low(new)
    mixed_high += own_share * high(new)
    return top, gl.sum(shares, axis=1), mixed_low, mixed_high


@gluon.jit
def _beside(per_warp, S: gl.constexpr):
    """(warp,) as (warp, 1) beside a mixture."""
    MIXED: gl.constexpr = mixed_layout(S.head_words)
    return gl.expand_dims(gl.convert_layout(per_warp, gl.SliceLayout(1, MIXED)), 1)


@gluon.jit
def _chunk(table_keys, table_values, bias, bias_head, bias_key, head, at, S: gl.constexpr):
    """Keys, values and what is added to their scores."""
    shift = biases(bias, bias_head, bias_key, head, at, S)
    return from_cache(table_keys, at, S), from_cache(table_values, at, S), shift


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
    q_norm,
    k_norm,
    bias,
    bias_head,
    bias_key,
    head,
    part,
    position,
    scale,
    epsilon,
    S: gl.constexpr,
):
    """This program's part of a head's attention, and the new key and value into the cache."""
    W: gl.constexpr = S.head_words
    ONE: gl.constexpr = one_layout(W)
    at = key_numbers(part * S.keys_each, S)
    next_keys, next_values, next_shift = keys, values, shift
    if S.chunks > 1:  # asked for before the query is there, as the first chunk was
        next_keys, next_values, next_shift = _chunk(
            table_keys, table_values, bias, bias_head, bias_key, head, at + S.keys_held, S
        )
    turned.store(values_of(fresh, counters_turn, W // 32, W // 32, False))
    q = _turned(turned.slice(0, 1).load(ONE), turned.slice(4, 1).load(ONE), q_norm, cos, sin, epsilon, S)
    k_new = _turned(turned.slice(1, 1).load(ONE), turned.slice(5, 1).load(ONE), k_norm, cos, sin, epsilon, S)
    v_new = turned.slice(2, 1).load(ONE)
    q_low = low(q) * scale
    q_high = high(q) * scale
    own_score = gl.sum(gl.sum(low(k_new) * q_low + high(k_new) * q_high, axis=1), axis=0)
    top, weight, mixed_low, mixed_high = _mixture(keys, values, at, shift, q_low, q_high, own_score, v_new, position, S)
    for chunk in range(1, S.chunks):
        more = at + chunk * S.keys_held
        these_keys = next_keys
        these_values = next_values
        these_shift = next_shift
        if S.chunks > 2:  # past the last chunk nothing is read
            next_keys, next_values, next_shift = _chunk(
                table_keys, table_values, bias, bias_head, bias_key, head,
                gl.where(chunk + 1 < S.chunks, more + S.keys_held, S.length), S,
            )  # fmt: skip
        next_top, next_weight, next_low, next_high = _mixture(
            these_keys, these_values, more, these_shift, q_low, q_high, own_score, v_new, position, S
        )
        both = gl.maximum(top, next_top)
        safe = gl.where(both == float("-inf"), 0.0, both)
        fade = gl.exp(top - safe)
        next_fade = gl.exp(next_top - safe)
        weight = weight * fade + next_weight * next_fade
        mixed_low = mixed_low * _beside(fade, S) + next_low * _beside(next_fade, S)
        mixed_high = mixed_high * _beside(fade, S) + next_high * _beside(next_fade, S)
        top = both
    # The eight warps' results together, once, through shared memory.
    mix.index(0).store(mixed_low)
    mix.index(1).store(mixed_high)
    mix.index(2).store(_beside(weight, S) + gl.zeros_like(mixed_low))
    mix.index(3).store(_beside(top, S) + gl.zeros_like(mixed_low))
    tops = mix.index(3).load(GATHERED)
    highest = gl.max(tops, axis=0)
    safe_highest = gl.where(highest == float("-inf"), 0.0, highest)
    fades = gl.exp(tops - gl.expand_dims(safe_highest, 0))
    total = gl.sum(mix.index(2).load(GATHERED) * fades, axis=0)
    divisor = 1.0 / gl.maximum(total, 1e-30)
    seen_low = gl.sum(mix.index(0).load(GATHERED) * fades, axis=0) * divisor
    seen_high = gl.sum(mix.index(1).load(GATHERED) * fades, axis=0) * divisor
    pair = gl.arange(0, W, layout=seen_low.type.layout)
    row = part * S.slots + head
    gl.store(words + S.at_pieces + row * W + pair, word(packed(seen_low, seen_high), counters_turn))
    in_logs = (safe_highest + gl.log(total)).to(gl.int32, bitcast=True)
    gl.store(words + S.at_tops + row + pair * 0, word(in_logs, counters_turn), mask=pair == 0)
    inside = (position >= 0) & (position < S.length)  # past a full cache there is nothing of ours
    if (head % S.group == 0) & (position // S.keys_each == part) & inside:
        place = position * W + pair_numbers(S)
        gl.store(table_keys + place, k_new)
        gl.store(table_values + place, v_new)


@gluon.jit
def _add(a, b, c, d, e, f):
    return a + d, b + e, c + f


@gluon.jit
def _put_together(words, first, turn, S: gl.constexpr):
    """Some of the parts: the sums of their mixtures and of their weights, both against the highest score."""
    LINES: gl.constexpr = S.seen_rows
    PARTS: gl.constexpr = S.parts_at_once
    R: gl.constexpr = PARTS * LINES
    row = first * LINES + gl.expand_dims(gl.arange(0, R, layout=gl.SliceLayout(1, ROWS)), 1)
    pair = gl.expand_dims(gl.arange(0, 32, layout=gl.SliceLayout(0, ROWS)), 0)
    if S.slots > S.heads:  # nobody writes those of slots without a head: the first line instead
        line = row % LINES
        row = gl.where(line < S.seen_lines, row, row - line)
    pieces, logs = values_of_both(
        words + S.at_pieces + row * 32 + pair,
        words + S.at_tops + row // S.head_lines + pair * 0,
        turn,
        words_each(R),
    )
    logs = gl.reshape(logs.to(gl.float32, bitcast=True), [PARTS, LINES, 32])
    pieces = gl.reshape(pieces, [PARTS, LINES, 32])
    top = gl.max(logs, axis=0)
    share = gl.exp(logs - gl.expand_dims(gl.where(top == float("-inf"), 0.0, top), 0))
    seen_low, seen_high, weight = gl.reduce((low(pieces) * share, high(pieces) * share, share), 0, _add)
    return seen_low, seen_high, weight, top


@gluon.jit
def all_heads(words, turn, counters, LAYOUT: gl.constexpr, S: gl.constexpr):
    """The whole result of attention, put together from all parts: two values to a word, one or two lines a head."""
    wait_for(counters, turn * S.programs, LAYOUT)
    seen_low, seen_high, weight, top = _put_together(words, 0, turn, S)
    AT_ONCE: gl.constexpr = S.parts_at_once
    TIMES: gl.constexpr = S.parts // S.parts_at_once
    for time in gl.static_range(1, TIMES):
        more_low, more_high, more_weight, more_top = _put_together(words, time * AT_ONCE, turn, S)
        both = gl.maximum(top, more_top)
        safe = gl.where(both == float("-inf"), 0.0, both)
        fade = gl.exp(top - safe)
        more_fade = gl.exp(more_top - safe)
        seen_low = seen_low * fade + more_low * more_fade
        seen_high = seen_high * fade + more_high * more_fade
        weight = weight * fade + more_weight * more_fade
        top = both
    return packed(seen_low / weight, seen_high / weight)
