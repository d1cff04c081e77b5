"""The Triton kernel of rotary position embedding, forward and backward, for queries and keys in one launch."""

# mypy: disable-error-code="no-untyped-def,untyped-decorator,misc"
# ruff: noqa: N803
from __future__ import annotations

from functools import lru_cache
from typing import Any

# Triton looks names up in the module of a kernel; they are bound when the kernels are first asked for.
tl: Any = None
rotate: Any = None


@lru_cache(maxsize=1)
def rope_kernels() -> dict[str, Any]:
    """The kernels by name; Triton is imported here and not before."""
    global tl, rotate
    import triton
    from triton import language as tl

    @triton.jit
    def rotate(
        out, x, cosine, sine, head, heads, token, tokens, out_head, out_token, x_head, x_token,
        table_token, half, rest,
        INTERLEAVED: tl.constexpr, FULL_TABLE: tl.constexpr, BACKWARD: tl.constexpr, HALF: tl.constexpr,
        REST: tl.constexpr,
    ):  # fmt: skip
        """Pairs of one tile of heads and tokens. `cosine` and `sine` point at the table of this batch entry."""
        source = x + head * x_head + token * x_token
        target = out + head * out_head + token * out_token
        cosine += token * table_token
        sine += token * table_token
        pair = tl.arange(0, HALF)[None, :]
        known = (token < tokens) & (pair < half)
        inside = known & (head < heads)
        if INTERLEAVED:
            # Neighbours (2i, 2i + 1): read together, so that a lane has both.
            both = 2 * pair[:, :, None] + tl.arange(0, 2)[None, None, :]
            a, b = tl.split(tl.load(source[:, :, None] + both, mask=inside[:, :, None], other=0.0))
        else:
            # Elements half a head apart (i, i + half).
            a = tl.load(source + pair, mask=inside, other=0.0)
            b = tl.load(source + half + pair, mask=inside, other=0.0)
        a = a.to(tl.float32)
        b = b.to(tl.float32)
        if not FULL_TABLE:
            cos_a = tl.load(cosine + pair, mask=known, other=0.0).to(tl.float32)
            sin_a = tl.load(sine + pair, mask=known, other=0.0).to(tl.float32)
            cos_b = cos_a
            sin_b = sin_a
        elif INTERLEAVED:
            cos_a, cos_b = tl.split(tl.load(cosine[:, :, None] + both, mask=known[:, :, None], other=0.0))
            sin_a, sin_b = tl.split(tl.load(sine[:, :, None] + both, mask=known[:, :, None], other=0.0))
        else:
            cos_a = tl.load(cosine + pair, mask=known, other=0.0)
            sin_a = tl.load(sine + pair, mask=known, other=0.0)
            cos_b = tl.load(cosine + half + pair, mask=known, other=0.0)
            sin_b = tl.load(sine + half + pair, mask=known, other=0.0)
        if BACKWARD:
            new_a = a * cos_a.to(tl.float32) + b * sin_b.to(tl.float32)
            new_b = b * cos_b.to(tl.float32) - a * sin_a.to(tl.float32)
        else:
            new_a = a * cos_a.to(tl.float32) - b * sin_a.to(tl.float32)
            new_b = b * cos_b.to(tl.float32) + a * sin_b.to(tl.float32)
        if INTERLEAVED:
            result = tl.join(new_a, new_b).to(out.dtype.element_ty)
            tl.store(target[:, :, None] + both, result, mask=inside[:, :, None])
        else:
            tl.store(target + pair, new_a.to(out.dtype.element_ty), mask=inside)
            tl.store(target + half + pair, new_b.to(out.dtype.element_ty), mask=inside)
        if REST > 0:
            other = tl.arange(0, REST)[None, :]
            inside = (token < tokens) & (head < heads) & (other < rest)
            values = tl.load(source + 2 * half + other, mask=inside, other=0.0)
            tl.store(target + 2 * half + other, values, mask=inside)

    @triton.jit
    def rope(
        q_out, k_out, q, k, cosine, sine, tokens, q_heads, k_heads, q_tiles, tiles, blocks,
        q_out_batch, q_out_head, q_out_token, k_out_batch, k_out_head, k_out_token,
        q_batch, q_head, q_token, k_batch, k_head, k_token, table_batch, table_token, half, rest,
        INTERLEAVED: tl.constexpr, FULL_TABLE: tl.constexpr, BACKWARD: tl.constexpr, HEADS: tl.constexpr,
        TOKENS: tl.constexpr, HALF: tl.constexpr, REST: tl.constexpr,
    ):  # fmt: skip
        """Tiles of HEADS heads or of TOKENS tokens, whichever lie side by side in memory; the other one is 1."""
        program = tl.program_id(0)
        tile = program % tiles
        block = (program // tiles) % blocks
        batch = (program // tiles // blocks).to(tl.int64)
        token = block.to(tl.int64) * TOKENS + tl.arange(0, TOKENS)[:, None]
        cosine += batch * table_batch
        sine += batch * table_batch
        if tile < q_tiles:
            head = tile.to(tl.int64) * HEADS + tl.arange(0, HEADS)[:, None]
            rotate(
                q_out + batch * q_out_batch, q + batch * q_batch, cosine, sine, head, q_heads, token, tokens,
                q_out_head, q_out_token, q_head, q_token, table_token, half, rest,
                INTERLEAVED, FULL_TABLE, BACKWARD, HALF, REST,
            )  # fmt: skip
        else:
            head = (tile - q_tiles).to(tl.int64) * HEADS + tl.arange(0, HEADS)[:, None]
            rotate(
                k_out + batch * k_out_batch, k + batch * k_batch, cosine, sine, head, k_heads, token, tokens,
                k_out_head, k_out_token, k_head, k_token, table_token, half, rest,
                INTERLEAVED, FULL_TABLE, BACKWARD, HALF, REST,
            )  # fmt: skip

    return {"rope": rope}
