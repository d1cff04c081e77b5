import triton
import triton.language as tl

ASM = "ex2.approx.ftz.f32 $0, $1;"


@triton.jit
def tanh(x):
    return tl.inline_asm_elementwise(
        asm="tanh.approx.f32 $0, $1;", constraints="=f,f", args=[x], dtype=tl.float32, is_pure=True, pack=1
    )


@triton.jit
def exp2(x):
    return tl.inline_asm_elementwise(ASM, "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1)
