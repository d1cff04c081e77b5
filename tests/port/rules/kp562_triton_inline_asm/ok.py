import torch
import triton
import triton.language as tl

IS_ROCM = torch.version.hip is not None


@triton.jit
def tanh_nv(x):
    return tl.inline_asm_elementwise("tanh.approx.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)


@triton.jit
def tanh_amd(x):
    return tl.inline_asm_elementwise("v_exp_f32 $0, $1", "=v,v", [x], dtype=tl.float32, is_pure=True, pack=1)


if IS_ROCM:
    tanh = tanh_amd
else:
    tanh = tanh_nv
