"""Build files of C++ projects: CMake gets gated additions, a Makefile with nvcc gets a twin for hipcc."""
