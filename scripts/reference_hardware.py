"""docs/hardware-table.md from core/data."""

from __future__ import annotations

from collections.abc import Iterable

from kernel_pytorch.core.hardware import GPU, Target, gpus, targets

HEAD = """\
# The hardware table

Generated from `core/data/targets.csv` and `core/data/gpus.csv` by `make docs`; every row there names its source.
[How it is used](hardware.md). Rates are dense, in TFLOP/s, of one device as torch sees it; an empty cell is a rate that
the hardware does not have or that no source gives.
"""


def page() -> str:
    """The page."""
    parts = [HEAD]
    for vendor, title in (("amd", "AMD"), ("nvidia", "NVIDIA")):
        parts += [
            f"## {title} targets\n",
            _table(
                ("target", "architecture", "wave", "VGPRs per SIMD", "waves per SIMD", "LDS per CU / workgroup, KiB",
                 "matrix units", "FP8"),
                [_target(one) for one in targets(vendor)],
            ),
            f"## {title} products\n",
            _table(
                ("product", "target", "CUs", "memory, GiB", "GB/s", "MHz", "FP64", "FP32", "BF16", "FP8", "confidence"),
                [_gpu(one) for one in gpus(vendor)],
            ),
        ]  # fmt: skip
    return "\n".join(parts).rstrip() + "\n"


def _target(one: Target) -> tuple[object, ...]:
    lds = f"{one.lds_bytes_per_cu >> 10} / {one.max_lds_bytes_per_workgroup >> 10}"
    known = one.vgprs_per_simd or ""
    return one.name, one.arch, one.wave_size, known, one.max_waves_per_simd or "", lds, one.matrix, one.fp8_format or ""


def _gpu(one: GPU) -> tuple[object, ...]:
    fp64 = max((one.peak[key] for key in ("fp64_vector", "fp64_matrix") if one.peak.get(key)), default=None)
    rates = (fp64, one.peak.get("fp32_vector"), one.peak.get("bf16_matrix"), one.peak.get("fp8_matrix"))
    figures = tuple(f"{rate:g}" if rate else "" for rate in rates)
    sizes = (one.compute_units, f"{one.memory_gib:g}", f"{one.bandwidth_gbs:g}", f"{one.boost_mhz:g}")
    return one.name, one.target.name, *sizes, *figures, one.confidence


def _table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"
