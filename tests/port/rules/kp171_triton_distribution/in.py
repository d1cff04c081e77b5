import importlib.metadata
from importlib.metadata import PackageNotFoundError, version

import pkg_resources
import torch
import triton
from lightning_utilities.core.imports import RequirementCache

NEW = RequirementCache("triton>=3.2")
OLD = pkg_resources.get_distribution("triton").version


def is_new():
    try:
        return int(version("triton").split(".")[0]) >= 3
    except PackageNotFoundError:
        return False


def banner():
    return importlib.metadata.version("triton")
