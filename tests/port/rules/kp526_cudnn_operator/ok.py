import torch


def forward(x, weight):
    if torch.version.hip is None:
        return torch.cudnn_convolution(x, weight, (1, 1), (1, 1), (1, 1), 1, False, False, True)
    torch.backends.cudnn.benchmark = True
    return torch.conv2d(x, weight, None, (1, 1), (1, 1))
