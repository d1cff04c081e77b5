"""Convolutions: 2 FLOPs per output element, input channel of its group and filter tap, counted as direct convolution.

Winograd and FFT kernels do fewer; a figure above 100 % of the roofline then means exactly that.
"""

from __future__ import annotations

import math

from kernel_pytorch.perf.roofline.forms import Convolved, Product
from kernel_pytorch.perf.roofline.shapes import Tensor, argument, flag, integers, tensor
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature


def output_size(
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[int, ...]:
    """Spatial size of a convolution's output."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def transposed_size(
    size: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    extra: tuple[int, ...],
) -> tuple[int, ...]:
    """Spatial size of a transposed convolution's output."""
    return tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, k, s, p, d, e in zip(size, kernel, stride, padding, dilation, extra, strict=True)
    )


def _forward(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    transposed: bool,
    extra: tuple[int, ...],
    groups: int,
) -> Work:
    spatial = len(x.shape) - 2
    stride, padding, dilation, extra = (_per_axis(v, spatial) for v in (stride, padding, dilation, extra))
    kernel = weight.shape[2:]
    if transposed:
        size = transposed_size(x.shape[2:], kernel, stride, padding, dilation, extra)
        channels = weight.shape[1] * groups
        # Every input element meets every tap of its group's filters once.
        products = x.count * weight.shape[1] * math.prod(kernel)
    else:
        size = output_size(x.shape[2:], kernel, stride, padding, dilation)
        channels = weight.shape[0]
        products = x.shape[0] * channels * math.prod(size) * weight.shape[1] * math.prod(kernel)
    outputs = x.shape[0] * channels * math.prod(size)
    flops = 2 * products + (outputs if bias else 0)
    moved = x.bytes + weight.bytes + outputs * x.element_bytes + (bias.bytes if bias else 0)
    taps = math.prod(kernel) if max((*kernel, *stride)) > 1 else 1
    depth = products // outputs if outputs else 0
    product = Product(groups, outputs // channels if channels else 0, channels // groups, depth)
    return Work(flops, moved, x.arithmetic, matrix=True, form=Convolved(product, taps, last=_channels_last(x)))


def _channels_last(x: Tensor) -> bool:
    """Whether a pixel's channels are neighbours; with one channel, or one pixel, nothing can tell."""
    return len(x.strides) == len(x.shape) and x.shape[1] > 1 and x.strides[1] == 1 and math.prod(x.shape[2:]) > 1


def _per_axis(values: tuple[int, ...], axes: int) -> tuple[int, ...]:
    return values * axes if len(values) == 1 else values


def convolution(signature: Signature) -> Work | None:
    """aten::convolution and aten::_convolution: input, weight, bias, stride, padding, dilation, transposed, ..."""
    x, weight = tensor(signature, 0), tensor(signature, 1)
    stride, padding, dilation, extra = (integers(signature, i) for i in (3, 4, 5, 7))
    if x is None or weight is None or None in (stride, padding, dilation):
        return None
    assert stride is not None and padding is not None and dilation is not None
    groups = int(argument(signature, 8) or 1)
    return _forward(
        x,
        weight,
        bias=tensor(signature, 2),
        stride=stride,
        padding=padding,
        dilation=dilation,
        transposed=flag(signature, 6),
        extra=extra or (0,),
        groups=groups,
    )


def conv_nd(signature: Signature) -> Work | None:
    """aten::conv1d/2d/3d: input, weight, bias, stride, padding, dilation, groups."""
    return _plain(signature, tensor(signature, 2), stride_at=3, padding_at=4, first_of_rest=5)


def library_convolution(signature: Signature) -> Work | None:
    """cudnn_convolution: input, weight, padding, stride, dilation, groups, ...; no bias."""
    return _plain(signature, None, padding_at=2, stride_at=3, first_of_rest=4)


def miopen_convolution(signature: Signature) -> Work | None:
    """miopen_convolution and miopen_depthwise_convolution: input, weight, bias, padding, stride, dilation, groups."""
    return _plain(signature, tensor(signature, 2), padding_at=3, stride_at=4, first_of_rest=5)


def _plain(
    signature: Signature, bias: Tensor | None, *, stride_at: int, padding_at: int, first_of_rest: int
) -> Work | None:
    """A convolution that is not transposed. Dilation and groups are the rest."""
    x, weight = tensor(signature, 0), tensor(signature, 1)
    stride, padding, dilation = (integers(signature, place) for place in (stride_at, padding_at, first_of_rest))
    if x is None or weight is None or stride is None or padding is None or dilation is None:
        return None
    groups = int(argument(signature, first_of_rest + 1) or 1)
    return _forward(
        x, weight, bias=bias, stride=stride, padding=padding, dilation=dilation, transposed=False, extra=(0,),
        groups=groups,
    )  # fmt: skip


def depthwise(signature: Signature) -> Work | None:
    """_conv_depthwise2d: input, weight, kernel size, bias, stride, padding, dilation; a group for each channel."""
    x, weight = tensor(signature, 0), tensor(signature, 1)
    stride, padding, dilation = (integers(signature, place) for place in (4, 5, 6))
    if x is None or weight is None or stride is None or padding is None or dilation is None:
        return None
    return _forward(
        x, weight, bias=tensor(signature, 3), stride=stride, padding=padding, dilation=dilation, transposed=False,
        extra=(0,), groups=x.shape[1],
    )  # fmt: skip


def backward(signature: Signature) -> Work | None:
    """aten::convolution_backward: grad, input, weight, bias sizes, stride, ..., groups, mask of wanted gradients."""
    grad, x, weight = (tensor(signature, i) for i in range(3))
    if grad is None or x is None or weight is None:
        return None
    transposed = flag(signature, 7)
    source = x if transposed else grad
    other_channels = weight.shape[1]
    products = source.count * other_channels * math.prod(weight.shape[2:])
    mask = argument(signature, 10).strip("[]").replace(" ", "").split(",") if argument(signature, 10) else []
    wanted = [word.lower() in ("true", "1") for word in mask] if len(mask) == 3 else [True, True, False]
    flops = 2 * products * (wanted[0] + wanted[1]) + (grad.count if wanted[2] else 0)
    channels = grad.shape[1]
    moved = grad.bytes + x.bytes + weight.bytes
    moved += (x.count * x.element_bytes) * wanted[0] + weight.bytes * wanted[1]
    moved += channels * x.element_bytes * wanted[2]
    depth = other_channels * math.prod(weight.shape[2:])
    product = Product(1, source.count // channels if channels else 0, channels, depth)
    form = Convolved(product, math.prod(weight.shape[2:]), backward=wanted[0] + wanted[1])
    return Work(flops, moved, x.arithmetic, matrix=True, form=form)


MODELS: dict[str, Model] = {
    "convolution": convolution,
    "_convolution": convolution,
    "convolution_overrideable": convolution,
    "conv1d": conv_nd,
    "conv2d": conv_nd,
    "conv3d": conv_nd,
    "cudnn_convolution": library_convolution,
    "miopen_convolution": miopen_convolution,
    "miopen_depthwise_convolution": miopen_convolution,
    "mkldnn_convolution": miopen_convolution,
    "_conv_depthwise2d": depthwise,
    "convolution_backward": backward,
}
