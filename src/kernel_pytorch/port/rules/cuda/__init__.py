"""Rules that read CUDA and C++."""
