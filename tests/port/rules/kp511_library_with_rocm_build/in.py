import cupy as cp
import transformer_engine.pytorch as te
from torch_scatter import scatter_add
from deepspeed.ops.sparse_attention import SparseSelfAttention
