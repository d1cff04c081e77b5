import os

from torch.utils.cpp_extension import load, load_inline

one = load_inline("k", "", cuda_sources="", build_directory="/tmp/made")
two = load_inline("k", "", cuda_sources="", build_directory=os.path.abspath("made"))
three = load("k", ["k.cu"], build_directory="made")
