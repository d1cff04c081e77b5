"""`kpt bench` and `kpt profile` on an AMD GPU: `python -m pytest tests/hw -m amd`."""

from __future__ import annotations

import pytest
import torch
from perf_cases import a_profile_adds_up, more_work_is_found_and_the_same_is_not_called_different

pytestmark = [
    pytest.mark.amd,
    pytest.mark.skipif(torch.version.hip is None or not torch.cuda.is_available(), reason="no AMD GPU"),
]


def test_verdicts() -> None:
    more_work_is_found_and_the_same_is_not_called_different()


def test_a_profile() -> None:
    a_profile_adds_up("amd")
