"""CUDA and PyTorch source to ROCm source. This room never imports torch."""
