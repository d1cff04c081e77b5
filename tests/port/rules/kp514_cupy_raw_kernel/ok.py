import cupy as cp
from mine import RawKernel

total = cp.zeros(4).sum()
mine = RawKernel("x", "y")
