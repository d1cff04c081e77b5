import torch

version = torch.version.hip
both = torch.version.hip or torch.version.rocm
asked = torch.version.rocm if hasattr(torch.version, "rocm") else None
text = "torch.version.rocm"
