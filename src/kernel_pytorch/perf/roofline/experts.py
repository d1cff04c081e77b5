"""Mixtures of experts whose operator names its weights: vLLM's and SGLang's fused experts, aiter's and its two stages.

    vllm::inplace_fused_experts(tokens, first weights, second weights, scores, chosen experts, ...)
    aiter::ck_moe_stage1(tokens, first weights, second weights, ..., experts per token, ...)
    aiter::fmoe_g1u1(result, tokens, first weights, second weights, ..., experts per token, ...)

Weights are (experts, columns, K), two to a byte for mxfp4. The first product is twice as wide where it has a gate.
"""

from __future__ import annotations

import re

from kernel_pytorch.perf.roofline.routed import routed_product
from kernel_pytorch.perf.roofline.shapes import Tensor, argument, tensor
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature

_WHOLE = re.compile(r"^(vllm|sglang|sgl_kernel)::\w*fused_experts|^vllm::rocm_aiter_fused_moe|^aiter::fused_moe_?$")
_ONE_KERNEL = re.compile(r"^aiter::fmoe(_g1u1|_fp8_blockscale_g1u1|_g1u1_a16)?$")
_STAGE = re.compile(r"^aiter::(?:ck_moe|moe_cktile2stages_gemm|flydsl_moe)_?(?:stage)?([12])(?:_fwd)?$")
_PACKED = frozenset({"unsigned char", "c10::Float4_e2m1fn_x2"})
_PER_TOKEN_OF_STAGE, _PER_TOKEN_OF_KERNEL = 7, 8


def model(operator: str) -> Model | None:
    """The model of an operator with its namespace; None where it is no such mixture of experts."""
    if _WHOLE.match(operator):
        return _whole
    if _ONE_KERNEL.match(operator):
        return _one_kernel
    return _stage if _STAGE.match(operator) else None


def _whole(signature: Signature) -> Work | None:
    """Sorting, activation and sums are operators of their own inside it."""
    chosen = tensor(signature, 3)
    if chosen is None or len(chosen.shape) != 2:
        return None
    return _both(signature, 0, chosen.shape[1], joint=False)


def _one_kernel(signature: Signature) -> Work | None:
    per_token = argument(signature, _PER_TOKEN_OF_KERNEL)
    return _both(signature, 1, int(per_token), joint=True) if per_token.isdigit() else None


def _both(signature: Signature, at: int, per_token: int, joint: bool) -> Work | None:
    x = tensor(signature, at)
    sizes = _sizes(tensor(signature, at + 1), tensor(signature, at + 2))
    if x is None or sizes is None or len(x.shape) != 2:
        return None
    experts, first, second, weights = sizes
    inputs = "fp8" if weights == "fp8" else "bf16"
    return routed_product(x.shape[0], experts, per_token, (first, second), inputs, weights, summed=joint, joint=joint)


def _stage(signature: Signature) -> Work | None:
    found = _STAGE.match(signature.name)
    x, sizes = tensor(signature, 0), _sizes(tensor(signature, 1), tensor(signature, 2))
    per_token = argument(signature, _PER_TOKEN_OF_STAGE)
    if found is None or x is None or sizes is None or not per_token.isdigit():
        return None
    experts, first, second, weights = sizes
    is_last = found[1] == "2"
    # The second stage's input has a row for each token and each of its experts.
    tokens = x.shape[0] if len(x.shape) == 3 or not is_last else x.shape[0] // int(per_token)
    inputs = "fp8" if "Float8" in x.dtype else "mxfp4" if x.dtype in _PACKED else "bf16"
    product = second if is_last else first
    return routed_product(tokens, experts, int(per_token), (product,), inputs, weights, summed=is_last)


def _sizes(up: Tensor | None, down: Tensor | None) -> tuple[int, tuple[int, int], tuple[int, int], str] | None:
    """Experts, (columns, K) of both products, and the format of the weights."""
    if up is None or down is None or len(up.shape) != 3 or len(down.shape) != 3 or up.shape[0] != down.shape[0]:
        return None
    packed = up.dtype in _PACKED
    weights = "mxfp4" if packed else "fp8" if "Float8" in up.dtype else "bf16" if up.element_bytes == 2 else ""
    each = 2 if packed else 1
    first, second = (up.shape[1], up.shape[2] * each), (down.shape[1], down.shape[2] * each)
    fits = first[1] == second[0] and first[0] in (second[1], 2 * second[1])
    return (up.shape[0], first, second, weights) if weights and fits else None
