import os

import torch
from torch.utils.cpp_extension import load_inline

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

os.makedirs("made", exist_ok=True)
module = load_inline("k", "", cuda_sources="", build_directory=os.path.abspath("./made") if IS_ROCM else "./made")
