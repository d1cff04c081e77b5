import subprocess

import torch

if torch.cuda.is_available():
    import pynvml

    pynvml.nvmlInit()


def memory():
    if torch.cuda.is_available():
        return subprocess.check_output(["nvidia-smi", "--query-gpu=memory.used"])
    return None
