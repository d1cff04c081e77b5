"""openpi: the PyTorch policy (PI0Pytorch), two layers deep, with random weights: one training step and one sampling.

Needs transformers 4.53.2 with openpi's own files copied over it, as openpi's README says (`--python-path`). The JAX
half of openpi, which the policy imports only for the names of its configurations, is stood in for.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import torch


def run(tree: Path, device: str) -> dict[str, object]:
    _stand_in_jax_half(tree)
    policy = importlib.import_module("openpi.models_pytorch.pi0_pytorch")
    config = SimpleNamespace(
        pi05=False, paligemma_variant="vision", action_expert_variant="expert",
        dtype="bfloat16" if device == "cuda" else "float32",
        action_dim=32, action_horizon=16, pytorch_compile_mode="default" if device == "cuda" else None,
    )  # fmt: skip
    torch.manual_seed(4)
    with torch.device(device):
        model = policy.PI0Pytorch(config)
    # Dropout has its own generator; the numbers are the same in every process.
    model.train()
    batch = 2 if device == "cuda" else 1
    observation = _observation(batch, device)
    actions = torch.randn(batch, 16, 32, device=device)
    noise = torch.randn(batch, 16, 32, device=device)
    moment = torch.full((batch,), 0.25, device=device)
    loss = model(observation, actions, noise=noise, time=moment)
    loss.mean().backward()
    gradients = [item.grad.flatten()[:4096].float() for item in model.parameters() if item.grad is not None]
    model.eval()
    sampled = model.sample_actions(
        torch.device(device), observation, noise=noise, num_steps=4 if device == "cuda" else 1
    )
    return {
        "training: loss": loss,
        "training: gradients": torch.cat(gradients),
        "sample_actions, compiled": sampled,
        "matmul precision": torch.get_float32_matmul_precision(),
    }


def _observation(batch: int, device: str) -> SimpleNamespace:
    keys = ("base_0_rgb", "left_wrist_0_rgb", "right_wrist_0_rgb")
    return SimpleNamespace(
        images={key: torch.rand(batch, 3, 224, 224, device=device) * 2 - 1 for key in keys},
        image_masks={key: torch.ones(batch, dtype=torch.bool, device=device) for key in keys},
        state=torch.randn(batch, 32, device=device),
        tokenized_prompt=torch.randint(0, 1000, (batch, 12), device=device),
        tokenized_prompt_mask=torch.ones(batch, 12, dtype=torch.bool, device=device),
        token_ar_mask=None,
        token_loss_mask=None,
    )


def _stand_in_jax_half(tree: Path) -> None:
    sizes = {
        "vision": SimpleNamespace(width=2048, depth=2, mlp_dim=4096, num_heads=8, num_kv_heads=1, head_dim=256),
        "expert": SimpleNamespace(width=1024, depth=2, mlp_dim=2048, num_heads=8, num_kv_heads=1, head_dim=256),
    }
    for name in ("openpi", "openpi.models", "openpi.shared", "openpi.models_pytorch"):
        package = types.ModuleType(name)
        package.__path__ = [str(tree / "src" / Path(*name.split(".")))]
        sys.modules[name] = package
    gemma = types.ModuleType("openpi.models.gemma")
    gemma.get_config = sizes.__getitem__
    tools = types.ModuleType("openpi.shared.image_tools")
    for name, module in (("openpi.models.gemma", gemma), ("openpi.shared.image_tools", tools)):
        sys.modules[name] = module
        setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], module)
