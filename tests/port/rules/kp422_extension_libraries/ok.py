from torch.utils.cpp_extension import CUDAExtension

first = CUDAExtension("a", ["a.cu"], libraries=["m", "z"])
libraries = ["cublas"]
