import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

SOURCE = "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }"
twice = torch.cuda._compile_kernel(
    SOURCE, "twice", compute_capability=None if IS_ROCM else "90", nvcc_options=["-gline-tables-only", "-ffp-contract=fast", "-fno-math-errno", "-DN=4"] if IS_ROCM else ["-lineinfo", "--use_fast_math", "-DN=4"]
)


def build(capability):
    return torch.cuda._compile_kernel(SOURCE, "twice", compute_capability=None if IS_ROCM else capability)
