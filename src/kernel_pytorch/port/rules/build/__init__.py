"""Rules that read build files: CMake, Makefiles, setup.py."""
