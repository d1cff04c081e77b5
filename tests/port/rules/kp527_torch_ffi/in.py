import torch
from torch.utils.ffi import create_extension
from torch.utils import ffi

extension = create_extension("_ext.rows", headers=["rows.h"], sources=["rows.c"], with_cuda=torch.cuda.is_available())
other = ffi.create_extension("_ext.columns", headers=["columns.h"], sources=["columns.c"])
