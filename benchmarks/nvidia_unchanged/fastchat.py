"""FastChat: its two replacements of Llama's attention, with a flash-attn of eager torch in the library's place."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import torch


def run(tree: Path, device: str) -> dict[str, object]:
    package = types.ModuleType("fastchat")  # its __init__ is not needed, and drags in a server
    package.__path__ = [str(tree / "fastchat")]
    sys.modules["fastchat"] = package
    importlib.import_module("transformers.models.llama.modeling_llama")  # before it could find a flash-attn
    _stand_in_flash_attn()
    results: dict[str, object] = {}
    for name in ("llama_flash_attn_monkey_patch", "llama2_flash_attn_monkey_patch"):
        module = importlib.import_module(f"fastchat.train.{name}")
        torch.manual_seed(3)
        layer = _Attention().to(device, torch.bfloat16)
        x = torch.randn(2, 32, 256, device=device, dtype=torch.bfloat16, requires_grad=True)
        places = torch.arange(32, device=device)[None].expand(2, -1)
        mask = torch.ones(2, 32, dtype=torch.bool, device=device)
        mask[1, 20:] = False
        for kind, given in (("full", None), ("padded", mask)):
            out, _, _ = module.forward(layer, x, attention_mask=given, position_ids=places)
            (gradient,) = torch.autograd.grad(out.float().square().mean(), x)
            results[f"{name}: {kind}"] = out
            results[f"{name}: {kind}, gradient"] = gradient
        results[f"{name}: flash-attn"] = getattr(module, "flash_attn_version", "not asked")
    return results


class _Attention(torch.nn.Module):
    num_heads, head_dim = 4, 64

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (torch.nn.Linear(256, 256, bias=False) for _ in range(4))

    def rotary_emb(self, value: torch.Tensor, seq_len: int) -> tuple[torch.Tensor, torch.Tensor]:
        angle = torch.arange(seq_len, device=value.device)[:, None] / 10000 ** (
            torch.arange(32, device=value.device) / 32
        )
        angle = torch.cat([angle, angle], -1)
        cos, sin = angle.cos().to(value.dtype), angle.sin().to(value.dtype)
        # One patch gathers from (1, 1, length, size), the other wants (batch, length, size).
        return (cos[None, None], sin[None, None]) if value.shape[1] == seq_len else (cos[None], sin[None])


def _stand_in_flash_attn() -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (item.transpose(0, 1) for item in (q, k, v))
        score = (q @ k.transpose(1, 2)).float() / q.shape[-1] ** 0.5
        mask = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool, device=q.device).tril(k.shape[1] - q.shape[1])
        return (score.masked_fill(~mask, float("-inf")).softmax(-1).to(v.dtype) @ v).transpose(0, 1)

    def flash_attn_func(q, k, v, *_, **__):  # type: ignore[no-untyped-def]
        return torch.stack([attend(*one) for one in zip(q, k, v, strict=True)])

    def kvpacked(q, kv, q_ends, k_ends, *_, **__):  # type: ignore[no-untyped-def]
        parts = []
        for at in range(len(q_ends) - 1):
            keys = kv[k_ends[at] : k_ends[at + 1]]
            parts.append(attend(q[q_ends[at] : q_ends[at + 1]], keys[:, 0], keys[:, 1]))
        return torch.cat(parts)

    def qkvpacked(qkv, ends, *_, **__):  # type: ignore[no-untyped-def]
        return kvpacked(qkv[:, 0], qkv[:, 1:], ends, ends)

    def unpad_input(x, mask):  # type: ignore[no-untyped-def]
        lengths = mask.sum(-1, dtype=torch.int32)
        indices = mask.flatten().nonzero().flatten()
        ends = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
        return x.flatten(0, 1)[indices], indices, ends, int(lengths.max())

    def pad_input(x, indices, batch, length):  # type: ignore[no-untyped-def]
        out = x.new_zeros(batch * length, *x.shape[1:])
        return out.index_copy(0, indices, x).view(batch, length, *x.shape[1:])

    contents = {
        "flash_attn": {"__version__": "2.8.0"},
        "flash_attn.bert_padding": {"pad_input": pad_input, "unpad_input": unpad_input},
        "flash_attn.flash_attn_interface": {
            "flash_attn_func": flash_attn_func,
            "flash_attn_varlen_kvpacked_func": kvpacked,
            "flash_attn_varlen_qkvpacked_func": qkvpacked,
        },
    }
    for name, things in contents.items():
        module = types.ModuleType(name)
        vars(module).update(things)
        sys.modules[name] = module
