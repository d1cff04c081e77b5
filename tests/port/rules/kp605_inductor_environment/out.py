import os

os.environ["TORCHINDUCTOR_MAX_AUTOTUNE"] = "1"
os.environ.setdefault("TORCHINDUCTOR_MAX_AUTOTUNE_POINTWISE", "1")

import torch
