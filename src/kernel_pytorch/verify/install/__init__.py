"""Does the project install on ROCm? Its own build description runs here, with a ROCm that is stood in for.

`worker.py` runs setup.py in a child process and records every compiler command that the build would start. Nothing is
compiled by it. `judge.py` compares what a CUDA machine and a ROCm machine would build.
"""
