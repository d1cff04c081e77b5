"""CUDA's names and headers, and what takes their place."""
