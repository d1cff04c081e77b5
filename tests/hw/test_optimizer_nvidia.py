"""AMDOptimizer on an NVIDIA GPU: every level against fp64, with each step measured; training against a plain loop."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.backends.amd import AMDOptimizer
from kernel_pytorch.models.rewrites import gated, norms
from tests.backends.amd.optimizer import models

pytestmark = pytest.mark.nvidia


def report(optimizer: AMDOptimizer) -> dict[str, Any]:
    summary = optimizer.get_optimization_summary()
    for item in summary["optimizations_applied"]:
        print(f"      + {item['name']}: {'; '.join(item['what'])}; {item['effect_is']}: {item['effect']}")
    for item in summary["optimizations_undone"]:
        print(f"      - {item['name']}: {item['reason']}")
    for item in summary["optimizations_not_applied"]:
        print(f"      . {item['name']} at {item['where']}: {item['reason']}")
    return summary


def check_against_fp64(
    model: Any, example: torch.Tensor, level: str, limit: float, compile: str | None = None
) -> dict[str, Any]:
    exact_model = copy.deepcopy(model).double()
    with torch.no_grad():
        exact = exact_model(example.double() if example.is_floating_point() else example)
        before = (model(example).double() - exact).abs().max().item()
        optimizer = AMDOptimizer()
        optimizer.optimize(model, level, example, compile=compile)
        summary = report(optimizer)
        after = (model(example).double() - exact).abs().max().item()
    scale = exact.abs().max().item()
    print(f"      error against fp64: {before / scale:.3g} before, {after / scale:.3g} after, of the largest output")
    assert after <= max(3 * before, limit * scale), (before, after)
    assert all(item["checked"] and item["effect_is"] == "measured" for item in summary["optimizations_applied"])
    return summary


def transformer(size: int = 512, style: str = "divide") -> Any:
    torch.manual_seed(0)
    return models.TiedTransformer(size=size, tokens=1024, style=style).cuda()


def test_transformer_at_every_level() -> None:
    ids = torch.randint(1024, (8, 512), device="cuda")
    for level in ("conservative", "balanced", "aggressive"):
        for dtype, limit in ((torch.float32, 1e-3), (torch.bfloat16, 3e-2)):
            print(f"    {level}, {dtype}")
            torch._dynamo.reset()
            # The search over kernels takes minutes: one model has it, below.
            summary = check_against_fp64(transformer().to(dtype).eval(), ids, level, limit, "default")
            done = {item["name"] for item in summary["optimizations_applied"] + summary["optimizations_undone"]}
            assert level == "conservative" or {"attention", "projection fusion", "compile"} <= done
            assert level != "aggressive" or {"fused RMS norm", "gated activation", "graph capture"} <= done


def test_small_batches_are_captured() -> None:
    torch._dynamo.reset()
    model = transformer().bfloat16().eval()
    summary = check_against_fp64(model, torch.randint(1024, (1, 64), device="cuda"), "aggressive", 3e-2, "default")
    assert "graph capture" in {item["name"] for item in summary["optimizations_applied"]}
    captured = model._compiled_call_impl
    ids = torch.randint(1024, (1, 64), device="cuda")
    with torch.no_grad():
        before = captured.replays
        found = model(ids)
        assert captured.replays == before + 1
        torch.testing.assert_close(found, captured.function(ids), rtol=0, atol=0)


def test_the_search_over_kernels() -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = models.GatedMLP(size=256).cuda().bfloat16().eval()
    example = torch.randn(64, 256, device="cuda", dtype=torch.bfloat16)
    summary = check_against_fp64(model, example, "aggressive", 3e-2)
    tried = summary["optimizations_applied"] + summary["optimizations_undone"]
    assert "compile" in {item["name"] for item in tried}


def test_masks_on_fused_kernels() -> None:
    for style, length in (("buffer", 32), ("built", 96)):
        model = transformer(style=style).bfloat16().eval()
        ids = torch.randint(1024, (4, length), device="cuda")
        check_against_fp64(model, ids, "balanced", 3e-2)


def test_convolutions() -> None:
    torch.manual_seed(0)
    for dtype, limit in ((torch.float32, 1e-3), (torch.float16, 1e-2)):
        torch._dynamo.reset()
        model = models.ConvNet().cuda().to(dtype).eval()
        summary = check_against_fp64(model, torch.randn(16, 3, 64, 64, device="cuda", dtype=dtype), "balanced", limit)
        tried = summary["optimizations_applied"] + summary["optimizations_undone"]
        assert {"batch norm folding", "channels_last"} <= {item["name"] for item in tried}


def test_triton_kernels_against_fp64() -> None:
    for dtype, limit in ((torch.float32, 1e-5), (torch.float16, 2e-3), (torch.bfloat16, 1.6e-2)):
        for shape in ((3, 16), (2, 5, 1000), (64, 4096), (4, 16384)):
            x, weight = torch.randn(shape, device="cuda").to(dtype), torch.rand(shape[-1], device="cuda").to(dtype)
            exact = nn.functional.rms_norm(x.double(), shape[-1:], weight.double(), 1e-5)
            for order in (norms.ROUND_FIRST, norms.WEIGHT_FIRST):
                with torch.no_grad():
                    result = norms.rms_values(x, weight, 1e-5, order, norms.IN_EAGER_INFERENCE)
                torch.testing.assert_close(result.double(), exact, rtol=limit, atol=limit)
            up = torch.randn_like(x)
            exact = nn.functional.silu(x.double()) * up.double()
            with torch.no_grad():
                result = gated.product(x, up, "silu", gated.IN_EAGER_INFERENCE)
            torch.testing.assert_close(result.double(), exact, rtol=limit, atol=limit)


def test_training_follows_the_plain_loop() -> None:
    ids = torch.randint(1024, (8, 256), device="cuda")
    plain = transformer().train()
    model = copy.deepcopy(plain)
    optimizer = AMDOptimizer()
    optimizer.optimize(model, "aggressive", ids, compile="default", gradient_checkpointing=True)
    summary = report(optimizer)
    assert "gradient checkpointing" in {item["name"] for item in summary["optimizations_applied"]}
    losses: list[list[float]] = []
    for item in (plain, model):
        stepper = torch.optim.AdamW(item.parameters(), lr=1e-3)
        losses.append([])
        for _ in range(20):
            loss = nn.functional.cross_entropy(item(ids).flatten(0, 1), ids.flatten())
            stepper.zero_grad()
            loss.backward()
            stepper.step()
            losses[-1].append(loss.item())
    print(f"      loss of step 20: plain {losses[0][-1]:.4f}, optimized {losses[1][-1]:.4f}")
    torch.testing.assert_close(losses[1], losses[0], rtol=2e-2, atol=2e-2)


def test_checkpointing_is_taken_when_memory_is_short() -> None:
    from kernel_pytorch.core.config import AMDConfig

    ids = torch.randint(1024, (8, 256), device="cuda")
    for fraction, expected in ((0.9, False), (1e-4, True)):
        optimizer = AMDOptimizer(AMDConfig(max_memory_fraction=fraction))
        optimizer.optimize(transformer().train(), "aggressive", ids, compile=False, gradient_checkpointing="auto")
        applied = {item["name"] for item in optimizer.get_optimization_summary()["optimizations_applied"]}
        assert ("gradient checkpointing" in applied) is expected
