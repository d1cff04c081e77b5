"""All of a decoder for one token in one kernel: layers, final norm and the product that gives the words' scores.

A kernel that ends lets memory run dry: the next one asks for its weights only when it runs. Here a program stays on its
multiprocessor from the first layer to the last. One warp keeps asking for weights to come (`decoder_weights`), eight
multiply what has come (`decoder_products`), and what one program needs of the others goes through words in memory
(`decoder_words`). While programs wait for each other, weights go on arriving.

Four times a layer everybody needs what everybody made: the row after the MLP, the parts of attention, the row after
attention, the gated values. And a head needs its q, k and v.

This module needs Triton with Gluon, for NVIDIA from Hopper on.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803, N806, SIM108
from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from kernel_pytorch.perf.decode.hopper.decoder_attention import (
    all_heads,
    attend,
    biases,
    fresh_places,
    from_cache,
    head_norms,
    key_numbers,
    pair_numbers,
)
from kernel_pytorch.perf.decode.hopper.decoder_products import MMA, ahead, held_slices, row_sums, sixteen, sixteen_gated
from kernel_pytorch.perf.decode.hopper.decoder_shape import SPACING, WARPS
from kernel_pytorch.perf.decode.hopper.decoder_weights import COLUMNS, asking
from kernel_pytorch.perf.decode.hopper.decoder_words import (
    ROWS,
    done,
    high,
    low,
    packed,
    row_places,
    row_values,
    wait_for,
    word,
)

# Counters of those who are done with the row, with attention, with the middle row, with the gated values.
ROW, SEEN, MIDDLE, GATED = (gl.constexpr(number * WARPS * SPACING) for number in range(4))
COUNTERS = 4 * WARPS * SPACING
# The row in shared memory, as words and as slices of values.
AS_WORDS = gl.constexpr(gl.SwizzledSharedLayout(4, 1, 8, [1, 0]))
AS_VALUES = gl.constexpr(gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))


# Triton 3.9 has the name, Triton 3.6 the same with an underscore.
NAMED = gl.constexpr(hasattr(gl.shared_memory_descriptor, "reinterpret"))


@gluon.jit
def _seen_as(memory, dtype: gl.constexpr, shape: gl.constexpr, layout: gl.constexpr):
    """The same shared memory as another type."""
    if NAMED:  # the branch not taken is not compiled
        seen = memory.reinterpret(dtype, shape, layout)
    else:
        seen = memory._reinterpret(dtype, shape, layout)
    return seen


@gluon.jit
def _weighted(pairs, norm, row, epsilon, LINES: gl.constexpr, BLOCK: gl.constexpr):
    """A row times its norm's weight into shared memory; gives the norm's factor, which can wait for the sums."""
    first, second = low(pairs), high(pairs)
    row.store(packed(first * low(norm), second * high(norm)))
    line = gl.expand_dims(gl.arange(0, BLOCK, layout=gl.SliceLayout(1, ROWS)), 1)
    squares = gl.where(line < LINES, first * first + second * second, 0.0)
    return gl.rsqrt(gl.sum(gl.sum(squares, axis=1), axis=0) / (LINES * 64) + epsilon)


@gluon.jit
def _tell(first, second, words, start, left, turn):
    """Sixteen results to everybody."""
    at = gl.arange(0, 8, layout=first.type.layout)
    gl.store(words + start // 2 + at, word(packed(first, second), turn), mask=at * 2 < left)


@gluon.jit
def _of_mine(residual, start, left, LAYOUT: gl.constexpr):
    """Even and odd ones of sixteen values that this program keeps for itself."""
    at = gl.arange(0, 8, layout=LAYOUT) * 2
    first = gl.load(residual + start + at, mask=at < left, other=0.0)
    second = gl.load(residual + start + at + 1, mask=at < left, other=0.0)
    return first, second


@gluon.jit
def _added(first, second, before, before_odd, residual, start, left):
    """With the residual, rounded as the row is; kept for the next time."""
    at = gl.arange(0, 8, layout=first.type.layout) * 2
    first = (before + first).to(gl.bfloat16).to(gl.float32)
    second = (before_odd + second).to(gl.bfloat16).to(gl.float32)
    gl.store(residual + start + at, first, mask=at < left)
    gl.store(residual + start + at + 1, second, mask=at < left)
    return first, second


@gluon.jit
def _rows_onto_residual(
    tiles, full, empty, slot, turn, row, held, residual, before, before_odd, words, mine, left, round_number,
    PAIRS: gl.constexpr, LINES: gl.constexpr, S: gl.constexpr,
):  # fmt: skip
    """The product of a matrix back to the hidden size: this program's rows, onto the residual, told to everybody."""
    first, second, slot, turn = sixteen(tiles, full, empty, slot, turn, row, held, LINES, S.stages)
    first, second = _added(first, second, before, before_odd, residual, mine, left)
    _tell(first, second, words, mine, left, round_number)
    for group in range(1, (S.hidden_each + 3) // 4):
        start = mine + group * 16
        rest = left - group * 16
        more, more_odd = _of_mine(residual, start, rest, PAIRS)
        first, second, slot, turn = sixteen(tiles, full, empty, slot, turn, row, (), LINES, S.stages)
        first, second = _added(first, second, more, more_odd, residual, start, rest)
        _tell(first, second, words, start, rest, round_number)
    return slot, turn


@gluon.jit
def _start_of(table, base, number: gl.constexpr):
    """A tensor of the table: in lines of 128 bytes from the base."""
    return base + gl.load(table + number).to(gl.int64) * 32


@gluon.jit
def _computing(
    ring, row_memory, turned, mix, full, empty, base, start, out, table, calls_ptr, words, counters, residual,
    position_ptr, cos_ptr, sin_ptr, bias, bias_head, bias_key, cache_head, scale, epsilon, S: gl.constexpr,
):  # fmt: skip
    H: gl.constexpr = S.hidden_lines
    BLOCK: gl.constexpr = S.hidden_rows
    WIDE: gl.constexpr = S.wide_rows
    SEEN: gl.constexpr = S.seen_rows
    TILES: gl.constexpr = S.stages * 2
    SEEN_HELD: gl.constexpr = S.seen_held
    GATED_HELD: gl.constexpr = S.gated_held
    tiles = _seen_as(ring, gl.bfloat16, [TILES, 128, 64], gl.NVMMASharedLayout(128, 16, 2))
    row = _seen_as(row_memory, gl.bfloat16, [row_memory.shape[0] // 8, 8, 64], AS_VALUES)
    row_words = _seen_as(row_memory, gl.int32, [BLOCK, 32], AS_WORDS)
    seen_words = _seen_as(row_memory, gl.int32, [SEEN, 32], AS_WORDS)
    wide_words = _seen_as(row_memory, gl.int32, [WIDE, 32], AS_WORDS)
    even, _odd = row_sums(gl.zeros([128, 8], gl.float32, MMA))
    PAIRS: gl.constexpr = even.type.layout
    program = gl.program_id(0)
    slot = gl.to_tensor(0)
    turn = gl.to_tensor(0)
    calls = gl.load(calls_ptr)
    position = gl.load(position_ptr).to(gl.int32)
    # This program's rows of the residual.
    mine = program * S.hidden_each * 4
    left = gl.minimum(S.hidden_each * 4, S.hidden - mine)
    own = gl.arange(0, 256, layout=gl.BlockedLayout([1], [32], [8], [0]))
    PIECES: gl.constexpr = (S.hidden_each * 4 + 255) // 256
    for piece in gl.static_range(PIECES):
        at = piece * 256 + own
        value = gl.load(start.to(gl.pointer_type(gl.bfloat16), bitcast=True) + mine + at, mask=at < left, other=0.0)
        gl.store(residual + mine + at, value.to(gl.float32), mask=at < left)
    # This program's part of attention.
    head = program // S.parts
    part = program % S.parts
    attends = head < S.heads
    head = gl.where(attends, head, 0)
    in_cache = head // S.group * cache_head
    keys_at = key_numbers(part * S.keys_each, S)
    shift = biases(bias, bias_head, bias_key, head, keys_at, S)
    pair = pair_numbers(S)
    cos = gl.load(cos_ptr + pair)
    sin = gl.load(sin_ptr + pair)
    sin = gl.where(pair < S.head_words // 2, sin ^ -2147450880, sin)  # the signs of both values, turned
    fresh = fresh_places(words, head, S)
    # What the first layer needs; later on it is fetched a layer ahead.
    pairs = gl.load(row_places(start, H, BLOCK))
    norm = gl.load(row_places(_start_of(table, base, 7), H, BLOCK))
    middle_norm_at = gl.load(table + 8)
    key_cache = _start_of(table, base, 9) + in_cache
    value_cache = _start_of(table, base, 10) + in_cache
    keys = from_cache(key_cache, keys_at, S)
    values = from_cache(value_cache, keys_at, S)
    for layer in range(S.layers):
        round_number = (calls * S.layers + layer + 1).to(gl.int32)
        everybody = round_number * S.programs
        this_middle_norm_at = middle_norm_at
        following = table + (layer + 1) * COLUMNS
        norm_at = gl.load(following + 7)
        middle_norm_at = gl.load(following + 8)
        next_keys_at = gl.load(following + 9)
        next_values_at = gl.load(following + 10)
        q_norm = ()
        k_norm = ()
        if S.has_head_norms:
            q_norm = head_norms(_start_of(table + layer * COLUMNS, base, 11), S)
            k_norm = head_norms(_start_of(table + layer * COLUMNS, base, 12), S)
        # q, k and v
        if layer > 0:
            wait_for(counters + ROW, everybody - S.programs, PAIRS)
            pairs = row_values(words + S.at_row, round_number - 1, H, BLOCK)
        factor = _weighted(pairs, norm, row_words, epsilon, H, BLOCK)
        qkv_start = program * S.qkv_each * 4
        qkv_left = gl.minimum(S.qkv_each * 4, S.qkv_boxes * 4 - qkv_start)
        for group in range((S.qkv_each + 3) // 4):
            first, second, slot, turn = sixteen(tiles, full, empty, slot, turn, row, (), H, S.stages)
            at_row = qkv_start + group * 16
            _tell(first * factor, second * factor, words, at_row, qkv_left - group * 16, round_number)
        held, slot, turn = ahead(tiles, full, empty, slot, turn, SEEN_HELD, S.stages)
        if attends:
            attend(
                words, round_number, key_cache, value_cache, keys, values, shift, fresh, turned, mix, cos, sin,
                q_norm, k_norm, bias, bias_head, bias_key, head, part, position, scale, epsilon, S,
            )  # fmt: skip
        done(counters + SEEN, PAIRS)
        # the output of attention
        before, before_odd = _of_mine(residual, mine, left, PAIRS)
        seen_words.store(all_heads(words, round_number, counters + SEEN, PAIRS, S))
        slot, turn = _rows_onto_residual(
            tiles, full, empty, slot, turn, row, held, residual, before, before_odd, words + S.at_middle, mine, left,
            round_number, PAIRS, S.seen_lines, S,
        )  # fmt: skip
        done(counters + MIDDLE, PAIRS)
        # the MLP
        gated_held, slot, turn = ahead(tiles, full, empty, slot, turn, GATED_HELD, S.stages)
        middle_norm = gl.load(row_places(base + this_middle_norm_at.to(gl.int64) * 32, H, BLOCK))
        wait_for(counters + MIDDLE, everybody, PAIRS)
        pairs = row_values(words + S.at_middle, round_number, H, BLOCK)
        factor = _weighted(pairs, middle_norm, row_words, epsilon, H, BLOCK)
        slices = held_slices(row, H)
        wide_start = program * S.wide_each * 4
        wide_left = gl.minimum(S.wide_each * 4, S.wide - wide_start)
        first, second, slot, turn = sixteen_gated(
            tiles, full, empty, slot, turn, row, slices, gated_held, factor, H, S.stages
        )
        _tell(first, second, words + S.at_gated, wide_start, wide_left, round_number)
        for group in range(1, (S.wide_each + 3) // 4):
            first, second, slot, turn = sixteen_gated(
                tiles, full, empty, slot, turn, row, slices, (), factor, H, S.stages
            )
            at_row = wide_start + group * 16
            _tell(first, second, words + S.at_gated, at_row, wide_left - group * 16, round_number)
        done(counters + GATED, PAIRS)
        before, before_odd = _of_mine(residual, mine, left, PAIRS)
        wait_for(counters + GATED, everybody, PAIRS)
        wide_words.store(row_values(words + S.at_gated, round_number, S.wide_lines, S.wide_rows))
        # What the next layer begins with, on its way while the last matrix is multiplied.
        norm = gl.load(row_places(base + norm_at.to(gl.int64) * 32, H, BLOCK))
        key_cache = base + next_keys_at.to(gl.int64) * 32 + in_cache
        value_cache = base + next_values_at.to(gl.int64) * 32 + in_cache
        keys = from_cache(key_cache, keys_at, S)
        values = from_cache(value_cache, keys_at, S)
        slot, turn = _rows_onto_residual(
            tiles, full, empty, slot, turn, row, (), residual, before, before_odd, words + S.at_row, mine, left,
            round_number, PAIRS, S.wide_lines, S,
        )  # fmt: skip
        done(counters + ROW, PAIRS)
    last = (calls * S.layers + S.layers).to(gl.int32)
    wait_for(counters + ROW, last * S.programs, PAIRS)
    pairs = row_values(words + S.at_row, last, H, BLOCK)
    factor = _weighted(pairs, norm, row_words, epsilon, H, BLOCK)
    first_word = program * S.words_each * 4
    words_left = gl.minimum(S.words_each * 4, S.words - first_word)
    at_pair = gl.arange(0, 8, layout=PAIRS)
    for group in range((S.words_each + 3) // 4):
        first, second, slot, turn = sixteen(tiles, full, empty, slot, turn, row, (), H, S.stages)
        place = out + first_word // 2 + group * 8 + at_pair
        gl.store(place, packed(first * factor, second * factor), mask=at_pair * 2 < words_left - group * 16)
    if program == 0:  # everybody has read it: all have had a part in the last layer
        gl.store(calls_ptr, calls + 1)


@gluon.jit
def decoder(
    by_hidden, by_seen, by_wide, base, start, out, table, calls_ptr, words, counters, residual, position_ptr,
    cos_ptr, sin_ptr, bias, bias_head, bias_key, cache_head, scale, epsilon, S: gl.constexpr,
):  # fmt: skip
    """One token through all layers. The grid is S.programs programs, which must all run at the same time."""
    ring = gl.allocate_shared_memory(gl.bfloat16, [S.stages * 8, 4, 8, 64], gl.NVMMASharedLayout(128, 16, 3))
    row_memory = gl.allocate_shared_memory(gl.int32, [S.longest_row, 32], AS_WORDS)
    turned = gl.allocate_shared_memory(gl.int32, [8, S.head_words], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    mix = gl.allocate_shared_memory(gl.float32, [4, 8, S.head_words], gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    full = gl.allocate_shared_memory(gl.int64, [S.stages, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [S.stages, 1], mbarrier.MBarrierLayout())
    STAGES: gl.constexpr = S.stages
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=8)
        mbarrier.init(empty.index(stage), count=1)
    gl.warp_specialize(
        [
            (
                _computing,
                (
                    ring, row_memory, turned, mix, full, empty, base, start, out, table, calls_ptr, words, counters,
                    residual, position_ptr, cos_ptr, sin_ptr, bias, bias_head, bias_key, cache_head, scale, epsilon, S,
                ),
            ),
            (asking, (by_hidden, by_seen, by_wide, ring, full, empty, table, S)),
        ],
        [1],
        [32],
    )  # fmt: skip
