"""Reads recordings of a run: torch's chrome traces, and what rocprof and rocprofv3 write."""
