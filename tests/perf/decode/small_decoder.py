"""A small decoder with all that a real one has, and its graph as our passes leave it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from kernel_pytorch.perf.decode import passes
from kernel_pytorch.perf.ladder import inductor_passes

WIDTH, HEADS, SHARED, SIZE, LENGTH = 64, 4, 2, 16, 24


class Norm(nn.Module):
    """As Llama has it, or with `plus` as Gemma has it."""

    def __init__(self, size: int = WIDTH, plus: float = 0.0) -> None:
        super().__init__()
        self.weight, self.plus = nn.Parameter(torch.rand(size) + 0.5 - plus), plus

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        if self.plus:
            normal = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
            return (normal * (self.plus + self.weight.float())).type_as(x)
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


ACTIVE = {
    "silu": functional.silu,
    "gelu_erf": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "nearly gelu": lambda x: x * torch.sigmoid(1.702 * x),
}


def neighbours_turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """As GLM and GPT-J have it: every layer repeats the angles for itself."""
    cos, sin = (one[..., : one.shape[-1] // 2].repeat_interleave(2, dim=-1) for one in (cos, sin))
    return x * cos + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * sin


class Layer(nn.Module):
    def __init__(
        self,
        joined: bool = False,
        bias: bool = False,
        head_norms: bool = False,
        cap: float = 0.0,
        part: int = SIZE,
        gate: str = "silu",
        plus: float = 0.0,
        after_norms: bool = False,
        neighbours: bool = False,
        window: int = LENGTH,
    ) -> None:
        super().__init__()
        self.cap, self.part, self.active, self.neighbours, self.window = cap, part, ACTIVE[gate], neighbours, window
        self.q_norm, self.k_norm = (Norm(SIZE, plus) if head_norms else nn.Identity() for _ in range(2))
        self.before, self.after = Norm(plus=plus), Norm(plus=plus)
        self.seen_norm, self.mlp_norm = (Norm(plus=plus) if after_norms else nn.Identity() for _ in range(2))
        self.q = nn.Linear(WIDTH, HEADS * SIZE, bias=bias)
        self.k, self.v = (nn.Linear(WIDTH, SHARED * SIZE, bias=bias) for _ in range(2))
        self.o = nn.Linear(HEADS * SIZE, WIDTH, bias=False)
        self.joined = joined
        if joined:
            self.both = nn.Linear(WIDTH, 192, bias=False)
        else:
            self.gate, self.up = nn.Linear(WIDTH, 96, bias=False), nn.Linear(WIDTH, 96, bias=False)
        self.down = nn.Linear(96, WIDTH, bias=False)
        # As a cache object holds them: neither parameters nor buffers.
        self.keys, self.values = torch.randn(1, SHARED, LENGTH, SIZE), torch.randn(1, SHARED, LENGTH, SIZE)

    def forward(self, x: torch.Tensor, at: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        h = self.before(x)
        q, k, v = (part(h).view(x.shape[0], -1, count, SIZE) for part, count in self.parts())
        q, k, v = self.q_norm(q).transpose(1, 2), self.k_norm(k).transpose(1, 2), v.transpose(1, 2)
        if self.part != SIZE:
            cos, sin = (torch.cat((one[..., : self.part // 2],) * 2, -1) for one in (cos, sin))
        q, k = (self.rotated(one, cos, sin) for one in (q, k))
        self.keys.index_copy_(2, at, k)
        self.values.index_copy_(2, at, v)
        places = torch.arange(LENGTH)
        seen = ((places <= at) & (places > at - self.window)).view(1, 1, 1, LENGTH)
        keys, values = (self.repeated(one) for one in (self.keys, self.values))
        attended = (
            self.capped(q, keys, values, seen)
            if self.cap
            else functional.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
        )
        x = x + self.seen_norm(self.o(attended.transpose(1, 2).reshape(x.shape[0], -1, HEADS * SIZE)))
        h = self.after(x)
        gate, up = self.both(h).chunk(2, dim=-1) if self.joined else (self.gate(h), self.up(h))
        return x + self.mlp_norm(self.down(self.active(gate) * up))

    def rotated(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        """All of a head, or as GPT-NeoX and Phi do, the first of it."""
        turn = neighbours_turned if self.neighbours else turned
        if self.part == SIZE:
            return turn(x, cos, sin)
        return torch.cat((turn(x[..., : self.part], cos, sin), x[..., self.part :]), -1)

    def capped(self, q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        """As Gemma 2 writes it out."""
        scores = torch.matmul(q, keys.transpose(2, 3)) * SIZE**-0.5
        scores = torch.tanh(scores / self.cap) * self.cap
        scores = scores + torch.where(seen, 0.0, float("-inf"))
        return torch.matmul(scores.softmax(-1, dtype=torch.float32).to(q.dtype), values)

    def parts(self) -> tuple[tuple[nn.Module, int], ...]:
        return ((self.q, HEADS), (self.k, SHARED), (self.v, SHARED))

    def repeated(self, cache: torch.Tensor) -> torch.Tensor:
        shape = (1, SHARED, HEADS // SHARED, LENGTH, SIZE)
        return cache[:, :, None].expand(shape).reshape(1, HEADS, LENGTH, SIZE)


class Decoder(nn.Module):
    """With a window in every layer but the last where `local` is one, and angles of their own for those."""

    def __init__(self, layers: int = 2, local: int = 0, **options: Any) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, WIDTH)
        own = [{"window": local} if local and number < layers - 1 else {} for number in range(layers)]
        self.layers = nn.ModuleList(Layer(**{**options, **one}) for one in own)
        self.norm, self.head = Norm(plus=options.get("plus", 0.0)), nn.Linear(WIDTH, 50, bias=False)

    def angles(self, at: torch.Tensor, base: float) -> tuple[torch.Tensor, torch.Tensor]:
        angles = at.float()[:, None] * base ** (-torch.arange(SIZE // 2) / (SIZE // 2))
        angles = torch.cat((angles, angles), -1)
        return angles.cos(), angles.sin()

    def forward(self, token: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        usual, others = self.angles(at, 1e4), self.angles(at, 1e6)
        x = self.embed(token)
        for layer in self.layers:
            x = layer(x, at, *(usual if layer.window == LENGTH else others))
        return self.head(self.norm(x))


def passed(
    function: Callable[..., Any], graphs: list[Any], names: tuple[str, ...] = (passes.ONE_ROW,)
) -> Callable[..., Any]:
    """Traced and decomposed as Inductor does, then our passes, then run as it is: no C++ compiler needed."""
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    def inner(module: Any, example: Any) -> Any:
        for name in names:
            inductor_passes.KNOWN[name](module.graph)
        module.graph.lint()
        module.recompile()
        graphs.append(module.graph)
        return make_boxed_func(module.forward)

    torch._dynamo.reset()
    backend = aot_autograd(
        fw_compiler=inner,
        inference_compiler=inner,
        decompositions=select_decomp_table(),
        keep_inference_input_mutations=True,
    )
    compiled: Callable[..., Any] = torch.compile(function, backend=backend)
    return compiled


def ours(graph: Any) -> list[str]:
    return [node.target.__name__.split(".")[0] for node in graph.nodes if is_ours(node)]


def is_ours(node: Any) -> bool:
    return node.op == "call_function" and getattr(node.target, "namespace", "") == "kpt_decode"
