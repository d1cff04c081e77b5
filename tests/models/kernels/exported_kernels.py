"""The kernels as a file of kernels, which is what the toolchain builds from."""

from __future__ import annotations

from kernel_pytorch.models.kernels.gated_kernels import gated_kernels

gated_forward = gated_kernels()["gated_forward"]
