"""Settings of the whole test run."""

from __future__ import annotations

import os

# Tests run one process per core: threads inside each would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")
