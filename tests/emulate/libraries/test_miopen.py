"""MIOpen's forward calls against NumPy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from tests.emulate.libraries.arrays import Array, call
from tests.emulate.libraries.conftest import Load

FLOAT = 1
ONE, ZERO = np.ones(1, dtype=np.float32), np.zeros(1, dtype=np.float32)


@pytest.fixture(scope="module")
def miopen(load: Load) -> ctypes.CDLL:
    return load("MIOpen")


def made(miopen: ctypes.CDLL, kind: str, *settings: Any) -> ctypes.c_void_p:
    found = ctypes.c_void_p()
    assert call(miopen, f"miopenCreate{kind}", ctypes.byref(found)) == 0
    return found


def tensor(miopen: ctypes.CDLL, array: Array) -> ctypes.c_void_p:
    found = made(miopen, "TensorDescriptor")
    assert call(miopen, "miopenSet4dTensorDescriptor", found, FLOAT, *array.shape) == 0
    return found


def noise(*shape: int) -> Array:
    return np.random.default_rng(len(shape) + shape[-1]).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("pad", "stride", "dilation", "groups"), [(0, 1, 1, 1), (1, 2, 1, 1), (2, 1, 2, 1), (1, 1, 1, 2)]
)
def test_convolution(miopen: ctypes.CDLL, pad: int, stride: int, dilation: int, groups: int) -> None:
    x, w = noise(2, 4, 7, 8), noise(6, 4 // groups, 3, 3)
    convolution = made(miopen, "ConvolutionDescriptor")
    assert (
        call(miopen, "miopenInitConvolutionDescriptor", convolution, 0, *[pad] * 2, *[stride] * 2, *[dilation] * 2) == 0
    )
    if groups > 1:
        assert call(miopen, "miopenSetConvolutionGroupCount", convolution, groups) == 0
    dims = np.zeros(4, dtype=np.int32)
    tx, tw = tensor(miopen, x), tensor(miopen, w)
    parts = [dims[i:] for i in range(4)]
    assert call(miopen, "miopenGetConvolutionForwardOutputDim", convolution, tx, tw, *parts) == 0
    y = np.zeros(dims, dtype=np.float32)
    handle = made(miopen, "")
    arguments = (ONE, tx, x, tw, w, convolution, 1, ZERO, tensor(miopen, y), y, None, 0)
    assert call(miopen, "miopenConvolutionForward", handle, *arguments) == 0
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    expected = np.zeros_like(y)
    each = 4 // groups
    for k in range(6):
        group = k // (6 // groups)
        for i in range(dims[2]):
            for j in range(dims[3]):
                rows = slice(i * stride, i * stride + 2 * dilation + 1, dilation)
                columns = slice(j * stride, j * stride + 2 * dilation + 1, dilation)
                window = padded[:, group * each : (group + 1) * each, rows, columns]
                expected[:, k, i, j] = (window * w[k]).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(y, expected, atol=1e-4)


@pytest.mark.parametrize("mode", [0, 1])
def test_pooling(miopen: ctypes.CDLL, mode: int) -> None:
    x, y = noise(2, 3, 6, 8), np.zeros((2, 3, 3, 4), dtype=np.float32)
    pooling = made(miopen, "PoolingDescriptor")
    assert call(miopen, "miopenSet2dPoolingDescriptor", pooling, mode, 2, 2, 0, 0, 2, 2) == 0
    arguments = (pooling, ONE, tensor(miopen, x), x, ZERO, tensor(miopen, y), y, False, None, 0)
    assert call(miopen, "miopenPoolingForward", made(miopen, ""), *arguments) == 0
    blocks = x.reshape(2, 3, 3, 2, 4, 2)
    np.testing.assert_allclose(y, blocks.max(axis=(3, 5)) if mode == 0 else blocks.mean(axis=(3, 5)), atol=1e-6)


def test_activation_and_softmax(miopen: ctypes.CDLL) -> None:
    x = noise(2, 5, 3, 2)
    y = np.zeros_like(x)
    handle, t = made(miopen, ""), tensor(miopen, x)
    activation = made(miopen, "ActivationDescriptor")
    assert call(miopen, "miopenSetActivationDescriptor", activation, 3, 0.0, 0.0, 0.0) == 0
    assert call(miopen, "miopenActivationForward", handle, activation, ONE, t, x, ZERO, t, y) == 0
    np.testing.assert_allclose(y, np.maximum(x, 0))
    assert call(miopen, "miopenSoftmaxForward", handle, ONE, t, x, ZERO, t, y) == 0
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, shifted / shifted.sum(axis=1, keepdims=True), atol=1e-6)


def test_refusals(miopen: ctypes.CDLL, capfd: pytest.CaptureFixture[str]) -> None:
    assert call(miopen, "miopenConvolutionForward", None, *[None] * 12) == 3
    assert miopen.miopenCreateRNNDescriptor() == 6
    assert "miopenCreateRNNDescriptor is not implemented" in capfd.readouterr().err
