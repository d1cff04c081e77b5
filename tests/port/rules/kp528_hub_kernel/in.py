import kernels
from kernels import get_kernel

attention = get_kernel("kernels-community/flash-attn3", version=1)
activation = kernels.get_kernel("kernels-community/activation")


def load(name):
    return get_kernel(name)


def model(AutoModel):
    return AutoModel.from_pretrained("x", attn_implementation="kernels-community/vllm-flash-attn3")
