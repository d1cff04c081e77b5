import importlib.metadata
from importlib.metadata import PackageNotFoundError, version

import pkg_resources
import torch
import triton
from lightning_utilities.core.imports import RequirementCache

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

NEW = RequirementCache("triton>=3.2")
OLD = pkg_resources.get_distribution("triton").version


def is_new():
    try:
        return int((triton.__version__ if IS_ROCM else version("triton")).split(".")[0]) >= 3
    except PackageNotFoundError:
        return False


def banner():
    return triton.__version__ if IS_ROCM else importlib.metadata.version("triton")
