"""8-bit floats on AMD GPUs: the type a GPU multiplies, checkpoints made for another one, and a product that falls back.

Written by `kpt port`; imports nothing of it. gfx940, gfx941 and gfx942 (MI300) have e4m3fnuz and e5m2fnuz; gfx950
and gfx12 have the OCP types, as NVIDIA has; other AMD GPUs have none.
"""

from __future__ import annotations

import logging

import torch

LOGGER = logging.getLogger(__name__)
_TO_FNUZ = {torch.float8_e4m3fn: torch.float8_e4m3fnuz, torch.float8_e5m2: torch.float8_e5m2fnuz}
_refused: set[tuple[object, ...]] = set()


def fp8_dtype(dtype: torch.dtype = torch.float8_e4m3fn, arch: str | None = None) -> torch.dtype:
    """The type to use in place of an OCP one. `arch` is a gfx name; the current device's where it is not given."""
    if arch is None:
        if getattr(torch.version, "hip", None) is None:
            return dtype
        arch = torch.cuda.get_device_properties("cuda").gcnArchName
    base = arch.split(":")[0]
    if base.startswith("gfx94"):
        return _TO_FNUZ[dtype]
    if base.startswith(("gfx95", "gfx12")):
        return dtype
    raise RuntimeError(f"{base} has no 8-bit floats: keep the tensor in bfloat16")


def e4m3fn_to_fnuz(weight: torch.Tensor, *scales: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """A checkpoint's e4m3fn tensor and its scales as e4m3fnuz: the same bytes, the same products.

    The bias of fnuz is one higher, so that a byte means half of what it did: the scales double. Its NaN is the byte
    0x80, which is minus zero in e4m3fn and becomes zero. e4m3fn's own NaN (0x7f, 0xff) has no byte left for it.
    """
    if weight.dtype is not torch.float8_e4m3fn:
        raise TypeError(f"{weight.dtype} is not float8_e4m3fn: only that type is converted")
    raw = weight.view(torch.uint8)
    if bool(((raw & 0x7F) == 0x7F).any()):
        raise ValueError("the tensor holds NaN, which e4m3fnuz would read as 240 or -240")
    cleared = torch.where(raw == 0x80, torch.zeros_like(raw), raw)
    return (cleared.view(torch.float8_e4m3fnuz), *(scale * 2 for scale in scales))


def scaled_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    scale_result: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> torch.Tensor:
    """torch._scaled_mm; where it is refused for these types and scales, a product of dequantised tensors, logged once.

    Scales are one number, one per row of `a` (rows, 1), or one per column of `b` (1, columns). Without `out_dtype` the
    result has the type of `a`, as torch's has. An 8-bit result with a scale of its own has no other way than torch's.
    """
    kind = (a.dtype, b.dtype, tuple(scale_a.shape[1:]), tuple(scale_b.shape[:-1]), out_dtype)
    if kind not in _refused or scale_result is not None:
        try:
            return torch._scaled_mm(
                a,
                b,
                scale_a=scale_a,
                scale_b=scale_b,
                bias=bias,
                scale_result=scale_result,
                out_dtype=out_dtype,
                use_fast_accum=use_fast_accum,
            )
        except (RuntimeError, ValueError) as error:
            if scale_result is not None:
                raise
            LOGGER.warning("_scaled_mm refused %s x %s: dequantised from here on (%s)", a.dtype, b.dtype, error)
            _refused.add(kind)
    product = (a.float() * scale_a.float()) @ (b.float() * scale_b.float())
    if bias is not None:
        product = product + bias.float()
    return product.to(out_dtype or a.dtype)
