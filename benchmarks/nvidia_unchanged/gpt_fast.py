"""gpt-fast: generate.py of the dense and the mixture-of-experts model, from a random checkpoint; the first compiled.

The tokenizer is a stand-in: the prompt is random numbers, and nothing is decoded.
"""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path

import torch

NEW_TOKENS = 24


def run(tree: Path, device: str) -> dict[str, object]:
    compiled = device == "cuda"
    results: dict[str, object] = {}
    for name, folder in (("generate.py", tree), ("mixtral-moe/generate.py", tree / "mixtral-moe")):
        for module in ("model", "generate", "tokenizer", "quantize", "tp"):
            sys.modules.pop(module, None)
        sys.path.insert(0, str(folder))
        _stand_in_tokenizer()
        generate = importlib.import_module("generate")
        network = importlib.import_module("model")
        # Compiled, the second one fails on torch 2.11, the original too: the next replay overwrites its tokens.
        tokens, logits = _decode(generate, network, device, compiled and folder == tree, dense=folder == tree)
        results[f"{name}: tokens"] = tokens
        results[f"{name}: logits"] = logits
        sys.path.remove(str(folder))
        torch._dynamo.reset()
    inductor = importlib.import_module("torch._inductor.config")
    results["inductor settings"] = (inductor.coordinate_descent_tuning, inductor.triton.cudagraphs)
    return results


def _stand_in_tokenizer() -> None:
    for name in ("sentencepiece", "tiktoken", "tiktoken.load"):
        module = types.ModuleType(name)
        module.SentencePieceProcessor = object
        module.load_tiktoken_bpe = object
        sys.modules[name] = module


def _decode(
    generate: types.ModuleType, network: types.ModuleType, device: str, compiled: bool, dense: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """The repository's main(), with its loader and tokenizer stood in for; what it printed is what it generated."""
    sizes = {"block_size": 256, "vocab_size": 512, "n_layer": 4, "n_head": 8, "dim": 512, "intermediate_size": 1024}
    torch.manual_seed(1)
    model = network.Transformer(network.ModelArgs(**sizes, **({} if dense else {"num_experts": 4})))
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.05)
    model = model.to(device, torch.bfloat16).eval()
    seen: list[torch.Tensor] = []

    class Tokenizer:
        def bos_id(self) -> int:
            return 1

        def encode(self, text: str) -> list[int]:
            return [ord(letter) for letter in text]

        def decode(self, tokens: list[int]) -> str:
            seen.append(torch.tensor(tokens))
            return ""

    generate._load_model = lambda *_: model
    generate.get_tokenizer = lambda *_: Tokenizer()
    generate.SentencePieceProcessor = lambda **_: Tokenizer()
    generate.args = types.SimpleNamespace(compile_prefill=False)  # main() of the second reads the script's
    checkpoint = Path(__file__)  # it must exist, and is not read
    (checkpoint.parent / "tokenizer.model").touch()
    common = {"prompt": "Hello, my name is", "num_samples": 2, "max_new_tokens": NEW_TOKENS, "top_k": 50}
    generate.main(**common, checkpoint_path=checkpoint, compile=compiled, device=device)
    (checkpoint.parent / "tokenizer.model").unlink(missing_ok=True)
    with torch.no_grad():
        places = torch.arange(8, device=device)
        logits = model(torch.arange(8, device=device)[None], places)
    return torch.stack(seen), logits
