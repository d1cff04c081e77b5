"""Runs a project's entry point on the CPU while ROCm is stood in for, so that its ROCm branches really execute.

A child process of `kpt verify`: what it patches in torch is gone with it. Nothing here runs on a GPU, and no timing is
taken. The answer is a JSON file.
"""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path
from typing import Any

from kernel_pytorch.verify.stand_in_torch import present_rocm


def main() -> int:
    """Stand in, run, answer."""
    request = json.loads(sys.argv[1])
    try:
        answer = _run(request)
    except Exception as error:  # whatever the project's code raises is the answer
        answer = {"error": f"{type(error).__name__}: {error}", "not_here": _not_possible_here(error)}
    Path(request["answer"]).write_text(json.dumps(answer))
    return 0


def _run(request: dict[str, Any]) -> dict[str, Any]:
    import torch

    if request["hip"]:
        present_rocm(torch, request["hip"], request["gpu"], request["target"])
    if request["aiter"]:
        sys.modules["aiter"] = _aiter(torch)
    else:
        sys.modules["aiter"] = None  # type: ignore[assignment]
    from kernel_pytorch.core.entry_point import load_subject
    from kernel_pytorch.verify.golden.observe import flat_tensors

    subject = load_subject(request["entry"])
    if request.get("device"):
        subject = _moved(subject, request["device"])
    sizes = []
    outputs: list[Any] = []
    with torch.no_grad():
        for _ in range(request["iterations"]):
            torch.manual_seed(0)
            outputs = flat_tensors(subject())
            sizes.append(_resident_mb())
    trained, why_not = _training_step(subject)
    floats = [tensor.double() for tensor in (*outputs, *trained) if tensor.is_floating_point()]
    bad = sum(int((~torch.isfinite(tensor)).sum()) for tensor in floats)
    half = len(sizes) // 2
    return {
        "iterations": request["iterations"],
        "not_finite": bad,
        # The first half may fill caches; steady memory is what the second half shows.
        "growth_mb": sizes[-1] - sizes[half] if len(sizes) > 2 else 0.0,
        "summary": [_summary(tensor) for tensor in floats],
        "gates": _gates(),
        "backward": why_not or "forward and backward",
    }


def _moved(subject: Any, device: str) -> Any:
    """The same subject, model and inputs on another device."""
    from dataclasses import replace

    import torch
    from torch.utils._pytree import tree_map_only

    owner = getattr(subject.function, "__self__", subject.function)
    if isinstance(owner, torch.nn.Module):
        owner.to(device)
    args, kwargs = tree_map_only(torch.Tensor, lambda one: one.to(device), (subject.args, subject.kwargs))
    return replace(subject, args=tuple(args), kwargs=kwargs)


def _training_step(subject: Any) -> tuple[list[Any], str]:
    """The loss and the gradients of one step; none, and why, where there is no backward pass."""
    from kernel_pytorch.verify.golden.backward import INPUTS, LOSS, WEIGHTS, NoBackward, run_backward
    from kernel_pytorch.verify.golden.record import as_module

    found: list[Any] = []

    def keep(event: Any, gradients: list[Any]) -> None:
        if event.phase in (LOSS.phase, WEIGHTS, INPUTS):
            found.extend(gradients)

    try:
        run_backward(as_module(subject), subject, keep, 0)
    except NoBackward as reason:
        return [], f"forward only: {reason}"
    return found, ""


def _aiter(torch: Any) -> Any:
    """A module with aiter's attention functions, computed by torch on the CPU."""

    def flash_attn_func(
        q: Any,
        k: Any,
        v: Any,
        dropout_p: float = 0.0,
        softmax_scale: float | None = None,
        causal: bool = False,
        **_: Any,
    ) -> Any:
        from torch.nn.functional import scaled_dot_product_attention

        groups = q.shape[2] // k.shape[2]
        k, v = (tensor.repeat_interleave(groups, dim=2) for tensor in (k, v))
        q, k, v = (tensor.transpose(1, 2) for tensor in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, is_causal=causal, scale=softmax_scale)
        return out.transpose(1, 2)

    module = types.ModuleType("aiter")
    module.flash_attn_func = flash_attn_func  # type: ignore[attr-defined]
    return module


def _gates() -> str:
    """The modules of the project whose `IS_ROCM` is true."""
    on = [name for name, module in list(sys.modules.items()) if getattr(module, "IS_ROCM", None) is True]
    return ", ".join(sorted(name for name in on if not name.startswith(("torch", "kernel_pytorch")))[:8])


def _summary(tensor: Any) -> list[float]:
    if not tensor.numel():
        return []
    flat = tensor.reshape(-1)
    return [float(flat.norm()), float(flat.mean()), *(float(value) for value in flat[:8])]


def _resident_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines() if Path("/proc/self/status").exists() else ():
        if line.startswith("VmRSS:"):
            return float(line.split()[1]) / 1024
    return 0.0


def _not_possible_here(error: Exception) -> bool:
    text = str(error)
    if isinstance(error, ModuleNotFoundError) and error.name in ("torch", "safetensors"):
        return True
    return "not compiled with CUDA" in text or "No CUDA GPUs" in text or "Found no NVIDIA driver" in text


if __name__ == "__main__":
    sys.exit(main())
