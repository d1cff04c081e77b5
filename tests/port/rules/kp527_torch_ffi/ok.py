import cffi
from torch.utils import cpp_extension, data

ffi = cffi.FFI()
