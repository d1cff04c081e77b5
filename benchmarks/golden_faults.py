#!/usr/bin/env python3
"""Twelve faults planted into the models of golden_models.py, each checked against a record: is the right module named?

    python benchmarks/golden_faults.py GOLDEN_FOLDER      (with GOLDEN_FOLDER/decoder and GOLDEN_FOLDER/unet)

The record comes from another machine, so the fault has to stand out from real differences between two machines.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_models
import torch

from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.verify.golden.archive import GoldenArchive
from kernel_pytorch.verify.golden.check import check


def wrapped(model: Any, name: str, change: Callable[..., Any]) -> str:
    """Make a module's own code wrong: `change` gets its forward and the arguments."""
    module = model.get_submodule(name)
    forward = module.forward
    module.forward = lambda *args, **kwargs: change(forward, *args, **kwargs)
    return name


def attribute(model: Any, name: str, field: str, value: Any) -> str:
    """Set an attribute of a module."""
    setattr(model.get_submodule(name), field, value)
    return name


def zeroed_token(forward: Any, x: Any) -> Any:
    out = forward(x).clone()
    out[:, 5] = 0
    return out


def swapped_heads(forward: Any, x: Any) -> Any:
    blocks = x.reshape(*x.shape[:-1], 8, -1)
    return forward(blocks[..., [1, 0, 2, 3, 4, 5, 6, 7], :].reshape(x.shape))


def overflow(forward: Any, x: Any) -> Any:
    return (forward(x) * 1e5).half().to(x.dtype) / 1e5


def half_lanes(forward: Any, x: Any) -> Any:
    out = forward(x).clone()
    out.reshape(-1, 64)[:, 32:] = 0.125
    return out


def later_positions(forward: Any, x: Any, position_ids: Any) -> Any:
    return forward(x, position_ids=position_ids + 1)


FAULTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "attention scale": ("decoder", lambda m: attribute(m, "model.layers.2.self_attn", "scaling", 0.2)),
    "norm epsilon": ("decoder", lambda m: attribute(m, "model.layers.1.input_layernorm", "variance_epsilon", 1e-1)),
    "another activation": ("decoder", lambda m: wrapped(m, "model.layers.3.mlp.act_fn", lambda f, x: torch.relu(x))),
    "swapped heads": ("decoder", lambda m: wrapped(m, "model.layers.0.self_attn.o_proj", swapped_heads)),
    "stale key-value slot": ("decoder", lambda m: wrapped(m, "model.layers.1.self_attn.v_proj", zeroed_token)),
    "half of each wave": ("decoder", lambda m: wrapped(m, "model.layers.2.mlp.up_proj", half_lanes)),
    "rotary positions off by one": ("decoder", lambda m: wrapped(m, "model.rotary_emb", later_positions)),
    "other norm groups": ("unet", lambda m: attribute(m, "down1.norm1", "num_groups", 4)),
    "other head split": ("unet", lambda m: attribute(m, "attention", "heads", 2)),
    "float16 overflow": ("unet", lambda m: wrapped(m, "middle2.conv2", overflow)),
    "transposed image": ("unet", lambda m: wrapped(m, "enter", lambda f, x: f(x).transpose(-1, -2))),
    "step off by one": ("unet", lambda m: wrapped(m, "embed.1", lambda f, x: f(x * 1.01))),
}


def main() -> int:
    """Plants each fault, checks, prints what was named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    found = 0
    for title, (model_name, plant) in FAULTS.items():
        model, inputs = getattr(golden_models, model_name)()
        subject = (
            Subject(model_name, model, (), inputs) if isinstance(inputs, dict) else Subject(model_name, model, inputs)
        )
        where = plant(model)
        result = check(subject, GoldenArchive(args.folder / model_name), "strict")
        named = [culprit.module for culprit in result.culprits]
        right = bool(named) and named[0] == where
        found += right
        first = result.culprits[0] if result.culprits else None
        said = f"{first.module}: {first.kind}: {first.text[:90]}" if first else "nothing found"
        print(f"{'right' if right else 'WRONG'}  {title:24} in {where}: {said}", flush=True)
    print(f"{found} of {len(FAULTS)} named right")
    return 0 if found == len(FAULTS) else 1


if __name__ == "__main__":
    sys.exit(main())
