"""Cases of triton_emulate.py: operators of linkedin/Liger-Kernel."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from triton_emulate_cases import BF16, Pairs, angles, case, compared, rand, turned


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


@case("fused_moe (grouped GEMM), forward and backward, bf16", "liger", 3e-2)
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


@case("fused_neighborhood_attention, forward and backward (TF32 where the GPU has it)", "liger", 5e-3)
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
