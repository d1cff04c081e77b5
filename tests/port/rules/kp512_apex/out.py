import torch
from apex import amp
from apex.contrib.layer_norm import FastLayerNorm
from apex.normalization import FusedLayerNorm as LayerNorm, FusedRMSNorm
from apex.optimizers import FusedAdam
import apex.parallel
