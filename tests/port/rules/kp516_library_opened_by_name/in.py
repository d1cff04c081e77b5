import ctypes
import ctypes.util

runtime = ctypes.CDLL("libcudart.so")
driver = ctypes.cdll.LoadLibrary("/usr/lib/libcuda.so.1")
found = ctypes.util.find_library("nccl")


def open_one(name="libcublasLt"):
    return ctypes.CDLL(f"{name}.so")
