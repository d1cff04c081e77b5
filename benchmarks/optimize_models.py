"""Models to optimise: transformers' own with random weights, a DiT and a model of tiny operators in plain torch.

    kpt optimize benchmarks/optimize_models.py:decoder_one_token

Each function returns {"model", "inputs"} on the GPU in bf16 (on a CPU in fp32). KPT_TINY=1 makes them small enough to
try the scripts on a CPU. The shapes are those of published models: see each docstring.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Made = dict[str, Any]


def is_tiny() -> bool:
    """Sizes for trying, not for measuring."""
    return os.environ.get("KPT_TINY", "") == "1"


def _where() -> tuple[torch.device, torch.dtype]:
    if torch.cuda.is_available():
        return torch.device("cuda"), torch.bfloat16
    return torch.device("cpu"), torch.float32


def _made(model: nn.Module, inputs: Any) -> Made:
    device, dtype = _where()

    def placed(value: torch.Tensor) -> torch.Tensor:
        return value.to(device, dtype if value.is_floating_point() else None)

    inputs = {k: placed(v) for k, v in inputs.items()} if isinstance(inputs, dict) else tuple(map(placed, inputs))
    return {"model": model.eval().requires_grad_(False).to(device, dtype), "inputs": inputs}


def _built(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Made where it will run: random numbers for a billion weights take a minute on a CPU."""
    device, dtype = _where()
    torch.manual_seed(seed)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device:
            return make()
    finally:
        torch.set_default_dtype(before)


def _llama() -> Any:
    """TinyLlama 1.1B: 22 layers of 2048, 32 heads over 4 key-value heads."""
    from transformers import LlamaConfig

    sizes = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32}
    if is_tiny():
        sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8}
    return LlamaConfig(
        **sizes,
        vocab_size=512 if is_tiny() else 32000,
        num_key_value_heads=4,
        max_position_embeddings=2048,
        use_cache=False,
        attn_implementation="sdpa",
    )


def decoder_prefill(batch: int = 1, length: int = 512) -> Made:
    """The 1.1B Llama-shaped decoder over a prompt."""
    from transformers import LlamaForCausalLM

    config = _llama()
    model = _built(lambda: LlamaForCausalLM(config), 1)
    length = 16 if is_tiny() else length
    return _made(model, {"input_ids": torch.randint(0, config.vocab_size, (batch, length))})


