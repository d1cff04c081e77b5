"""Public Triton operators and their own kernels against plain torch, for triton_emulate.py.

A case calls the operator of a fetched library as its users do and gives pairs of (what, got, wanted); where a case says
so, gradients too. Nothing of the libraries is kept here. `wanted` is computed by torch in float64 where it can be.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed.tensor  # Liger asks for it without importing it
from torch.nn import functional

Pairs = list[tuple[str, Any, Any]]
HALF, BF16 = torch.float16, torch.bfloat16


@dataclass(frozen=True)
class Case:
    """One operator. `tolerance` is relative to the largest wanted value."""

    name: str
    library: str
    run: Callable[[], Pairs]
    tolerance: float
    uses_dot: bool = False


CASES: list[Case] = []


def case(name: str, library: str, tolerance: float = 2e-5, uses_dot: bool = False) -> Callable[[Any], Any]:
    def register(run: Callable[[], Pairs]) -> Callable[[], Pairs]:
        CASES.append(Case(name, library, run, tolerance, uses_dot))
        return run

    return register


def bare_package(name: str, folder: Path) -> None:
    """A package whose __init__ is not run: those of these libraries import CUDA extensions."""
    module = types.ModuleType(name)
    module.__path__ = [str(folder)]
    sys.modules[name] = module


def prepare(folders: dict[str, Path]) -> None:
    """Make the libraries importable."""
    if "liger" in folders:
        source = folders["liger"] / "src" / "liger_kernel"
        bare_package("liger_kernel", source)
        bare_package("liger_kernel.ops", source / "ops")
    if "mamba" in folders:
        bare_package("mamba_ssm", folders["mamba"] / "mamba_ssm")
    if "flash-attention" in folders:
        bare_package("flash_attn", folders["flash-attention"] / "flash_attn")
    if "fla" in folders:
        bare_package("fla.ops", folders["fla"] / "fla" / "ops")
        bare_package("fla.modules", folders["fla"] / "fla" / "modules")
        sys.path.insert(0, str(folders["fla"]))


def compared(got: Callable[..., Any], wanted: Callable[..., Any], *inputs: Any, wide: bool = True) -> Pairs:
    """Results and, for inputs that ask for one, gradients of both functions; `wanted` in float64 if `wide`."""

    def run(function: Callable[..., Any], values: list[Any]) -> list[tuple[str, Any]]:
        given = [v.detach().clone().requires_grad_(v.requires_grad) if torch.is_tensor(v) else v for v in values]
        results = function(*given)
        outputs = [one for one in (results if isinstance(results, (tuple, list)) else [results]) if one is not None]
        found = [(f"output {index}", one.detach()) for index, one in enumerate(outputs)]
        leaves = [(index, v) for index, v in enumerate(given) if torch.is_tensor(v) and v.requires_grad]
        if leaves:
            generator = torch.Generator().manual_seed(7)
            total: Any = 0
            for one in outputs:
                direction = torch.randn(one.shape, generator=generator)
                total = total + (one * direction.to(one.dtype)).sum()
            total.backward()
            found += [(f"gradient {index}", v.grad) for index, v in leaves]
        return found

    def widened(value: Any) -> Any:
        if not (torch.is_tensor(value) and value.is_floating_point()):
            return value
        return value.detach().double().requires_grad_(value.requires_grad)

    got_all = run(got, list(inputs))
    wanted_all = run(wanted, [widened(v) for v in inputs] if wide else list(inputs))
    return [(name, one, other) for (name, one), (_, other) in zip(got_all, wanted_all, strict=True)]


def rand(*shape: int, dtype: Any = torch.float32, grad: bool = True) -> Any:
    return torch.randn(*shape).to(dtype).requires_grad_(grad)


def angles(tokens: int, width: int) -> tuple[Any, Any]:
    steps = torch.arange(tokens).float()[:, None] * 10000 ** (-torch.arange(0, width, 2).float() / width)
    return steps.cos(), steps.sin()


def turned(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


# ---- linkedin/Liger-Kernel


@case("rms_norm, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    return compared(
        lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-6),
        lambda x, w: functional.rms_norm(x, (500,), w, 1e-6),
        rand(6, 500),
        rand(500),
    )


@case("layer_norm, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    return compared(
        lambda x, w, b: LigerLayerNormFunction.apply(x, w, b, 1e-5),
        lambda x, w, b: functional.layer_norm(x, (300,), w, b, 1e-5),
        rand(5, 300),
        rand(300),
        rand(300),
    )


@case("swiglu, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    return compared(LigerSiLUMulFunction.apply, lambda a, b: functional.silu(a) * b, rand(4, 700), rand(4, 700))


@case("geglu (tanh), forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.geglu import LigerGELUMulFunction

    return compared(
        LigerGELUMulFunction.apply,
        lambda a, b: functional.gelu(a, approximate="tanh") * b,
        rand(4, 333),
        rand(4, 333),
    )


@case("rope, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.rope import LigerRopeFunction

    cos, sin = angles(9, 64)
    tables = torch.cat([cos, cos], -1)[None], torch.cat([sin, sin], -1)[None]
    return compared(
        lambda q, k: LigerRopeFunction.apply(q, k, *tables),
        lambda q, k: (turned(q, cos.double(), sin.double()), turned(k, cos.double(), sin.double())),
        rand(2, 4, 9, 64),
        rand(2, 2, 9, 64),
    )


@case("cross_entropy, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    labels = torch.tensor([3, 700, -100, 0, 41])
    return compared(
        lambda x: LigerCrossEntropyFunction.apply(x, labels, None, -100, 0.0, 0.1, "mean", None, False)[0],
        lambda x: functional.cross_entropy(x, labels, label_smoothing=0.1),
        rand(5, 1003),
    )


@case("softmax, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    return compared(LigerSoftmaxFunction.apply, lambda x: x.softmax(-1), rand(7, 260))


@case("sparsemax, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.sparsemax import LigerSparsemaxFunction

    def plain(x: Any) -> Any:
        ordered = x.sort(-1, descending=True).values
        sums = ordered.cumsum(-1) - 1
        count = torch.arange(1, x.shape[-1] + 1).to(x)
        support = (ordered * count > sums).sum(-1, keepdim=True)
        return (x - sums.gather(-1, support - 1) / support).clamp(min=0)

    return compared(lambda x: LigerSparsemaxFunction.apply(x, -1), plain, rand(5, 100))


@case("kl_div, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.kl_div import LigerKLDivLossFunction

    wanted = torch.randn(4, 200).softmax(-1)
    return compared(
        lambda x: LigerKLDivLossFunction.apply(x.log_softmax(-1), wanted, "batchmean"),
        lambda x: functional.kl_div(x.log_softmax(-1), wanted.to(x), reduction="batchmean"),
        rand(4, 200),
    )


@case("group_norm, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.group_norm import LigerGroupNormFunction

    return compared(
        lambda x, w, b: LigerGroupNormFunction.apply(x, w, b, 12, 3, 1e-5),
        lambda x, w, b: functional.group_norm(x, 3, w, b, 1e-5),
        rand(2, 12, 40),
        rand(12),
        rand(12),
    )


@case("fused_add_rms_norm, forward and backward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.fused_add_rms_norm import LigerFusedAddRMSNormFunction

    return compared(
        lambda x, r, w: LigerFusedAddRMSNormFunction.apply(x, r, w, 1e-6),
        lambda x, r, w: (functional.rms_norm(x + r, (256,), w, 1e-6), x + r),
        rand(5, 256),
        rand(5, 256),
        rand(256),
    )


@case("dyt, forward", "liger")
def _() -> Pairs:
    from liger_kernel.ops.dyt import LigerDyTFunction

    return compared(
        LigerDyTFunction.apply,
        lambda x, alpha, gamma, beta: gamma * torch.tanh(alpha * x) + beta,
        rand(6, 200, grad=False),
        torch.tensor([0.7]),
        rand(200, grad=False),
        rand(200, grad=False),
    )


@case("fused_linear_cross_entropy, forward and backward", "liger", 1e-4)
def _() -> Pairs:
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction

    labels = torch.randint(0, 300, (6,))
    return compared(
        lambda x, w: LigerFusedLinearCrossEntropyFunction.apply(x, w, labels)[0],
        lambda x, w: functional.cross_entropy(x @ w.T, labels),
        rand(6, 64),
        rand(300, 64),
    )


@case("fused_moe (grouped GEMM), forward and backward, bf16", "liger", 3e-2, uses_dot=True)
def _() -> Pairs:
    from liger_kernel.ops.fused_moe import LigerFusedMoEFunction

    tokens, experts, hidden, inner = 12, 3, 64, 32
    scores = torch.randn(tokens, experts).softmax(-1)
    weights, chosen = scores.topk(2, -1)

    def plain(x: Any, gate_up: Any, down: Any, weights: Any) -> Any:
        result = torch.zeros_like(x)
        for expert in range(experts):
            gate, up = (x @ gate_up[expert].T).chunk(2, -1)
            share = (weights * (chosen == expert)).sum(-1, keepdim=True)
            result = result + share * ((functional.silu(gate) * up) @ down[expert].T)
        return result

    return compared(
        lambda x, a, b, w: LigerFusedMoEFunction.apply(x, a, b, chosen.to(torch.int32), w),
        plain,
        rand(tokens, hidden, dtype=BF16),
        (torch.randn(experts, 2 * inner, hidden) / 8).to(BF16).requires_grad_(),
        (torch.randn(experts, hidden, inner) / 8).to(BF16).requires_grad_(),
        weights.to(BF16).requires_grad_(),
    )


@case("fused_neighborhood_attention, forward and backward", "liger", 1e-3, uses_dot=True)
def _() -> Pairs:
    from liger_kernel.ops.fused_neighborhood_attention import LigerFusedNeighborhoodAttentionFunction

    tokens = 40

    def plain(q: Any, k: Any, v: Any) -> Any:
        near = (torch.arange(tokens)[:, None] - torch.arange(tokens)).abs() <= 3
        scores = (q @ k.transpose(-1, -2) / 32**0.5).masked_fill(~near, -float("inf"))
        return scores.softmax(-1) @ v

    return compared(
        lambda q, k, v: LigerFusedNeighborhoodAttentionFunction.apply(q, k, v, 7, 1),
        plain,
        *(rand(1, 2, tokens, 32) for _ in range(3)),
    )


# ---- state-spaces/mamba


@case("rms_norm gated (layernorm_gated), forward and backward", "mamba")
def _() -> Pairs:
    from mamba_ssm.ops.triton.layernorm_gated import rmsnorm_fn

    return compared(
        lambda x, w, z: rmsnorm_fn(x, w, None, z=z, eps=1e-6, norm_before_gate=False),
        lambda x, w, z: functional.rms_norm(x * functional.silu(z), (192,), w, 1e-6),
        rand(5, 192),
        rand(192),
        rand(5, 192),
    )


@case("selective_state_update", "mamba")
def _() -> Pairs:
    from mamba_ssm.ops.triton.selective_state_update import selective_state_update

    state, x, dt = torch.randn(2, 48, 16), torch.randn(2, 48), torch.rand(2, 48)
    a, b, c, d, z = -torch.rand(48, 16), torch.randn(2, 16), torch.randn(2, 16), torch.randn(48), torch.randn(2, 48)

    def plain(state: Any) -> Any:
        step = functional.softplus(dt.double())
        new = state * (step[..., None] * a).exp() + (step * x)[..., None] * b[:, None, :]
        out = (new * c[:, None, :]).sum(-1) + d * x
        return out * functional.silu(z.double()), new

    def emulated(state: Any) -> Any:
        return selective_state_update(state, x, dt, a, b, c, d, z=z, dt_softplus=True), state

    return compared(emulated, plain, state)


def ssd_inputs(dtype: Any) -> list[Any]:
    batch, tokens, heads, width, states = 1, 64, 2, 32, 16
    dt = functional.softplus(torch.randn(batch, tokens, heads) - 2).requires_grad_()
    a = (-torch.rand(heads) - 0.5).requires_grad_()
    b, c = (rand(batch, tokens, 1, states, dtype=dtype) for _ in range(2))
    return [rand(batch, tokens, heads, width, dtype=dtype), dt, a, b, c]


def plain_ssd(x: Any, dt: Any, a: Any, b: Any, c: Any) -> Any:
    state: Any = torch.zeros(x.shape[0], x.shape[2], x.shape[3], b.shape[-1], dtype=x.dtype)
    out = []
    for t in range(x.shape[1]):
        step = dt[:, t, :, None, None]
        state = state * (step * a[:, None, None]).exp() + step * x[:, t, :, :, None] * b[:, t, :, None, :]
        out.append((state * c[:, t, :, None, :]).sum(-1))
    return torch.stack(out, 1)


@case("ssd chunk scan, forward and backward, fp16", "mamba", 2e-2, uses_dot=True)
def _() -> Pairs:
    from mamba_ssm.ops.triton.ssd_combined import mamba_chunk_scan_combined

    return compared(lambda *v: mamba_chunk_scan_combined(*v, chunk_size=32), plain_ssd, *ssd_inputs(HALF))


# ---- Dao-AILab/flash-attention


@case("rotary (interleaved too)", "flash-attention")
def _() -> Pairs:
    from flash_attn.ops.triton.rotary import apply_rotary

    x = torch.randn(2, 11, 3, 64)
    cos, sin = angles(11, 64)
    pairs = torch.stack([x[..., ::2], x[..., 1::2]], -1)
    c, s = cos[:, None], sin[:, None]
    woven = torch.stack([pairs[..., 0] * c - pairs[..., 1] * s, pairs[..., 1] * c + pairs[..., 0] * s], -1).flatten(-2)
    return [
        ("halves", apply_rotary(x, cos, sin), turned(x, c, s)),
        ("interleaved", apply_rotary(x, cos, sin, interleaved=True), woven),
    ]


@case("layer_norm with residual, forward and backward", "flash-attention")
def _() -> Pairs:
    from flash_attn.ops.triton.layer_norm import layer_norm_fn

    return compared(
        lambda x, r, w, b: layer_norm_fn(x, w, b, residual=r, prenorm=True, eps=1e-5),
        lambda x, r, w, b: (functional.layer_norm(x + r, (272,), w, b, 1e-5), x + r),
        rand(5, 272),
        rand(5, 272),
        rand(272),
        rand(272),
    )


@case("cross_entropy, forward and backward", "flash-attention")
def _() -> Pairs:
    from flash_attn.ops.triton.cross_entropy import cross_entropy_loss

    labels = torch.tensor([3, 900, -100, 0])
    return compared(
        lambda x: cross_entropy_loss(x, labels)[0],
        lambda x: functional.cross_entropy(x, labels, reduction="none"),
        rand(4, 1000),
    )


# ---- fla-org/flash-linear-attention


def attention_inputs(dtype: Any, tokens: int = 64, width: int = 32) -> list[Any]:
    return [rand(1, tokens, 2, width, dtype=dtype) for _ in range(3)]


def plain_linear(q: Any, k: Any, v: Any, decay: Any = None) -> Any:
    """Linear attention, with a decay of (batch, tokens, heads, keys) in log space."""
    state: Any = torch.zeros(q.shape[0], q.shape[2], q.shape[3], v.shape[3], dtype=q.dtype)
    out = []
    for t in range(q.shape[1]):
        if decay is not None:
            state = state * decay[:, t, :, :, None].exp()
        state = state + k[:, t, :, :, None] * v[:, t, :, None, :]
        out.append((state * q[:, t, :, :, None]).sum(-2) * q.shape[-1] ** -0.5)
    return torch.stack(out, 1)


@case("chunk_linear_attn, forward and backward, fp16", "fla", 2e-2, uses_dot=True)
def _() -> Pairs:
    from fla.ops.linear_attn.chunk import chunk_linear_attn

    return compared(
        lambda q, k, v: chunk_linear_attn(q, k, v, normalize=False)[0], plain_linear, *attention_inputs(HALF)
    )


@case("chunk_gla (gated), forward and backward, bf16", "fla", 4e-2, uses_dot=True)
def _() -> Pairs:
    from fla.ops.gla.chunk import chunk_gla

    decay = functional.logsigmoid(torch.randn(1, 64, 2, 32) + 2).requires_grad_()
    return compared(lambda q, k, v, g: chunk_gla(q, k, v, g)[0], plain_linear, *attention_inputs(BF16), decay)


@case("fused_recurrent_gla, forward and backward", "fla", 1e-4)
def _() -> Pairs:
    from fla.ops.gla.fused_recurrent import fused_recurrent_gla

    decay = functional.logsigmoid(torch.randn(1, 20, 2, 32) + 2).requires_grad_()
    inputs = attention_inputs(torch.float32, 20)
    return compared(lambda q, k, v, g: fused_recurrent_gla(q, k, v, gk=g)[0], plain_linear, *inputs, decay)


@case("chunk_retention, forward and backward, fp16", "fla", 2e-2, uses_dot=True)
def _() -> Pairs:
    from fla.ops.retention.chunk import chunk_retention

    def plain(q: Any, k: Any, v: Any) -> Any:
        decay = (1 - 2.0 ** (-5.0 - torch.arange(2).double())).log()
        return plain_linear(q, k, v, decay[None, None, :, None].expand(1, q.shape[1], 2, q.shape[3]))

    return compared(lambda q, k, v: chunk_retention(q, k, v)[0], plain, *attention_inputs(HALF))


@case("chunk_delta_rule, forward and backward, bf16", "fla", 4e-2, uses_dot=True)
def _() -> Pairs:
    from fla.ops.delta_rule.chunk import chunk_delta_rule

    q, k, v = attention_inputs(torch.float32)
    k = functional.normalize(k.detach(), dim=-1)
    beta = torch.rand(1, 64, 2)

    def plain(q: Any, k: Any, v: Any, beta: Any) -> Any:
        state: Any = torch.zeros(1, 2, 32, 32, dtype=q.dtype)
        out = []
        for t in range(q.shape[1]):
            seen = (state * k[:, t, :, :, None]).sum(-2)
            state = state + k[:, t, :, :, None] * (beta[:, t, :, None] * (v[:, t] - seen))[:, :, None, :]
            out.append((state * q[:, t, :, :, None]).sum(-2) * 32**-0.5)
        return torch.stack(out, 1)

    inputs = [one.detach().to(BF16).requires_grad_() for one in (q, k, v, beta)]
    return compared(lambda *values: chunk_delta_rule(*values)[0], plain, *inputs)


@case("parallel_attn (flash attention), forward and backward, fp16", "fla", 1e-2, uses_dot=True)
def _() -> Pairs:
    from fla.ops.attn.parallel import parallel_attn

    def plain(q: Any, k: Any, v: Any) -> Any:
        heads_first = (one.transpose(1, 2) for one in (q, k, v))
        return functional.scaled_dot_product_attention(*heads_first, is_causal=True).transpose(1, 2)

    return compared(parallel_attn, plain, *attention_inputs(HALF))


@case("l2norm, forward and backward", "fla")
def _() -> Pairs:
    from fla.modules.l2norm import l2norm

    return compared(l2norm, lambda x: functional.normalize(x, dim=-1), rand(3, 20, 48))


@case("softmax", "fla")
def _() -> Pairs:
    from fla.ops.utils.softmax import softmax_fwd

    return compared(softmax_fwd, lambda x: x.softmax(-1), rand(2, 9, 100, grad=False))


@case("solve_tril (inverse of a triangle), forward", "fla", 1e-3, uses_dot=True)
def _() -> Pairs:
    from fla.ops.utils.solve_tril import solve_tril

    lower = torch.randn(64, 64).tril(-1) / 8
    got = solve_tril(lower[None, :, None, :].contiguous())
    return [("inverse", got[0, :, 0], torch.linalg.inv(torch.eye(64).double() + lower.double()))]


# ---- our own (kernel_pytorch.perf.kernels)


def own_card() -> Any:
    """Launches as they are chosen for the emulated card; a CPU tensor would get those of a small NVIDIA one."""
    from triton.runtime import driver

    from kernel_pytorch.perf.kernels.launch import Card

    target = driver.active.get_current_target()
    return Card("amd", target.warp_size, 4)


def own(function: Callable[[], Pairs]) -> Pairs:
    from kernel_pytorch.perf.kernels import gated, norms, rotary

    card = own_card()
    with (
        mock.patch.object(norms, "card_of", lambda device: card),
        mock.patch.object(gated, "card_of", lambda device: card),
        mock.patch.object(rotary, "card_of", lambda device: card),
    ):
        return function()


def own_norm(length: int, center: bool, residual: bool, dtype: Any) -> Iterator[tuple[str, Any, Any]]:
    from kernel_pytorch.perf.kernels import norms

    rows = 5
    x, dy = (torch.randn(rows, length).to(dtype) for _ in range(2))
    other = torch.randn(rows, length).to(dtype) if residual else None
    weight = torch.randn(length).to(dtype)
    bias = torch.randn(length).to(dtype) if center else None
    y, h, mean, rstd = norms.forward(x, other, weight, bias, 1e-5, 0.0, center=center, round_first=False)
    given = h if h is not None else x
    dx, dweight, dbias = norms.backward(
        dy, None, given, mean, rstd, weight, 0.0, round_first=False, needs_weight=True, needs_bias=center
    )
    inputs = [one.double().requires_grad_() for one in (given, weight)] + [bias.double().requires_grad_()] * center
    if center:
        wanted = functional.layer_norm(inputs[0], (length,), inputs[1], inputs[2], 1e-5)
    else:
        wanted = functional.rms_norm(inputs[0], (length,), inputs[1], 1e-5)
    wanted.backward(dy.double())
    yield "output", y, wanted
    yield "gradient of x", dx, inputs[0].grad
    yield "gradient of weight", dweight, inputs[1].grad
    if center:
        yield "gradient of bias", dbias, inputs[2].grad


@case("rms_norm and layer_norm, with residual and without, long rows", "own")
def _() -> Pairs:
    shapes = ((200, False, False), (200, False, True), (300, True, False), (256, True, True), (33000, True, False))
    return own(lambda: [pair for length, c, r in shapes for pair in own_norm(length, c, r, torch.float32)])


@case("rms_norm, bf16", "own", 2e-2)
def _() -> Pairs:
    return own(lambda: list(own_norm(512, False, True, BF16)))


@case("gated activations (silu, gelu, gelu_tanh), forward and backward", "own")
def _() -> Pairs:
    from kernel_pytorch.perf.kernels import gated

    plain = {"silu": functional.silu, "gelu": functional.gelu}
    plain["gelu_tanh"] = lambda x: functional.gelu(x, approximate="tanh")

    def run() -> Pairs:
        found: Pairs = []
        for kind, function in plain.items():
            gate, up, dout = (torch.randn(3, 500) for _ in range(3))
            left, right = gate.double().requires_grad_(), up.double().requires_grad_()
            wanted = function(left) * right
            wanted.backward(dout.double())
            dgate, dup = gated.backward(dout, gate, up, kind)
            found += [(kind, gated.forward(gate, up, kind), wanted), (kind, dgate, left.grad), (kind, dup, right.grad)]
        return found

    return own(run)


@case("rope, halves and interleaved, forward and backward", "own")
def _() -> Pairs:
    from kernel_pytorch.perf.kernels import rotary

    q, k = torch.randn(2, 4, 7, 72), torch.randn(2, 2, 7, 72)
    cos, sin = angles(7, 64)

    def run() -> Pairs:
        found: Pairs = []
        for interleaved in (False, True):
            out = rotary.rotate(q, k, cos[None], sin[None], 64, interleaved=interleaved, backward=False)
            back = rotary.rotate(*out, cos[None], sin[None], 64, interleaved=interleaved, backward=True)
            found += [(f"there and back {index}", one, other) for index, (one, other) in enumerate(zip(back, (q, k)))]
            if not interleaved:
                wanted = [torch.cat([turned(x[..., :64], cos, sin), x[..., 64:]], -1) for x in (q, k)]
                found += [(f"output {index}", *pair) for index, pair in enumerate(zip(out, wanted))]
        return found

    return own(run)
