#!/usr/bin/env python3
"""Twelve faults below the rounding of bfloat16, planted into a small transformer and a UNet: are they found, and named?

    kpt golden record benchmarks/golden_narrow.py:transformer --out golden/transformer       on the reference machine
    kpt golden record benchmarks/golden_narrow.py:unet --out golden/unet
    python benchmarks/golden_narrow.py GOLDEN_FOLDER                                          on another one

First the models as they are: two machines' honest results must agree. Then each fault.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

sys.path.insert(0, str(Path(__file__).resolve().parent))


class RMSNorm(nn.Module):
    """In float32, as models have it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(width)), 1e-6

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)).to(x.dtype) * self.weight


class Rotary(nn.Module):
    """Positions as angles."""

    def __init__(self, size: int, base: float = 10000.0) -> None:
        super().__init__()
        self.size, self.base = size, base

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        places = torch.arange(0, self.size, 2, device=x.device) / self.size
        angles = torch.arange(x.shape[-2], device=x.device)[:, None] / self.base**places
        cos, sin = (torch.cat([part, part], -1) for part in (angles.cos(), angles.sin()))
        left, right = x.float().chunk(2, -1)
        return (x.float() * cos + torch.cat([-right, left], -1) * sin).to(x.dtype)


class Softmax(nn.Module):
    """A module of its own, so that its result is recorded."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.float().softmax(-1).to(x.dtype)


class Attention(nn.Module):
    """Eight heads, softmax written out."""

    def __init__(self, width: int, heads: int = 8) -> None:
        super().__init__()
        self.heads, self.scale = heads, (width // heads) ** -0.5
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.rotary, self.softmax = Rotary(width // heads), Softmax()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (self.rotary(q) @ self.rotary(k).transpose(-1, -2)) * self.scale
        return self.out((self.softmax(scores) @ v).transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and an MLP with exact GELU."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(width), Attention(width), RMSNorm(width)
        self.up, self.act, self.down = nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.act(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """Two blocks and a pooled head."""

    def __init__(self, width: int = 256) -> None:
        super().__init__()
        self.embed = nn.Embedding(512, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.gate, self.head = nn.SiLU(), nn.Linear(width, 512)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.gate(x))


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def transformer() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """In bfloat16."""
    torch.manual_seed(5)
    model = Transformer().bfloat16().eval()
    return model.to(_device()), (torch.randint(0, 512, (4, 96)).to(_device()),)


def unet() -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """golden_models' UNet in bfloat16."""
    from golden_models import UNet

    torch.manual_seed(6)

    class Narrow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.unet = UNet()

        def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
            with torch.autocast(x.device.type, torch.bfloat16):
                return self.unet(x, step)

    model = Narrow().eval().to(_device())
    return model, (torch.randn(2, 4, 32, 32).to(_device()), torch.tensor([7, 431]).to(_device()))


def changed(model: Any, name: str, change: Callable[..., Any]) -> str:
    """Put another forward into a module: `change` gets the module, its forward and the arguments.

    As a class, so that a copy of the model has it too.
    """
    module = model.get_submodule(name)
    kind = type(module)
    module.__class__ = type(
        kind.__name__, (kind,), {"forward": lambda self, *args: change(self, lambda *a: kind.forward(self, *a), *args)}
    )
    return name


def unbiased(module: Any, forward: Any, x: Any) -> Any:
    wide = x.float()
    centred = wide - wide.mean(-1, keepdim=True)
    normal = centred * torch.rsqrt(wide.var(-1, unbiased=True, keepdim=True) + module.eps)
    return (normal * module.weight + module.bias).to(x.dtype)


def other_epsilon(module: Any, forward: Any, x: Any) -> Any:
    return functional.layer_norm(x, module.normalized_shape, module.weight, module.bias, 1e-3)


def truncated(module: Any, forward: Any, x: Any) -> Any:
    """Round towards zero: the upper 16 bits of float32."""
    exact = functional.linear(x.float(), module.weight.float(), module.bias.float())
    return ((exact.view(torch.int32) >> 16) << 16).view(torch.float32).to(x.dtype)


def narrow_sums(module: Any, forward: Any, x: Any) -> Any:
    """Partial sums of 64 products in bfloat16."""
    out = torch.zeros(*x.shape[:-1], module.weight.shape[0], dtype=x.dtype, device=x.device)
    for start in range(0, x.shape[-1], 64):
        out = out + functional.linear(x[..., start : start + 64], module.weight[:, start : start + 64])
    return out + module.bias