class OneToken(nn.Module):
    """One step of decoding with transformers' static cache: token and position in, logits out.

    Calling it again with the same position does the same again: the cache keeps no count of its own.
    """

    def __init__(self, model: nn.Module, cache: Any) -> None:
        super().__init__()
        self.model, self.cache = model, cache

    def forward(self, input_ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        for layer in self.cache.layers:
            layer.cumulative_length = position
        output = self.model(input_ids, past_key_values=self.cache, position_ids=position.view(1, 1), use_cache=True)
        logits: torch.Tensor = output.logits
        return logits


def _static_cache(config: Any, batch: int, length: int) -> Any:
    from transformers.cache_utils import Cache, StaticLayer

    class Layer(StaticLayer):
        """transformers' static layer, written where the position says, in whatever precision the model has now."""

        def update(
            self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
        ) -> tuple[torch.Tensor, torch.Tensor]:
            position = self.cumulative_length.view(1)
            self.keys.index_copy_(2, position, key_states.to(self.keys.dtype))
            self.values.index_copy_(2, position, value_states.to(self.values.dtype))
            return self.keys.to(key_states.dtype), self.values.to(value_states.dtype)

    device, dtype = _where()
    layers = []
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    for _ in range(config.num_hidden_layers):
        layer = Layer(max_cache_len=length)
        shape = (batch, config.num_key_value_heads, 1, size)
        layer.lazy_initialization(
            torch.zeros(shape, device=device, dtype=dtype), torch.zeros(shape, device=device, dtype=dtype)
        )
        layer.keys.normal_()
        layer.values.normal_()
        layers.append(layer)
    return Cache(layers=layers)


def decoder_one_token(batch: int = 1, length: int = 512) -> Made:
    """The same decoder, one token more after 300 in a cache of 512."""
    from transformers import LlamaForCausalLM

    config = _llama()
    model = _built(lambda: LlamaForCausalLM(config), 1)
    length = 32 if is_tiny() else length
    step = OneToken(model, _static_cache(config, batch, length))
    return _made(step, (torch.randint(0, config.vocab_size, (batch, 1)), torch.tensor([length * 300 // 512])))


def one_token_of(family: str, sizes: dict[str, Any], batch: int = 1, length: int = 512, context: int = 300) -> Made:
    """One step of decoding of one of transformers' decoders, after `context` tokens in a cache of `length`."""
    import transformers

    sizes = {"attn_implementation": "sdpa", "max_position_embeddings": max(2048, length), **sizes}
    if is_tiny():
        sizes |= {
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_hidden_layers": 2,
            "vocab_size": 512,
            "head_dim": 16,
        }
        sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2}
    config = getattr(transformers, f"{family}Config")(**sizes)
    model = _built(lambda: getattr(transformers, f"{family}ForCausalLM")(config), 8)
    step = OneToken(model, _static_cache(config, batch, length))
    return _made(step, (torch.randint(0, config.vocab_size, (batch, 1)), torch.tensor([context])))


def sizes_of(hidden: int, wide: int, layers: int, heads: int, shared: int, words: int, **more: Any) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "intermediate_size": wide,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": shared,
        "vocab_size": words,
        **more,
    }


LLAMA_32_1B = sizes_of(2048, 8192, 16, 32, 8, 128256, head_dim=64, tie_word_embeddings=True)
LLAMA_32_3B = sizes_of(3072, 8192, 28, 24, 8, 128256, head_dim=128, tie_word_embeddings=True)
LLAMA_3_8B = sizes_of(4096, 14336, 32, 32, 8, 128256, head_dim=128)
QWEN3_06B = sizes_of(1024, 3072, 28, 16, 8, 151936, head_dim=128, tie_word_embeddings=True)
QWEN2_05B = sizes_of(896, 4864, 24, 14, 2, 151936, tie_word_embeddings=True)
MISTRAL_7B_4 = sizes_of(4096, 14336, 4, 32, 8, 32768, head_dim=128)


def encoder_of(family: str, batch: int = 1, length: int = 128, **sizes: Any) -> Made:
    """One of transformers' text encoders with its own default sizes."""
    import transformers

    config = getattr(transformers, f"{family}Config")(attn_implementation="sdpa", **sizes)
    ids = torch.randint(5, config.vocab_size, (batch, length))
    model = _built(lambda: getattr(transformers, f"{family}Model")(config), 9)
    return _made(model, {"input_ids": ids, "attention_mask": torch.ones_like(ids)})


def image_model_of(family: str, batch: int = 8, size: int = 224, **sizes: Any) -> Made:
    """One of transformers' image models with its own default sizes."""
    import transformers

    config = getattr(transformers, f"{family}Config")(**sizes)
    model = _built(lambda: getattr(transformers, f"{family}Model")(config), 10)
    return _made(model, {"pixel_values": torch.randn(batch, 3, size, size)})


def clip_text(batch: int = 4) -> Made:
    """CLIP's text tower, 77 tokens."""
    return encoder_of("CLIPText", batch, 77)


def wav2vec2(seconds: int = 2) -> Made:
    """wav2vec 2.0 base on audio of 16 kHz."""
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    config = Wav2Vec2Config(attn_implementation="sdpa")
    return _made(_built(lambda: Wav2Vec2Model(config), 11), (torch.randn(1, 16000 * seconds),))


def vit_base(batch: int = 8) -> Made:
    """ViT-base/16, 224 x 224."""
    from transformers import ViTConfig, ViTForImageClassification

    tiny = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "image_size": 32,
    }
    config = ViTConfig(**(tiny if is_tiny() else {}), num_labels=1000, attn_implementation="sdpa")
    return _made(
        _built(lambda: ViTForImageClassification(config), 2),
        (torch.randn(batch, 3, config.image_size, config.image_size),),
    )


def siglip_base(batch: int = 8) -> Made:
    """SigLIP-base/16's image tower, 224 x 224."""
    from transformers import SiglipVisionConfig, SiglipVisionModel

    tiny = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "image_size": 32,
    }
    config = SiglipVisionConfig(**(tiny if is_tiny() else {}), attn_implementation="sdpa")
    return _made(
        _built(lambda: SiglipVisionModel(config), 3), (torch.randn(batch, 3, config.image_size, config.image_size),)
    )


def bert_base(batch: int = 1, length: int = 128) -> Made:
    """BERT-base over 128 tokens."""
    from transformers import BertConfig, BertModel

    tiny = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 128,
        "vocab_size": 512,
    }
    config = BertConfig(**(tiny if is_tiny() else {}), attn_implementation="sdpa")
    length = 16 if is_tiny() else length
    ids = torch.randint(0, config.vocab_size, (batch, length))
    return _made(_built(lambda: BertModel(config), 4), {"input_ids": ids, "attention_mask": torch.ones_like(ids)})


