"""`kpt bench` and `kpt profile` on an NVIDIA GPU: `python -m pytest tests/hw -m nvidia`."""

from __future__ import annotations

import pytest
import torch
from perf_cases import a_profile_adds_up, more_work_is_found_and_the_same_is_not_called_different

pytestmark = [
    pytest.mark.nvidia,
    pytest.mark.skipif(torch.version.cuda is None or not torch.cuda.is_available(), reason="no NVIDIA GPU"),
]


def test_verdicts() -> None:
    more_work_is_found_and_the_same_is_not_called_different()


def test_a_profile() -> None:
    a_profile_adds_up("nvidia")
