"""Normalisations: FLOPs of the textbook formula, one pass over memory.

Per row of C elements: mean C (C - 1 additions and a division), variance 3 C (subtract, square, sum and divide), inverse
root 2, scaling C (the difference is at hand), weight and bias C each. RMS norm has no mean: 2 C + 2 and C.
"""

from __future__ import annotations

import math

from kernel_pytorch.perf.roofline.forms import Rows, Streamed
from kernel_pytorch.perf.roofline.shapes import Tensor, argument, flag, integers, tensor
from kernel_pytorch.perf.roofline.work import Model, Work
from kernel_pytorch.perf.trace.recording import Signature


def _rows(
    x: Tensor,
    row: int,
    weight: Tensor | None,
    bias: Tensor | None,
    saved: int,
    rms: bool = False,
    what: str = "row norm",
) -> Work:
    """`saved`: how many statistics per row are written out in fp32."""
    rows = x.count // row
    per_row = (3 * row + 2) if rms else (5 * row + 2)
    per_row += row * ((weight is not None) + (bias is not None))
    parameters = sum(one.bytes for one in (weight, bias) if one is not None)
    statistics_bytes = max(4, x.element_bytes)
    moved = x.bytes + x.count * x.element_bytes + parameters + saved * rows * statistics_bytes
    return Work(rows * per_row, moved, x.arithmetic, form=Rows(what, rows, row))


def layer_norm(signature: Signature) -> Work | None:
    """layer_norm and native_layer_norm: input, normalized_shape, weight, bias, eps. The native one saves mean, rstd."""
    x, shape = tensor(signature, 0), integers(signature, 1)
    if x is None or shape is None:
        return None
    saved = 2 if signature.name.endswith("native_layer_norm") else 0
    return _rows(x, math.prod(shape), tensor(signature, 2), tensor(signature, 3), saved)


def rms_norm(signature: Signature) -> Work | None:
    """rms_norm and _fused_rms_norm: input, normalized_shape, weight, eps. The fused one saves rstd."""
    x, shape = tensor(signature, 0), integers(signature, 1)
    if x is None or shape is None:
        return None
    saved = 1 if "_fused" in signature.name else 0
    return _rows(x, math.prod(shape), tensor(signature, 2), None, saved, rms=True)


def group_norm(signature: Signature) -> Work | None:
    """native_group_norm: input, weight, bias, N, C, HxW, group, eps."""
    x = tensor(signature, 0)
    if x is None or not argument(signature, 6):
        return None
    row = x.count // (x.shape[0] * int(argument(signature, 6)))
    return _rows(x, row, tensor(signature, 1), tensor(signature, 2), saved=2, what="channel norm")


def _scaling_groups(x: Tensor) -> int:
    """How many workgroups torch gives to a channel when it scales: for each picture one, however small it is.

    Pictures of less than 64 elements share one of 64 lanes.
    """
    picture = math.prod(x.shape[2:])
    together = max(1, 64 // max(32, picture))
    return max(1, min(2**18 // x.shape[1], math.ceil(x.shape[0] / together)))


def batch_norm(signature: Signature) -> Work | None:
    """native_batch_norm, cudnn_, miopen_batch_norm: input, weight, bias, running mean, running var, training, ...

    Training: the same count with a channel as the row. Inference: two FLOPs per element and two per channel to
    fold the statistics in (plus those of weight and bias).
    """
    x, weight, bias, mean, variance = (tensor(signature, i) for i in range(5))
    if x is None:
        return None
    channels = x.shape[1]
    if flag(signature, 5):
        work = _rows(x, x.count // channels, weight, bias, saved=2, what="channel norm")
        running = sum(2 * one.bytes for one in (mean, variance) if one is not None)
        form = Rows("channel norm", channels, x.count // channels, groups=channels * _scaling_groups(x))
        return Work(work.flops, work.bytes + running, work.arithmetic, form=form)
    parameters = sum(one.bytes for one in (weight, bias, mean, variance) if one is not None)
    affine = (weight is not None) + (bias is not None)
    flops, moved = (2 + affine) * x.count + 2 * channels, 2 * x.count * x.element_bytes + parameters
    return Work(flops, moved, x.arithmetic, form=Streamed("elementwise", "broadcast"))


def _backward(x: Tensor, row: int, weight: Tensor | None, what: str) -> Work:
    """Gradient and input are read, the input's gradient is written: some ten FLOPs an element, two sums a row."""
    rows = x.count // row if row else 0
    parameters = 2 * weight.count * weight.element_bytes if weight is not None else 0
    moved = x.bytes + 2 * x.count * x.element_bytes + 2 * parameters + 8 * rows
    return Work(10 * x.count, moved, x.arithmetic, form=Rows(what, rows, row))


def layer_norm_backward(signature: Signature) -> Work | None:
    """native_layer_norm_backward, _fused_rms_norm_backward: gradient, input, normalized_shape, statistics, weight."""
    x, shape = tensor(signature, 1), integers(signature, 2)
    if x is None or shape is None:
        return None
    weight = tensor(signature, 4 if "rms" in signature.name else 5)
    return _backward(x, math.prod(shape), weight, "row norm backward")


def group_norm_backward(signature: Signature) -> Work | None:
    """native_group_norm_backward: gradient, input, mean, rstd, weight, N, C, HxW, group."""
    x = tensor(signature, 1)
    if x is None or not argument(signature, 8):
        return None
    return _backward(
        x, x.count // (x.shape[0] * int(argument(signature, 8))), tensor(signature, 4), "row norm backward"
    )


def batch_norm_backward(signature: Signature) -> Work | None:
    """native_batch_norm_backward (gradient, input, weight), miopen_ and cudnn_ (input, gradient, weight)."""
    x = tensor(signature, 1)
    if x is None or len(x.shape) < 2:
        return None
    return _backward(x, x.count // x.shape[1], tensor(signature, 2), "channel norm backward")


def softmax(signature: Signature) -> Work | None:
    """_softmax: per row of C: maximum C - 1, subtract C, exponential C, sum C - 1, divide C."""
    x = tensor(signature, 0)
    if x is None or not argument(signature, 1):
        return None
    row = x.shape[int(argument(signature, 1))] if x.shape else 1
    rows = x.count // row if row else 0
    # torch keeps rows of up to 1024 in registers, and goes over longer ones three times.
    form = Streamed("softmax", "same") if row <= 1024 else Rows("long softmax", rows, row)
    return Work(rows * (5 * row - 2), x.bytes + x.count * x.element_bytes, x.arithmetic, form=form)


MODELS: dict[str, Model] = {
    "layer_norm": layer_norm,
    "native_layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "_fused_rms_norm": rms_norm,
    "native_group_norm": group_norm,
    "native_batch_norm": batch_norm,
    "cudnn_batch_norm": batch_norm,
    "miopen_batch_norm": batch_norm,
    "native_layer_norm_backward": layer_norm_backward,
    "_fused_rms_norm_backward": layer_norm_backward,
    "native_group_norm_backward": group_norm_backward,
    "native_batch_norm_backward": batch_norm_backward,
    "miopen_batch_norm_backward": batch_norm_backward,
    "cudnn_batch_norm_backward": batch_norm_backward,
    "_softmax": softmax,
}
