try:
    from apex.normalization import FusedLayerNorm
except ImportError:
    from torch.nn import LayerNorm as FusedLayerNorm

from apexpredator import hunt
