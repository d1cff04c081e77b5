"""Attention over a paged cache. The operator has the cache's size, not the lengths; the engine's step has their sums.

vLLM annotates its steps in the second way, with TraceLens's patches for vLLM and SGLang it is the first (context:
sequences that are being read in; generation: one new token each):

    execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk32785sqsq32sqsk32785)
    execute_context_1(888_788544)_generation_0(0)

sq and sk are sums of queries and keys over the sequences, sqsq and sqsk of products. Windows of attention are not
written down; where the model's configuration tells them (windows.py), sequences are taken as equally long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kernel_pytorch.perf.roofline.forms import Attended
from kernel_pytorch.perf.roofline.shapes import tensor, tensors
from kernel_pytorch.perf.roofline.work import Work
from kernel_pytorch.perf.trace.recording import Signature

_PAGED = re.compile(r"unified_attention|paged_attention|mha_batch_prefill|pa_fwd|BatchDecode|BatchPrefill")
_SUMS = r"sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)"
_DETAILED = re.compile(rf"context_(\d+)\({_SUMS}\)_generation_(\d+)\({_SUMS}\)")
_SHORT = re.compile(r"context_(\d+)\((\d+)_(\d+)\)_generation_(\d+)\((\d+)\)")


@dataclass(frozen=True)
class Batch:
    """Sums over the sequences of a step: how many, new tokens, tokens to look at, pairs that a causal mask allows."""

    sequences: int
    queries: int
    keys: int
    pairs: int
    window: int | None = None


def batch_of(note: str, window: int | None = None) -> Batch | None:
    """The batch that an annotation describes, for a layer with this window; None where it has no lengths."""
    found = _DETAILED.search(note)
    if found:
        first, a, b, c, d, second, e, f, g, h = map(int, found.groups())
        context, generation = _part(first, a, b, c, d, window), _part(second, e, f, g, h, window)
        sequences, queries, keys, pairs = (sum(both) for both in zip(context, generation, strict=True))
        return Batch(sequences, queries, keys, pairs, window)
    found = _SHORT.search(note)
    if found:
        sequences, queries, squares, generating, _ = map(int, found.groups())
        # The lengths of sequences that generate are missing; those that are read in start from nothing.
        return None if generating else Batch(*_part(sequences, queries, queries, squares, squares, window), window)
    return None


def _part(
    sequences: int, queries: int, keys: int, squares: int, products: int, window: int | None
) -> tuple[int, int, int, int]:
    """The fields of a batch for the sequences that are read in, or for those that generate."""
    pairs = products - (squares - queries) // 2
    if window is None or not sequences:
        return sequences, queries, keys, pairs
    new, length = queries / sequences, keys / sequences
    # The first queries of a sequence have fewer keys before them than the window holds.
    early = max(0.0, min(new, window - (length - new)))
    fewer = early * (window - (length - new) - (early + 1) / 2)
    inside = round(sequences * min(length, window + new - 1))
    return sequences, queries, inside, min(pairs, round(sequences * (new * window - fewer)))


def is_paged(operator: str) -> bool:
    """Whether an operator attends to a cache of pages."""
    return _PAGED.search(operator) is not None


def paged_attention(signature: Signature, batch: Batch | None) -> Work | None:
    """Queries (tokens, heads, head) come first; keys have heads that are as long, mostly fewer of them."""
    given = [one for one in tensors(signature) if len(one.shape) >= 3]
    if not given or len(given[0].shape) != 3:
        return None
    q = given[0]
    tokens, heads, head = q.shape
    alike = [one for one in given[1:] if one.shape[-1] == head and heads % one.shape[-2] == 0]
    k = next((one for one in alike if one.shape != q.shape), alike[0] if alike else None)
    batch = batch or _equal_lengths(signature, tokens)
    if k is None or batch is None or not 0 < batch.queries <= tokens:
        return None
    stored = 2 * batch.keys * k.shape[-2] * head * k.element_bytes
    moved = batch.queries * heads * head * (q.element_bytes + 2) + stored
    each = batch.queries // batch.sequences, batch.keys // batch.sequences
    form = Attended(batch.sequences, heads, *each, head, "aiter" if "aiter" in signature.name else "")
    return Work(4 * heads * batch.pairs * head, moved, q.arithmetic, matrix=True, form=form)


def _equal_lengths(signature: Signature, tokens: int) -> Batch | None:
    """aiter::mha_batch_prefill(q, k cache, v cache, starts of queries, ...): new sequences, taken as equally long."""
    starts = tensor(signature, 3)
    if "mha_batch_prefill" not in signature.name or starts is None or starts.count < 2:
        return None
    sequences = starts.count - 1
    length = tokens // sequences
    return Batch(sequences, tokens, tokens, sequences * length * (length + 1) // 2)
