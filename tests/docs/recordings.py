"""Recordings as a GPU machine makes them, for the guide on profiles; `python -m tests.docs.recordings` writes them."""

from __future__ import annotations

from pathlib import Path

from tests.perf.trace.test_rocprof import V3, make_rocpd

if __name__ == "__main__":
    make_rocpd(Path("results.db"), "_1", views=True)
    Path("123_kernel_trace.csv").write_text(V3)
