"""Measuring: benchmarks that hold up, traces read and classified, rooflines, advice."""
