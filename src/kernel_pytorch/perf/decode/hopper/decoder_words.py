"""How the programs of the decoder kernel tell each other their results: two values and a round's number in one word.

A word of 64 bits is written and read whole. A reader that finds the number of the round in it has the values of that
round, so there is no fence, no barrier and nothing to reset. Counters beside the words say when everybody is done with
a step. That keeps thousands of threads from looking at words all the time, which would hold up the writers; and it is
what allows a word to be written anew: who has counted has read what came before.

This module needs Triton with Gluon, for NVIDIA.
"""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803
from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from kernel_pytorch.perf.decode.hopper.decoder_shape import SPACING

# Threads that read a row: two words each, 16 rows of 32 words at a time.
ROWS = gl.constexpr(gl.BlockedLayout([1, 2], [2, 16], [8, 1], [1, 0]))
APART = gl.constexpr(SPACING)


@gluon.constexpr_function
def _until_there(count, live, in_pairs):
    """PTX: load `live` of `count` words, again and again, until all have the number of the round. Gives the values."""
    load = "ld.relaxed.gpu.global"
    lines = ["{", ".reg .pred late;", ".reg .b32 seen;", f".reg .b64 w<{count}>;", "again:"]
    if in_pairs and live > 1:
        lines += [f"{load}.v2.b64 {{w{i}, w{i + 1}}}, [${count + i}];" for i in range(0, live, 2)]
    else:
        lines += [f"{load}.b64 w{i}, [${count + i}];" for i in range(live)]
    for i in range(live):
        lines.append(f"mov.b64 {{${i}, seen}}, w{i};")
        among = f"setp.ne.or.b32 late, seen, ${2 * count + i}, late;"
        lines.append(among if i else f"setp.ne.b32 late, seen, ${2 * count};")
    lines.append("@late bra again;")
    lines += [f"mov.b32 ${i}, 0;" for i in range(live, count)]
    return "\n".join([*lines, "}"])


@gluon.constexpr_function
def _operands(count):
    # Written in the loop while addresses are still needed: not in the same registers.
    return ",".join(["=&r"] * count + ["l"] * count + ["r"] * count)


@gluon.jit
def values_of(place, turn, COUNT: gl.constexpr, LIVE: gl.constexpr, IN_PAIRS: gl.constexpr):
    """The values of words that may still be on their way; COUNT to a thread, of which LIVE matter."""
    wanted = gl.full(place.shape, 0, gl.int32, place.type.layout) + turn
    address = place.to(gl.int64, bitcast=True)
    text: gl.constexpr = _until_there(COUNT, LIVE, IN_PAIRS)
    return gl.inline_asm_elementwise(text, _operands(COUNT), [address, wanted], gl.int32, False, COUNT)


@gluon.constexpr_function
def _until_both_there(count):
    """PTX: the same for `count` words, and one word more for every two of them."""
    load = "ld.relaxed.gpu.global"
    lines = ["{", ".reg .pred late;", ".reg .b32 seen;", f".reg .b64 w<{count}>;", f".reg .b64 v<{count}>;", "again:"]
    lines += [f"{load}.v2.b64 {{w{i}, w{i + 1}}}, [${2 * count + i}];" for i in range(0, count, 2)]
    lines += [f"{load}.b64 v{i}, [${3 * count + i}];" for i in range(0, count, 2)]
    for i in range(count):
        lines.append(f"mov.b64 {{${i}, seen}}, w{i};")
        among = f"setp.ne.or.b32 late, seen, ${4 * count + i}, late;"
        lines.append(among if i else f"setp.ne.b32 late, seen, ${4 * count};")
    for i in range(0, count, 2):
        lines.append(f"mov.b64 {{${count + i}, seen}}, v{i};")
        lines.append(f"setp.ne.or.b32 late, seen, ${4 * count + i}, late;")
        lines.append(f"mov.b32 ${count + i + 1}, ${count + i};")
    return "\n".join([*lines, "@late bra again;", "}"])


@gluon.constexpr_function
def _both_operands(count):
    return ",".join(["=&r"] * 2 * count + ["l"] * 2 * count + ["r"] * count)


@gluon.jit
def values_of_both(place, beside, turn, COUNT: gl.constexpr):
    """The values of words, and of one word beside each pair of them, in one go."""
    wanted = gl.full(place.shape, 0, gl.int32, place.type.layout) + turn
    addresses = [place.to(gl.int64, bitcast=True), beside.to(gl.int64, bitcast=True), wanted]
    text: gl.constexpr = _until_both_there(COUNT)
    return gl.inline_asm_elementwise(text, _both_operands(COUNT), addresses, (gl.int32, gl.int32), False, COUNT)


_ENOUGH = gl.constexpr(
    """{
.reg .pred late;
.reg .b32 gap;
again:
ld.relaxed.gpu.global.b32 $0, [$1];
sub.s32 gap, $0, $2;
setp.lt.s32 late, gap, 0;
@late bra again;
}"""
)


@gluon.jit
def wait_for(counters, target, LAYOUT: gl.constexpr):
    """Until everybody has said `done`; each warp looks at its own counter. What they wrote may come a little later."""
    place = counters + gl.arange(0, 8, layout=LAYOUT) * APART
    enough = gl.full([8], 0, gl.int32, LAYOUT) + target
    gl.inline_asm_elementwise(_ENOUGH, "=&r,l,r", [place.to(gl.int64, bitcast=True), enough], gl.int32, False, 1)


@gluon.jit
def done(counters, LAYOUT: gl.constexpr):
    one = gl.full([8], 1, gl.int32, LAYOUT)
    gl.atomic_add(counters + gl.arange(0, 8, layout=LAYOUT) * APART, one, sem="relaxed", scope="gpu")


@gluon.jit
def low(pair):
    """The first of two bf16 values, as fp32."""
    return (pair << 16).to(gl.float32, bitcast=True)


@gluon.jit
def high(pair):
    return (pair & -65536).to(gl.float32, bitcast=True)


@gluon.jit
def packed(first, second):
    a = first.to(gl.bfloat16).to(gl.int16, bitcast=True).to(gl.int32) & 65535
    b = second.to(gl.bfloat16).to(gl.int16, bitcast=True).to(gl.int32) << 16
    return a | b


@gluon.jit
def word(pair, turn):
    """Two values with the number of the round."""
    return (pair.to(gl.int64) & 4294967295) | (turn.to(gl.int64) << 32)


@gluon.jit
def row_places(ptr, LINES: gl.constexpr, BLOCK: gl.constexpr):
    """Where the pairs of a row are, 32 to a line; lines past the end are the first again."""
    line = gl.arange(0, BLOCK, layout=gl.SliceLayout(1, ROWS))
    pair = gl.arange(0, 32, layout=gl.SliceLayout(0, ROWS))
    line = gl.where(line < LINES, line, 0)
    return ptr + gl.expand_dims(line, 1) * 32 + gl.expand_dims(pair, 0)


@gluon.constexpr_function
def words_each(block):
    """Words of a thread in a block of so many rows."""
    return max(2, block * 32 // 256)


@gluon.constexpr_function
def _live(lines, block):
    return min(words_each(block), 2 * -(-lines // 16))


@gluon.jit
def row_values(ptr, turn, LINES: gl.constexpr, BLOCK: gl.constexpr):
    """A whole row that other programs write."""
    return values_of(row_places(ptr, LINES, BLOCK), turn, words_each(BLOCK), _live(LINES, BLOCK), True)
