"""Tests that need a real GPU. Each is marked `amd` or `nvidia`, and skipped, with the reason, where that GPU is not.

They need torch, pytest and this source tree, nothing installed: `make test-amd`, `make test-nvidia`.
"""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(params=[pytest.param("amd", marks=pytest.mark.amd), pytest.param("nvidia", marks=pytest.mark.nvidia)])
def gpu(request: pytest.FixtureRequest) -> str:
    """Either vendor's GPU: a test that asks for it runs under both marks."""
    name: str = request.param
    return name


def pytest_runtest_setup(item: pytest.Item) -> None:
    its_torch = {"amd": torch.version.hip is not None, "nvidia": torch.version.cuda is not None}
    for vendor, is_here in its_torch.items():
        if item.get_closest_marker(vendor) and not (is_here and torch.cuda.is_available()):
            pytest.skip(f"needs a GPU of {vendor} and a torch built for it")
