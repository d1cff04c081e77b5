"""Graph capture on an NVIDIA GPU.

With pytest: `python -m pytest tests/hw -m nvidia`. Without: `python tests/hw/test_graphs_nvidia.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

import torch  # noqa: E402
from graph_cases import CASES, run_as_script  # noqa: E402

HAS_GPU = torch.version.cuda is not None and torch.cuda.is_available()

try:
    import pytest
except ImportError:
    pass
else:
    pytestmark = [
        pytest.mark.nvidia,
        pytest.mark.skipif(not HAS_GPU, reason="needs an NVIDIA GPU and a CUDA build of torch"),
    ]

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("case_"))
    def test_graphs(case: Callable[[], None]) -> None:
        case()


if __name__ == "__main__":
    if not HAS_GPU:
        sys.exit("not run: this needs an NVIDIA GPU and a CUDA build of torch")
    sys.exit(run_as_script())
