"""Graph capture on an AMD GPU.

With pytest: `python -m pytest tests/hw -m amd`. Without: `python tests/hw/test_graphs_amd.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

import torch  # noqa: E402
from graph_cases import CASES, run_as_script  # noqa: E402

HAS_GPU = torch.version.hip is not None and torch.cuda.is_available()

try:
    import pytest
except ImportError:
    pass
else:
    pytestmark = [
        pytest.mark.amd,
        pytest.mark.skipif(not HAS_GPU, reason="needs an AMD GPU and a ROCm build of torch"),
    ]

    @pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("case_"))
    def test_graphs(case: Callable[[], None]) -> None:
        case()


if __name__ == "__main__":
    if not HAS_GPU:
        sys.exit("not run: this needs an AMD GPU and a ROCm build of torch")
    sys.exit(run_as_script())
