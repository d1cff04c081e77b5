import ctypes
import ctypes.util

runtime = ctypes.CDLL("libm.so.6")
found = ctypes.util.find_library("c")
what = "cuda"
folder = "/usr/lib/libcuda-notes.txt"