class DiTBlock(nn.Module):
    """Attention and MLP of a diffusion transformer, shifted, scaled and gated by the time step."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
        self.modulation = nn.Linear(width, 6 * width)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        shift1, scale1, gate1, shift2, scale2, gate2 = self.modulation(functional.silu(time))[:, None].chunk(6, dim=-1)
        h = self.norm1(x) * (1 + scale1) + shift1
        q, k, v = (part(h).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        attended = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + gate1 * self.out(attended)
        return x + gate2 * self.mlp(self.norm2(x) * (1 + scale2) + shift2)


class DiT(nn.Module):
    """Blocks one after another."""

    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(DiTBlock(width, heads) for _ in range(layers))

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, time)
        return x


def dit(batch: int = 2) -> Made:
    """Four blocks of DiT-XL/2: 1152 wide, 16 heads, 256 tokens; a batch of 2 is one image with guidance."""
    width, heads, layers, length = (64, 4, 2, 16) if is_tiny() else (1152, 16, 4, 256)
    return _made(
        _built(lambda: DiT(width, heads, layers), 5), (torch.randn(batch, length, width), torch.randn(batch, width))
    )


def conv_net(batch: int = 1) -> Made:
    """ResNet-18, 224 x 224."""
    from transformers import ResNetConfig, ResNetForImageClassification

    tiny = {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]}
    full = {"embedding_size": 64, "hidden_sizes": [64, 128, 256, 512], "depths": [2, 2, 2, 2]}
    config = ResNetConfig(**(tiny if is_tiny() else full), layer_type="basic", num_labels=1000)
    size = 32 if is_tiny() else 224
    model = _built(lambda: ResNetForImageClassification(config), 6)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)  # type: ignore[union-attr]
            module.running_var.uniform_(0.5, 1.5)  # type: ignore[union-attr]
    return _made(model, (torch.randn(batch, 3, size, size),))


class TinyStep(nn.Module):
    """A gated unit on a vector of 64: what a small policy or a recurrent cell does, many times a call."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide, self.gate, self.back = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        h = torch.tanh(self.wide(h)) * torch.sigmoid(self.gate(h))
        return x + self.back(h).clamp(-4, 4)


class TinyOperators(nn.Module):
    """Steps one after another: hundreds of kernels of a microsecond."""

    def __init__(self, width: int, steps: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(TinyStep(width) for _ in range(steps))
        self.head = nn.Linear(width, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for step in self.steps:
            x = step(x)
        return torch.softmax(self.head(x).float(), dim=-1)


def tiny_operators(batch: int = 4) -> Made:
    """48 gated steps on vectors of 64."""
    return _made(_built(lambda: TinyOperators(64, 2 if is_tiny() else 48), 7), (torch.randn(batch, 64),))


MODELS: dict[str, Callable[[], Made]] = {
    "decoder 1.1B, one token, batch 1": decoder_one_token,
    "tiny operators, batch 4": tiny_operators,
    "BERT-base, 1x128": bert_base,
    "decoder 1.1B, prefill 1x512": decoder_prefill,
    "ViT-base, batch 8": vit_base,
    "conv net (ResNet-18), batch 1": conv_net,
    "DiT-XL/2, 4 blocks, batch 2": dit,
    "decoder 1.1B, one token, batch 16": partial(decoder_one_token, 16),
    "BERT-base, 32x128": partial(bert_base, 32),
    "conv net (ResNet-18), batch 64": partial(conv_net, 64),
    "DiT-XL/2, 4 blocks, batch 16": partial(dit, 16),
    "ViT-base, batch 1": partial(vit_base, 1),
    "SigLIP-base, batch 32": partial(siglip_base, 32),
    "tiny operators, batch 256": partial(tiny_operators, 256),
    "decoder 1.1B, prefill 8x512": partial(decoder_prefill, 8),
}

# Not used while the ladder was written: climbed once, as they are.
NEW_MODELS: dict[str, Callable[[], Made]] = {
    "Llama-3.2-1B, one token": partial(one_token_of, "Llama", LLAMA_32_1B),
    "Llama-3.2-3B, one token": partial(one_token_of, "Llama", LLAMA_32_3B),
    "Llama-3-8B, one token": partial(one_token_of, "Llama", LLAMA_3_8B),
    "Qwen3-0.6B, one token": partial(one_token_of, "Qwen3", QWEN3_06B),
    "Qwen2-0.5B, one token": partial(one_token_of, "Qwen2", QWEN2_05B),
    "RoBERTa-base, 4x128": partial(encoder_of, "Roberta", 4),
    "CLIP text, 4x77": clip_text,
    "Swin-tiny, batch 8": partial(image_model_of, "Swin"),
    "SegFormer-b0, batch 4": partial(image_model_of, "Segformer", 4, 512),
    "wav2vec2-base, 2 s": wav2vec2,
}
MODELS |= NEW_MODELS
