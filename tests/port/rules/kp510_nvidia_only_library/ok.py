import numba
import torch
from numba import njit

from .cuda import kernels

try:
    import tensorrt
except ImportError:
    tensorrt = None

if torch.version.hip is None:
    import flashinfer
