"""Level 3: surgery on a new tree of modules over the same parameters. What is there to change is seen in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.ladder.rung import ModelRung, Predict, Prediction

if TYPE_CHECKING:
    from torch import nn

    from kernel_pytorch.models.fx.rewrite import Rewrite
    from kernel_pytorch.models.rewrites.projections import Group
    from kernel_pytorch.perf.profile import Profile

_NO_PROJECTIONS = "no linear layers of one module read the same tensor"
_NO_PAIRS = "no two linear layers of the same size in one module read the same tensor"
_NO_ATTENTION = "no attention that is written by hand"
_NO_MASK = "no attention gets a causal mask made from constants"
_NO_REPEATS = "no attention gets keys and values that are repeated for each group of heads"
_NO_COPIES = "no casts there and back, twice, or of weights in every call"


def _chosen(model: nn.Module, inputs: Inputs, pairs: bool) -> tuple[Group, ...]:
    """Query, key and value; or gate and up (also key and value of a cross attention): two of the same size."""
    from kernel_pytorch.models.rewrites import projections

    found = projections.find(model, inputs)
    groups = tuple(group for group in found.groups if (len(group.rows) == 2 and len(set(group.rows)) == 1) is pairs)
    if not groups:
        refusals = "; ".join(f"{where}: {reason}" for where, reason in found.refusals[:3])
        raise NotApplicable(refusals or (_NO_PAIRS if pairs else _NO_PROJECTIONS))
    return groups


def _find_projections(model: nn.Module, inputs: Inputs, pairs: bool) -> str:
    counts: dict[str, int] = {}
    for group in _chosen(model, inputs, pairs):
        rows = " + ".join(map(str, group.rows))
        what = f"{len(group.rows)} products into one ({rows} rows)"
        counts[what] = counts.get(what, 0) + 1
    return "; ".join(what if count == 1 else f"{count} x {what}" for what, count in counts.items())


def _apply_projections(model: nn.Module, inputs: Inputs, pairs: bool) -> nn.Module:
    from kernel_pytorch.models.rewrites import projections

    return projections.join(model, _chosen(model, inputs, pairs))


def _attention() -> tuple[Rewrite, ...]:
    from kernel_pytorch.models.rewrites import attention

    return (attention.REWRITE,)


def _causal_mask() -> tuple[Rewrite, ...]:
    from kernel_pytorch.models.rewrites import causal_mask

    return (*_attention(), causal_mask.REWRITE)


def _repeat_kv() -> tuple[Rewrite, ...]:
    from kernel_pytorch.models.rewrites import repeat_kv

    # Attention by hand may pay only together with it.
    return (*_attention(), repeat_kv.REWRITE)


def _dtype_copies() -> tuple[Rewrite, ...]:
    from kernel_pytorch.models.rewrites import dtype_copies

    return (dtype_copies.REWRITE,)


def _find_padding(model: nn.Module, inputs: Inputs) -> str:
    from kernel_pytorch.models.rewrites import padding

    found = padding.find(model, inputs)
    return f"{found.length - found.longest} of {found.length} columns are padding in every row of the batch"


def _skip_padding(model: nn.Module, inputs: Inputs) -> nn.Module:
    from kernel_pytorch.models.rewrites import padding

    return padding.skip(model, padding.find(model, inputs))


def _find_loop(model: nn.Module, inputs: Inputs) -> str:
    from kernel_pytorch.models.rewrites import cached_calls

    loop = cached_calls.find(model, inputs)
    return f"{loop.name} is called {len(loop.lengths)} times with one token more: a static cache for {loop.longest}"


def _cache_loop(model: nn.Module, inputs: Inputs) -> nn.Module:
    from kernel_pytorch.models.rewrites import cached_calls

    return cached_calls.cache(model, cached_calls.find(model, inputs))


def _find(model: nn.Module, inputs: Inputs, rewrites: tuple[Rewrite, ...], nothing: str) -> str:
    from kernel_pytorch.models.rewrites.in_new_tree import in_words, rewritten

    return in_words(rewritten(model, inputs, *rewrites, nothing=nothing)[1])


def _apply(model: nn.Module, inputs: Inputs, rewrites: tuple[Rewrite, ...], nothing: str) -> nn.Module:
    from kernel_pytorch.models.rewrites.in_new_tree import rewritten

    return rewritten(model, inputs, *rewrites, nothing=nothing)[0]


def _by_advice(title: str, what: str) -> Predict:
    """What the profile's advice of that title would save."""

    def predict(profile: Profile, inputs: Inputs) -> Prediction:
        found = [one.saving_ms for one in profile.advice if one.title == title]
        return Prediction(sum(found), f"{sum(found):.3f} ms of {what}" if found else f"the profile shows no {what}")

    return predict


RUNGS: tuple[ModelRung, ...] = (
    ModelRung(
        "qkv_fusion",
        3,
        "Query, key and value projections as one product",
        find=lambda model, inputs: _find_projections(model, inputs, False),
        apply=lambda model, inputs, options: _apply_projections(model, inputs, False),
        predict=_by_advice("GEMMs that share an input", "matrix products that share an input"),
    ),
    ModelRung(
        "gate_up_fusion",
        3,
        "Gate and up projections as one product",
        find=lambda model, inputs: _find_projections(model, inputs, True),
        apply=lambda model, inputs, options: _apply_projections(model, inputs, True),
        predict=_by_advice("GEMMs that share an input", "matrix products that share an input"),
    ),
    ModelRung(
        "sdpa",
        3,
        "Attention written by hand as scaled_dot_product_attention",
        find=lambda model, inputs: _find(model, inputs, _attention(), _NO_ATTENTION),
        apply=lambda model, inputs, options: _apply(model, inputs, _attention(), _NO_ATTENTION),
        predict=_by_advice("hand-written attention", "attention written by hand"),
    ),
    ModelRung(
        "causal_mask",
        3,
        "Causal masks as is_causal",
        find=lambda model, inputs: _find(model, inputs, _causal_mask(), _NO_MASK),
        apply=lambda model, inputs, options: _apply(model, inputs, _causal_mask(), _NO_MASK),
    ),
    ModelRung(
        "repeat_kv",
        3,
        "Keys and values not repeated for grouped queries",
        find=lambda model, inputs: _find(model, inputs, _repeat_kv(), _NO_REPEATS),
        apply=lambda model, inputs, options: _apply(model, inputs, _repeat_kv(), _NO_REPEATS),
    ),
    ModelRung(
        "dtype_copies",
        3,
        "Casts that copy without need removed",
        find=lambda model, inputs: _find(model, inputs, _dtype_copies(), _NO_COPIES),
        apply=lambda model, inputs, options: _apply(model, inputs, _dtype_copies(), _NO_COPIES),
        predict=_by_advice("dtype copies", "copies that change the dtype"),
    ),
    ModelRung(
        "skipped_padding",
        3,
        "Columns that are padding in every row left out",
        find=_find_padding,
        apply=lambda model, inputs, options: _skip_padding(model, inputs),
    ),
    ModelRung(
        "static_kv_cache",
        3,
        "Decoding with a static cache of keys and values",
        find=_find_loop,
        apply=lambda model, inputs, options: _cache_loop(model, inputs),
    ),
)
