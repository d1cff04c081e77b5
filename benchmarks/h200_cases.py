"""The operators that h200_times.py measures: plain data, so that the split can be read and tested without torch.

The split is by model, as that of the traces is: shapes come out of published configurations, of which some are for the
fit and the others for the test. A call that both sides would have is left out of the test. The numbers of tokens
differ between the sides, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

FIT, TEST = "fit", "test"
SMALL_TOKENS = 64  # up to here a call is measured a second time, on a GPU that was idle
LARGEST_CACHE = 1 << 34  # bytes of keys and values that a case may take


@dataclass(frozen=True)
class Case:
    """One call. `shape` is what its builder in h200_calls.py reads, `idle`: measured on an idle GPU, too."""

    category: str
    call: str
    dtype: str
    shape: tuple[int, ...]
    model: str
    side: str
    idle: bool = False

    @property
    def key(self) -> tuple[str, str, tuple[int, ...]]:
        """What makes two calls the same, whatever model they come from."""
        return self.call, self.dtype, self.shape

    def __str__(self) -> str:
        return f"{self.side} {self.category}: {self.call} {self.dtype} {'x'.join(map(str, self.shape))} ({self.model})"


@dataclass(frozen=True)
class Language:
    """A transformer. `gated`: the first product of its feed-forward part is twice as wide."""

    name: str
    side: str
    width: int
    heads: int
    kept: int
    head: int
    inner: int
    words: int
    gated: bool
    causal: bool
    dtype: str = "bfloat16"


LANGUAGES = (
    Language("Llama-3-8B", FIT, 4096, 32, 8, 128, 14336, 128256, True, True),
    Language("bert-large", FIT, 1024, 16, 16, 64, 4096, 30522, False, False),
    Language("gpt2-xl", FIT, 1600, 25, 25, 64, 6400, 50257, False, True, "float16"),
    Language("gemma-2-9b", FIT, 3584, 16, 8, 256, 14336, 256000, True, True),
    Language("Qwen3-14B", TEST, 5120, 40, 8, 128, 17408, 151936, True, True),
    Language("whisper-large", TEST, 1280, 20, 20, 64, 5120, 51866, False, False, "float16"),
    Language("phi-2", TEST, 2560, 32, 32, 80, 10240, 51200, False, True, "float16"),
    Language("Qwen2.5-1.5B", TEST, 1536, 12, 2, 128, 8960, 151936, True, True),
)
TOKENS = {FIT: (1, 4, 32, 256, 2048, 8192), TEST: (1, 8, 64, 577, 4096)}
PROMPTS = {FIT: (512, 2048, 8192), TEST: (1024, 4096)}
# Sequences at a time and the keys that each of them has.
CACHES = {FIT: ((1, 1024), (1, 32768), (16, 2048), (64, 8192)), TEST: ((1, 4096), (8, 16384), (32, 1500))}
FP8 = ("Llama-3-8B", "gemma-2-9b", "Qwen3-14B", "Qwen2.5-1.5B")
FP32 = ("bert-large", "whisper-large")

# Convolutions: batch, channels in, height, width, channels out, height and width of the filter, stride, groups.
_RESNET50 = (
    (32, 3, 224, 224, 64, 7, 2, 1), (32, 64, 56, 56, 64, 1, 1, 1), (32, 64, 56, 56, 64, 3, 1, 1),
    (32, 64, 56, 56, 256, 1, 1, 1), (32, 128, 56, 56, 128, 3, 2, 1), (32, 512, 28, 28, 128, 1, 1, 1),
    (32, 256, 14, 14, 256, 3, 1, 1), (32, 1024, 14, 14, 256, 1, 1, 1), (32, 512, 7, 7, 512, 3, 1, 1),
    (32, 1024, 14, 14, 2048, 1, 2, 1), (1, 64, 56, 56, 64, 3, 1, 1), (1, 256, 14, 14, 256, 3, 1, 1),
)  # fmt: skip
_SDXL = (
    (2, 4, 128, 128, 320, 3, 1, 1), (2, 320, 128, 128, 320, 3, 1, 1), (2, 640, 64, 64, 640, 3, 1, 1),
    (2, 1280, 32, 32, 1280, 3, 1, 1), (2, 2560, 32, 32, 1280, 3, 1, 1), (2, 960, 128, 128, 320, 1, 1, 1),
)  # fmt: skip
_MOBILENET = (
    (32, 32, 112, 112, 32, 3, 1, 32), (32, 144, 56, 56, 144, 3, 2, 144), (32, 384, 14, 14, 384, 3, 1, 384),
    (32, 384, 14, 14, 64, 1, 1, 1),
)  # fmt: skip
_VGG16 = (
    (16, 3, 224, 224, 64, 3, 1, 1), (16, 64, 112, 112, 128, 3, 1, 1), (16, 256, 56, 56, 256, 3, 1, 1),
    (16, 512, 28, 28, 512, 3, 1, 1), (16, 512, 14, 14, 512, 3, 1, 1), (1, 256, 56, 56, 256, 3, 1, 1),
)  # fmt: skip
_VAE = (
    (1, 16, 128, 128, 512, 3, 1, 1), (1, 512, 128, 128, 512, 3, 1, 1), (1, 512, 256, 256, 256, 3, 1, 1),
    (1, 256, 512, 512, 128, 3, 1, 1), (1, 128, 1024, 1024, 3, 3, 1, 1), (1, 512, 256, 256, 256, 1, 1, 1),
)  # fmt: skip
_CONVNEXT = (
    (16, 3, 224, 224, 128, 4, 4, 1), (16, 128, 56, 56, 128, 7, 1, 128), (16, 256, 28, 28, 256, 7, 1, 256),
    (16, 512, 14, 14, 512, 7, 1, 512), (16, 256, 28, 28, 512, 2, 2, 1),
)  # fmt: skip
_EFFICIENTNET = (
    (16, 48, 190, 190, 24, 1, 1, 1), (16, 192, 95, 95, 192, 5, 2, 192), (16, 336, 48, 48, 56, 1, 1, 1),
    (16, 960, 24, 24, 160, 1, 1, 1),
)  # fmt: skip
PICTURES = (
    ("ResNet-50", FIT, _RESNET50, "float16"),
    ("SDXL", FIT, _SDXL, "float16"),
    ("MobileNetV2", FIT, _MOBILENET, "float16"),
    ("VGG-16", TEST, _VGG16, "float16"),
    ("SD 3 VAE", TEST, _VAE, "bfloat16"),
    ("ConvNeXt-B", TEST, _CONVNEXT, "float16"),
    ("EfficientNet-B4", TEST, _EFFICIENTNET, "float16"),
)
TRAINED = ("ResNet-50", "VGG-16")
# Batch, channels, height, width of what is normalised.
MAPS = (
    ("ResNet-50", FIT, "batch_norm", ((32, 64, 112, 112), (32, 256, 56, 56), (32, 1024, 14, 14), (32, 2048, 7, 7))),
    ("VGG-16", TEST, "batch_norm", ((16, 64, 224, 224), (16, 256, 56, 56), (16, 512, 14, 14))),
    ("SDXL", FIT, "group_norm", ((2, 320, 128, 128), (2, 640, 64, 64), (2, 1280, 32, 32), (2, 2560, 32, 32))),
    ("SD 3 VAE", TEST, "group_norm", ((1, 512, 128, 128), (1, 512, 256, 256), (1, 128, 1024, 1024))),
)
COMPILED = ("compiled_add_rms_norm", "compiled_gate", "compiled_gelu_bias", "compiled_rope")


def cases() -> list[Case]:
    """All calls, mixed: where time runs out, both sides lose alike. None is on both sides, none is there twice."""
    found: dict[tuple[str, str, tuple[int, ...]], Case] = {}
    # The fit side first: what it has is not tested.
    for case in sorted((*_of_languages(), *_of_pictures(), *_of_hosts()), key=lambda case: case.side == TEST):
        found.setdefault(case.key, case)
    mixed = list(found.values())
    random.Random(1).shuffle(mixed)
    return mixed


def _of_languages() -> Iterator[Case]:
    for model in LANGUAGES:
        yield from _products(model)
        yield from _attention(model)
        yield from _streams(model)
        yield from _rows(model)
        yield from _copies(model)
        for call in COMPILED:
            for tokens in TOKENS[model.side][-2:]:
                if model.name in ("Llama-3-8B", "gpt2-xl", "Qwen3-14B", "phi-2"):
                    yield Case("compiled", call, model.dtype, _of_compiled(call, model, tokens), model.name, model.side)


def _of_compiled(call: str, model: Language, tokens: int) -> tuple[int, ...]:
    if call == "compiled_rope":
        return tokens, model.heads, model.head
    return tokens, model.width if call == "compiled_add_rms_norm" else model.inner


def _products(model: Language) -> Iterator[Case]:
    joint = (model.heads + 2 * model.kept) * model.head
    layers = (
        (joint, model.width), (model.width, model.heads * model.head),
        ((2 if model.gated else 1) * model.inner, model.width), (model.width, model.inner),
    )  # fmt: skip
    for tokens in TOKENS[model.side]:
        for n, k in layers:
            call, shape = "linear" if model.gated else "linear_bias", (tokens, n, k)
            yield Case("GEMM", call, model.dtype, shape, model.name, model.side, tokens <= SMALL_TOKENS)
            if model.name in FP8 and tokens > 1:  # sixteen rows at least are what the kernels take
                rows = max(16, tokens // 16 * 16)
                call = "scaled_linear" if k == model.inner else "scaled_linear_rows"
                yield Case("GEMM fp8", call, "float8_e4m3fn", (rows, n, k), model.name, model.side)
            if model.name in FP32 and tokens in (32, 64, 2048, 4096):
                yield Case("GEMM fp32", "linear_bias", "float32", shape, model.name, model.side)
        if tokens <= 256:
            shape = (tokens, model.words, model.width)
            yield Case("GEMM", "linear", model.dtype, shape, model.name, model.side)
    if not model.gated:
        for batch, length in {FIT: ((1, 512), (8, 512)), TEST: ((2, 384), (16, 384))}[model.side]:
            for call in ("scores", "weighted"):
                shape = (batch * model.heads, length, model.head)
                yield Case("GEMM", call, model.dtype, shape, model.name, model.side)


def _attention(model: Language) -> Iterator[Case]:
    """Batch, heads, heads of keys, queries, keys, head; causal, plain or with a mask; one query of each sequence."""
    heads = (model.heads, model.kept)
    for length in PROMPTS[model.side]:
        for batch in {1, 8192 // length}:
            shape = (batch, *heads, length, length, model.head)
            calls = ("attend_causal", "attend") if length < 4096 else ("attend_causal" if model.causal else "attend",)
            for call in calls:
                yield Case("attention", call, model.dtype, shape, model.name, model.side)
            if model.kept == model.heads and length < 4096:
                yield Case("attention", "attend_masked", model.dtype, shape, model.name, model.side)
    if model.causal:
        for batch, keys in CACHES[model.side]:
            shape = (batch, *heads, 1, keys, model.head)
            if 4 * batch * model.kept * keys * model.head < LARGEST_CACHE:
                yield Case("decode attention", "attend", model.dtype, shape, model.name, model.side, idle=batch == 1)


def _streams(model: Language) -> Iterator[Case]:
    calls = [("add", model.width), ("mul_row", model.width), ("cast", model.width), ("square", model.width)]
    gate = ("silu_half", "mul_half") if model.gated else ("gelu", "gelu_tanh")
    calls += [(call, model.inner) for call in (*gate, "add_bias")]
    for tokens in TOKENS[model.side]:
        if tokens in (4, 8):
            continue
        for call, width in calls:
            small = tokens <= SMALL_TOKENS
            yield Case("elementwise", call, model.dtype, (tokens, width), model.name, model.side, small)
        if tokens > SMALL_TOKENS:
            shape = (tokens, model.heads, model.head)
            yield Case("elementwise", "rotate_halves", model.dtype, shape, model.name, model.side)
            yield Case("elementwise", "mul_angles", model.dtype, shape, model.name, model.side)
    for length in PROMPTS[model.side][:1]:
        yield Case("elementwise", "mask_scores", model.dtype, (8, model.heads, length), model.name, model.side)


def _rows(model: Language) -> Iterator[Case]:
    norm = "rms_norm" if model.gated else "layer_norm"
    for tokens in TOKENS[model.side]:
        small = tokens <= SMALL_TOKENS
        yield Case("norms", norm, model.dtype, (tokens, model.width), model.name, model.side, small)
        if tokens > SMALL_TOKENS:
            yield Case("norms", "layer_norm", "float32", (tokens, model.width), model.name, model.side)
            shape = (tokens, model.width)
            yield Case("norms", "layer_norm_backward", model.dtype, shape, model.name, model.side)
        for call in ("mean_row", "largest", "sum_all", "sum_columns", "norm_all"):
            if tokens not in (4, 8):
                yield Case("reductions", call, model.dtype, (tokens, model.width), model.name, model.side, small)
        if tokens <= 256:
            yield Case("reductions", "arg_largest", model.dtype, (tokens, model.words), model.name, model.side)
            yield Case("norms", "softmax", "float32", (tokens, model.words), model.name, model.side)
    for length in PROMPTS[model.side]:
        if length < 8192:
            shape = (model.heads * length, length)
            yield Case("norms", "softmax", model.dtype, shape, model.name, model.side)


def _copies(model: Language) -> Iterator[Case]:
    for tokens in TOKENS[model.side]:
        small = tokens <= SMALL_TOKENS
        flat, split = (tokens, model.width), (tokens, model.heads, model.head)
        yield Case("copies", "clone", model.dtype, flat, model.name, model.side, small)
        yield Case("copies", "heads_first", model.dtype, split, model.name, model.side, small)
        yield Case(
            "copies", "embedding", model.dtype, (tokens, model.words, model.width), model.name, model.side, small
        )
        if tokens > SMALL_TOKENS:
            yield Case("copies", "turned", model.dtype, flat, model.name, model.side)
            yield Case("copies", "repeat_heads", model.dtype, (tokens, model.kept, model.head), model.name, model.side)
            yield Case("copies", "choose_rows", model.dtype, flat, model.name, model.side)
        yield Case(
            "copies", "append", model.dtype, (1 + tokens // 64, model.kept, 1024, model.head), model.name, model.side
        )


def _of_pictures() -> Iterator[Case]:
    for name, side, shapes, dtype in PICTURES:
        for shape in shapes:
            for call in ("convolve", "convolve_last"):
                yield Case("convolution", call, dtype, shape, name, side)
            if name in TRAINED and shape[0] > 1:
                yield Case("convolution", "convolve_backward", dtype, shape, name, side)
            if name in TRAINED:
                yield Case("convolution", "convolve", "float32", shape, name, side)
    for name, side, call, maps in MAPS:
        for shape in maps:
            for dtype in ("float16", "float32"):
                yield Case("norms", call, dtype, shape, name, side)
            if call == "batch_norm":
                yield Case("norms", "batch_norm_trained", "float32", shape, name, side)
                yield Case("norms", "batch_norm_backward", "float32", shape, name, side)
                yield Case("elementwise", "relu", "float16", shape, name, side)
                yield Case("reductions", "mean_picture", "float16", shape, name, side)
            else:
                yield Case("elementwise", "silu", "float16", shape, name, side)
                yield Case("copies", "channels_last", "float16", shape, name, side)


def _of_hosts() -> Iterator[Case]:
    """Bytes that go over the link, in a tensor of floats."""
    for side, sizes in ((FIT, (1, 1 << 12, 1 << 18, 1 << 24)), (TEST, (16, 1 << 15, 1 << 21, 1 << 26))):
        for size in sizes:
            for call in ("to_gpu", "to_gpu_pinned", "from_gpu", "from_gpu_pinned"):
                yield Case("host copies", call, "float32", (size,), "sizes", side)
