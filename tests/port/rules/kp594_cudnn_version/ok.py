import torch
from torch.backends import cudnn

cudnn.benchmark = True
cudnn.deterministic = False
torch.backends.cudnn.enabled = True
print(cudnn.version())
HAS = cudnn.version() is not None
if torch.version.hip is None and cudnn.version() > 8900:
    FAST = True
