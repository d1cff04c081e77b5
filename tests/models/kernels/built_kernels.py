"""Every kernel with the launches it gets on an AMD target, compiled there: what `test_kernels_build` looks at.

    python -m tests.models.kernels.built_kernels DIRECTORY TARGET...

A process of its own, since Triton may interpret in the one of the tests. Writes TARGET-NAME.hsaco and answer.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernel_pytorch.core.hardware import target
from kernel_pytorch.models.kernels import launch
from kernel_pytorch.models.kernels.gated_kernels import gated_kernels
from kernel_pytorch.models.kernels.launch import Card, Launch
from kernel_pytorch.models.kernels.norm_kernels import norm_kernels
from kernel_pytorch.models.kernels.rope_kernels import rope_kernels

# Type, or None for an argument that is not given. ":16" is what Triton finds of aligned tensors.
Types = dict[str, str | None]


def requests(card: Card) -> Iterator[tuple[str, Any, Types, dict[str, Any], Launch]]:
    """Name, kernel, types, constants and launch of every build."""
    kernels = {**norm_kernels(), **gated_kernels(), **rope_kernels()}
    for dtype, length, center, residual in (
        ("bf16", 4096, False, False),
        ("bf16", 32768, True, True),
        ("fp16", 100, False, True),
        ("bf16", 50000, True, False),
    ):
        chosen = launch.norm_forward(card, length)
        name = "norm_forward" if chosen.block >= length else "norm_forward_long"
        yield (
            f"{name}-{length}",
            kernels[name],
            {
                **pointers(dtype, "y", "x", "weight"), "h": on(residual, dtype), "residual": on(residual, dtype),
                "mean": on(center, "fp32"), "rstd": "*fp32:16", "bias": on(center, dtype),
                **counts("rows", "length", "x_stride", "residual_stride"), "eps": "fp32", "offset": "fp32",
            },
            {"CENTER": center, "ROUND_FIRST": not center, "ROWS": chosen.rows, "BLOCK": chosen.block},
            chosen,
        )  # fmt: skip
    for dtype, length, center, residual in (
        ("bf16", 4096, False, True),
        ("bf16", 4096, True, True),
        ("fp32", 8192, True, False),
        ("fp32", 16384, False, False),
        ("fp16", 100, True, False),
    ):
        chosen = launch.norm_backward(card, length, 4096, center=center)
        yield (
            f"norm_backward-{length}{'-layer' if center else ''}",
            kernels["norm_backward"],
            {
                **pointers(dtype, "dx", "dy", "x", "weight"), "dh": on(residual, dtype), "mean": on(center, "fp32"),
                **pointers("fp32", "dweight", "rstd"), "dbias": on(center, "fp32"), "offset": "fp32",
                **counts("rows", "length", "dy_stride", "dh_stride", "x_stride"),
            },
            {
                "CENTER": center, "ROUND_FIRST": not center, "ROWS": chosen.rows, "BLOCK": chosen.block,
                "PREFETCH": chosen.prefetch, "HOLD": chosen.hold,
            },
            chosen,
        )  # fmt: skip
    pieces = launch.norm_forward(card, launch.LONGEST_ROW + 1)
    yield (
        "norm_backward_long",
        kernels["norm_backward_long"],
        {
            **pointers("bf16", "dx", "dy", "dh", "x", "weight"), **pointers("fp32", "mean", "rstd"), "offset": "fp32",
            **counts("length", "dy_stride", "dh_stride", "x_stride"),
        },
        {"CENTER": True, "BLOCK": pieces.block},
        pieces,
    )  # fmt: skip
    sums = Launch(128, 32, 256)
    yield (
        "weight_gradient_long",
        kernels["weight_gradient_long"],
        {
            **pointers("bf16", "dy", "x"), **pointers("fp32", "mean", "rstd", "dweight", "dbias"),
            **counts("rows", "length", "dy_stride", "x_stride"),
        },
        {"CENTER": True, "ROUND_FIRST": False, "ROWS": sums.rows, "BLOCK": sums.block},
        sums,
    )  # fmt: skip
    last = Launch(32, 128, 256)
    yield (
        "sum_parts",
        kernels["sum_parts"],
        {
            **pointers("fp32", "weight_parts", "bias_parts"), **pointers("bf16", "weight_out", "bias_out"),
            **counts("parts", "length"),
        },
        {"ROWS": last.rows, "BLOCK": last.block},
        last,
    )  # fmt: skip
    chosen = launch.gated(card, 11008)
    for kind in ("silu", "gelu_tanh", "gelu_erf"):
        constants = {"KIND": kind, "BLOCK": chosen.block}
        sizes = counts("length", "gate_stride", "up_stride", "dout_stride")
        types: Types = {**pointers("bf16", "out", "gate", "up"), **sizes, "tiles": "i32"}
        if kind == "silu":  # the backward pass computes every activation
            yield f"gated_forward-{kind}", kernels["gated_forward"], types, constants, chosen
        types = {**pointers("fp16", "dgate", "dup", "dout", "gate", "up"), **sizes, "tiles": "i32"}
        yield f"gated_backward-{kind}", kernels["gated_backward"], types, constants, chosen
    for interleaved, rest in ((False, 0), (True, 32)):
        chosen = launch.rope(card, 32, 64)
        yield (
            f"rope{'-interleaved' if interleaved else ''}",
            kernels["rope"],
            {
                **pointers("bf16", "q_out", "k_out", "q", "k"), **pointers("fp32", "cosine", "sine"),
                **counts(*[name for name in kernels["rope"].arg_names if name.islower() and "_" in name]),
                **pointers("bf16", "q_out", "k_out"),
                **dict.fromkeys(("tokens", "q_heads", "k_heads", "q_tiles", "tiles", "blocks"), "i32"),
                **counts("half", "rest"),
            },
            {
                "INTERLEAVED": interleaved, "FULL_TABLE": True, "BACKWARD": interleaved, "HEADS": chosen.rows,
                "TOKENS": 1, "HALF": 64, "REST": rest,
            },
            chosen,
        )  # fmt: skip


def pointers(dtype: str, *names: str) -> Types:
    return dict.fromkeys(names, f"*{dtype}:16")


def counts(*names: str) -> Types:
    return dict.fromkeys(names, "i32:16")


def on(there: bool, dtype: str) -> str | None:
    return f"*{dtype}:16" if there else None


def build(kernel: Any, types: Types, constants: dict[str, Any], options: dict[str, Any], name: str, wave: int) -> Any:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature, values, attributes = {}, {}, {}
    for index, argument in enumerate(kernel.arg_names):
        kind = None if argument in constants else types[argument]
        if kind is None:
            signature[argument] = "constexpr"
            values[(index,)] = constants.get(argument)
            continue
        signature[argument] = kind.removesuffix(":16")
        if kind.endswith(":16"):
            attributes[(index,)] = [["tt.divisibility", 16]]
    source = ASTSource(kernel, signature, constexprs=values, attrs=attributes)
    return triton.compile(source, target=GPUTarget("hip", name, wave), options=options)


def main(folder: str, names: list[str]) -> None:
    answer: dict[str, dict[str, Any]] = {}
    for name in names:
        facts = target(name)
        card = Card.of_target(facts, 64)
        for label, kernel, types, constants, chosen in requests(card):
            built = build(kernel, types, constants, chosen.options(card), name, facts.wave_size)
            (Path(folder) / f"{name}-{label}.hsaco").write_bytes(built.asm["hsaco"])
            answer[f"{name}-{label}"] = {"shared": built.metadata.shared, "waves": built.metadata.num_warps}
    (Path(folder) / "answer.json").write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
