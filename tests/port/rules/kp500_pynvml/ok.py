import torch

IS_ROCM = torch.version.hip is not None
if not IS_ROCM:
    import pynvml

NOTE = "import pynvml"


def busy():
    return torch.cuda.utilization()
