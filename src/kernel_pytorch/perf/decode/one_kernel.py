"""Which one-kernel decoder a GPU has: Hopper's on NVIDIA, CDNA's on AMD. Both compute `decoder_steps.in_steps`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernel_pytorch.perf.decode.form import Extras, extras_of

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def decoder(x: Tensor, *rest: Any, **more: Any) -> Tensor:
    """See `ops`: the kernel of this torch's vendor."""
    import torch

    given = (*rest[:10], extras_of(*rest[10:], **more))
    if torch.version.hip is not None:
        from kernel_pytorch.perf.decode.cdna import decoder_launch as cdna

        return cdna.decoder(x, *given)
    from kernel_pytorch.perf.decode.hopper import decoder_launch as hopper

    return hopper.decoder(x, *given)


def why_not_here(device: torch.device) -> str | None:
    """What this GPU lacks for its vendor's kernel; None where it can run."""
    import torch

    if torch.version.hip is not None:
        from kernel_pytorch.perf.decode.cdna import decoder_launch as cdna

        return cdna.why_not_here(device)
    from kernel_pytorch.perf.decode.hopper import decoder_launch as hopper

    return hopper.why_not_here(device)


def why_not_sizes(head_sizes: frozenset[int]) -> str | None:
    """What about a model's heads keeps it from its vendor's kernel."""
    import torch

    listed = ", ".join(map(str, sorted(head_sizes))) or "no attention of one query"
    if torch.version.hip is not None:
        from kernel_pytorch.perf.decode.cdna.decoder_shape import takes_heads

        fits = len(head_sizes) == 1 and all(map(takes_heads, head_sizes))
        return None if fits else f"the kernel takes heads of one size, a multiple of 8 from 16 to 256; here: {listed}"
    from kernel_pytorch.perf.decode.hopper.decoder_shape import HEAD_SIZES

    fits = len(head_sizes) == 1 and head_sizes <= set(HEAD_SIZES)
    sizes = " or ".join(map(str, HEAD_SIZES))
    return None if fits else f"the kernel takes heads of one size, {sizes}; here: {listed}"


def adds_biases() -> bool:
    """Whether this vendor's kernel adds biases to query, key and value."""
    import torch

    return torch.version.hip is not None


def element_types() -> tuple[torch.dtype, ...]:
    """Types of weights that this vendor's kernel multiplies."""
    import torch

    if torch.version.hip is not None:
        from kernel_pytorch.perf.decode.cdna.decoder_launch import element_types as cdna_types

        return cdna_types()
    return (torch.bfloat16,)


def takes(
    weights: list[Tensor],
    caches: list[Tensor],
    head: Tensor,
    bias: Tensor | None,
    cos: Tensor,
    extras: Extras,
    device: torch.device,
) -> bool:
    """Whether the kernel suits these tensors, real or fake, which are contiguous and of one of its types."""
    import torch

    properties = torch.cuda.get_device_properties(device)
    programs = int(properties.multi_processor_count)
    if torch.version.hip is not None:
        from kernel_pytorch.perf.decode.cdna import decoder_launch as cdna

        lds_bytes = cdna.target_of(device).max_lds_bytes_per_workgroup
        return not isinstance(cdna.shape_of(weights, caches, head, bias, cos, extras, programs, lds_bytes), str)
    from kernel_pytorch.perf.decode.hopper import decoder_launch as hopper

    if not hopper.takes_form(extras) or cos.numel() != caches[0].shape[-1]:
        return False
    return hopper.shape_of(weights, caches, head, bias is not None, programs, extras.head_norms) is not None
