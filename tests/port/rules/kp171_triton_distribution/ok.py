from importlib.metadata import version

import torch
from lightning_utilities.core.imports import RequirementCache

IS_ROCM = torch.version.hip is not None
AVAILABLE = RequirementCache("triton")
NEW = RequirementCache("triton>=3.2", module="triton")
TORCH = version("torch")
SERVER = version("tritonclient")


def triton_version():
    return None if IS_ROCM else version("triton")
