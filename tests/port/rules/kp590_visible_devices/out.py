import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = sys.argv[1]

import torch


def pin(rank):
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", str(rank))
    return torch.cuda.device_count()