def fewer(module: Any, forward: Any, x: Any) -> Any:
    """exp by a power of two with log2(e) in bfloat16."""
    wide = x.float()
    powers = torch.exp2((wide - wide.amax(-1, keepdim=True)) * 1.4453125)
    return (powers / powers.sum(-1, keepdim=True)).to(x.dtype)


def narrow_sum_of_softmax(module: Any, forward: Any, x: Any) -> Any:
    """The sum of the softmax misses its last element."""
    wide = (x.float() - x.float().amax(-1, keepdim=True)).exp()
    return (wide / wide[..., :-1].sum(-1, keepdim=True)).to(x.dtype)


FAULTS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "unbiased variance": ("transformer", lambda m: changed(m, "blocks.0.norm1", unbiased)),
    "layer norm epsilon 1e-3": ("transformer", lambda m: changed(m, "blocks.1.norm1", other_epsilon)),
    "RMS norm epsilon 1e-3": ("transformer", lambda m: _set(m, "blocks.0.norm2", "epsilon", 1e-3)),
    "tanh GELU": (
        "transformer",
        lambda m: changed(m, "blocks.1.act", lambda s, f, x: functional.gelu(x, approximate="tanh")),
    ),
    "attention scale off by 0.2 %": ("transformer", lambda m: _scaled(m, "blocks.1.attention", 1.002)),
    "bias added a little more than once": (
        "transformer",
        lambda m: changed(m, "blocks.0.up", lambda s, f, x: functional.linear(x, s.weight, s.bias * 1.03125)),
    ),
    "rounding towards zero": ("transformer", lambda m: changed(m, "blocks.0.down", truncated)),
    "sums in bfloat16": ("transformer", lambda m: changed(m, "blocks.1.down", narrow_sums)),
    "log2(e) in bfloat16": ("transformer", lambda m: changed(m, "blocks.0.attention.softmax", fewer)),
    "softmax sum without its last": (
        "transformer", lambda m: changed(m, "blocks.1.attention.softmax", narrow_sum_of_softmax),
    ),
    "SiLU with a fitted sigmoid": (
        "transformer",
        lambda m: changed(m, "gate", lambda s, f, x: (x.float() * (0.5 + 0.5 * torch.tanh(0.499 * x.float()))).to(x)),
    ),
    "rotary base 10100": ("transformer", lambda m: _set(m, "blocks.1.attention.rotary", "base", 10100.0)),
}  # fmt: skip


def _set(model: Any, name: str, field: str, value: Any) -> str:
    setattr(model.get_submodule(name), field, value)
    return name


def _scaled(model: Any, name: str, factor: float) -> str:
    module = model.get_submodule(name)
    return _set(model, name, "scale", module.scale * factor)


def main() -> int:
    """Checks the models as they are, then with each fault."""
    from kernel_pytorch.core.entry_point import Subject
    from kernel_pytorch.verify.golden.archive import GoldenArchive
    from kernel_pytorch.verify.golden.check import check

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    makers = {"transformer": transformer, "unet": unet}
    alarms = 0
    for name, make in makers.items():
        if not (args.folder / name).is_dir():
            continue
        archive = GoldenArchive(args.folder / name)
        for mode in archive.record.events:
            result = check(Subject(name, *make()), archive, mode)
            alarms += len(result.culprits)
            first = f": {result.culprits[0].module}: {result.culprits[0].text}" if result.culprits else ""
            print(f"{'FALSE ALARM' if result.culprits else 'same'}  {name} as it is, {mode}{first}", flush=True)
    found = 0
    for title, (name, plant) in FAULTS.items():
        model, inputs = makers[name]()
        where = plant(model)
        result = check(Subject(name, model, inputs), GoldenArchive(args.folder / name), "strict")
        right = bool(result.culprits) and result.culprits[0].module == where
        found += right
        first_culprit = result.culprits[0] if result.culprits else None
        text = f"{first_culprit.module}: {first_culprit.kind}: {first_culprit.text}" if first_culprit else "nothing"
        print(f"{'right' if right else 'WRONG'}  {title:36} in {where}: {text[:150]}", flush=True)
    print(f"{found} of {len(FAULTS)} named right, {alarms} false alarms")
    return 0 if found >= 10 and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
