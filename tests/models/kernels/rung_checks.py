"""The rungs that swap kernels in, on a small decoder, with Triton's interpreter: what `test_kernel_rungs` asks for.

TRITON_INTERPRET=1 python -m tests.models.kernels.rung_checks
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.kernels import ops
from kernel_pytorch.perf.ladder.rungs.triton_kernels import RUNGS

WIDTH, HEADS = 32, 2


class HandNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH) + 0.5)

    def forward(self, x: Any) -> Any:
        kind = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * x.to(kind)


class HandGELU(nn.Module):
    """An activation of someone's own class: known by what it gives."""

    def forward(self, x: Any) -> Any:
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


def rotate_half(x: Any) -> Any:
    return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        q, k, v = (part(x).view(*x.shape[:2], HEADS, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        q, k = (q * cos) + (rotate_half(q) * sin), (k * cos) + (rotate_half(k) * sin)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).reshape(x.shape))


class Gated(nn.Module):
    def __init__(self, activation: nn.Module) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, 48, bias=False), nn.Linear(WIDTH, 48, bias=False)
        self.down, self.activation = nn.Linear(48, WIDTH, bias=False), activation

    def forward(self, x: Any) -> Any:
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, norm: type[nn.Module], activation: nn.Module) -> None:
        super().__init__()
        self.first, self.second = (norm() for _ in range(2))
        self.attention, self.mlp = Attention(), Gated(activation)

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        residual = x
        x = residual + self.attention(self.first(x), cos, sin)
        residual = x
        return residual + self.mlp(self.second(x))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layers = (lambda: nn.LayerNorm(WIDTH), lambda: nn.RMSNorm(WIDTH, eps=1e-5), HandNorm)
        activations = (nn.SiLU(), nn.GELU(), HandGELU())
        pairs = zip(layers, activations, strict=True)
        self.blocks = nn.ModuleList(Block(norm, active) for norm, active in pairs)  # type: ignore[arg-type]
        self.last = HandNorm()

    def forward(self, x: Any, cos: Any, sin: Any) -> Any:
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.last(x)


FOUND = {
    "add_norm_kernels": "add and layer norm as one Triton kernel; 2 x add and rms norm as one Triton kernel",
    "norm_kernels": ("LayerNorm as one", "RMSNorm as one", "2 x HandNorm as one"),
    "gated_kernels": ("silu(gate)", "gelu_erf(gate)", "gelu_tanh(gate)"),
    "rope_kernel": "3 x rotary embedding of q and k as one",
}


class Counted:
    """Which operators are called, with what they are called."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.real = {name: operator.kernel for name, operator in ops._by_name().items()}

    def __enter__(self) -> list[str]:
        table = ops._by_name()
        for name, operator in table.items():
            table[name] = operator._replace(kernel=self._counting(name))
        ops._functions.cache_clear()
        return self.names

    def __exit__(self, *_: Any) -> None:
        ops._by_name.cache_clear()
        ops._functions.cache_clear()

    def _counting(self, name: str) -> Any:
        def run(*args: Any) -> Any:
            self.names.append(name)
            return self.real[name](*args)

        return run


def check(training: bool) -> None:
    torch.manual_seed(0)
    model = Decoder().train(training)
    angles = torch.randn(1, 4, WIDTH // HEADS)
    inputs = Inputs((torch.randn(1, 4, WIDTH), angles.cos(), angles.sin()))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    swapped: Any = model
    for rung in RUNGS:
        words = rung.find(swapped, inputs)
        wanted = FOUND[rung.name]
        assert all(part in words for part in ((wanted,) if isinstance(wanted, str) else wanted)), words
        swapped = rung.apply(swapped, inputs, {"force": True})
    assert swapped is not model and all(
        one is other for one, other in zip(model.parameters(), swapped.parameters(), strict=True)
    )
    assert list(swapped.state_dict()) == list(before)
    expected = inputs.call(model)
    with Counted() as names:
        result = inputs.call(model)
        assert names == [], "the given model was changed"
        result = inputs.call(swapped)
        forward = sorted(names)
        if training:
            grads = torch.autograd.grad(result.square().sum(), list(swapped.parameters()))
            exact = torch.autograd.grad(expected.square().sum(), list(model.parameters()))
            for got, want in zip(grads, exact, strict=True):
                torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
            assert sorted(names).count("norm_backward") == 7
    kinds = {name: forward.count(name) for name in forward}
    assert kinds == {
        "add_layer_norm": 1, "add_rms_norm": 2, "gated": 3, "layer_norm": 1, "rms_norm": 3, "rope": 3
    }, kinds  # fmt: skip
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-5)

    torch._dynamo.reset()
    compiled = torch.compile(swapped, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(inputs.call(compiled), expected, rtol=1e-5, atol=1e-5)
    copied = copy.deepcopy(swapped)
    with torch.no_grad():
        copied.last.weight.mul_(2.0)
        torch.testing.assert_close(inputs.call(copied), 2 * expected, rtol=1e-4, atol=1e-5)
        model.last.weight.mul_(3.0)  # one parameter in both trees
        torch.testing.assert_close(inputs.call(swapped), 3 * expected, rtol=1e-4, atol=1e-5)


def check_hooks_are_kept() -> None:
    """A norm with a hook on it is left alone, also when the hook comes later."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.LayerNorm(WIDTH)).eval()
    inputs = Inputs((torch.randn(2, WIDTH),))
    swapped = RUNGS[1].apply(model, inputs, {"force": True})
    calls: list[int] = []
    swapped[0].register_forward_hook(lambda *_: calls.append(1))
    inputs.call(swapped)
    assert calls == [1]
    model[0].register_forward_hook(lambda *_: calls.append(2))
    try:
        RUNGS[1].find(model, inputs)
    except NotApplicable:
        return
    raise AssertionError("a norm with a hook was swapped")


if __name__ == "__main__":
    check(training=False)
    check(training=True)
    check_hooks_are_kept()
    print("done")
