"""CUDA C++ to HIP C++: one file, a tree of files, and the figures of both."""
