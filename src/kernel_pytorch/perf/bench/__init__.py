"""Benchmarks: sampling, statistics, verdicts, history."""
