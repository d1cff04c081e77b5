import torch

if torch.backends.cudnn.version() >= 8900:
    FAST = True
version = torch.backends.cudnn.version()
NEW = version > 90000
