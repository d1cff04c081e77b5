import torch

SOURCE = "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }"
twice = torch.cuda._compile_kernel(
    SOURCE, "twice", compute_capability="90", nvcc_options=["-lineinfo", "--use_fast_math", "-DN=4"]
)


def build(capability):
    return torch.cuda._compile_kernel(SOURCE, "twice", compute_capability=capability)
