"""Cases of triton_emulate.py: state-spaces/mamba, Dao-AILab/flash-attention and fla-org/flash-linear-attention."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from triton_emulate_cases import BF16, HALF, Pairs, angles, case, compared, rand, turned

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
    bias = torch.randn(48)

    def plain(state: Any) -> Any:
        step = functional.softplus((dt + bias).double())
        new = state * (step[..., None] * a).exp() + (step * x)[..., None] * b[:, None, :]
        out = (new * c[:, None, :]).sum(-1) + d * x
        return out * functional.silu(z.double()), new

    def emulated(state: Any) -> Any:
        return selective_state_update(state, x, dt, a, b, c, d, z=z, dt_bias=bias, dt_softplus=True), state

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


@case("ssd chunk scan, forward and backward, fp16", "mamba", 2e-2)
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


@case("chunk_linear_attn, forward and backward, fp16", "fla", 2e-2)
def _() -> Pairs:
    from fla.ops.linear_attn.chunk import chunk_linear_attn

    return compared(
        lambda q, k, v: chunk_linear_attn(q, k, v, normalize=False)[0], plain_linear, *attention_inputs(HALF)
    )


@case("chunk_gla (gated), forward and backward, bf16", "fla", 4e-2)
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


@case("chunk_retention, forward and backward, fp16", "fla", 2e-2)
def _() -> Pairs:
    from fla.ops.retention.chunk import chunk_retention

    def plain(q: Any, k: Any, v: Any) -> Any:
        decay = (1 - 2.0 ** (-5.0 - torch.arange(2).double())).log()
        return plain_linear(q, k, v, decay[None, None, :, None].expand(1, q.shape[1], 2, q.shape[3]))

    return compared(lambda q, k, v: chunk_retention(q, k, v)[0], plain, *attention_inputs(HALF))


@case("chunk_delta_rule, forward and backward, bf16", "fla", 4e-2)
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


@case("parallel_attn (flash attention), forward and backward, fp16", "fla", 1e-2)
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


@case("solve_tril (inverse of a triangle)", "fla", 1e-3)
def _() -> Pairs:
    from fla.ops.utils.solve_tril import solve_tril

    lower = torch.randn(64, 64).tril(-1) / 8
    got = solve_tril(lower[None, :, None, :].contiguous())
    return [("inverse", got[0, :, 0], torch.linalg.inv(torch.eye(64).double() + lower.double()))]
