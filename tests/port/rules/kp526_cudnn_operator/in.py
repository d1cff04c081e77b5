import torch


def weight_gradient(transpose, shape, grad, x, padding, stride, dilation, groups):
    name = "aten::cudnn_convolution_transpose_backward_weight" if transpose else "aten::cudnn_convolution_backward_weight"
    operator = torch._C._jit_get_operation(name)
    return operator(shape, grad, x, padding, stride, dilation, groups, False, False, False)


def forward(x, weight):
    return torch.cudnn_convolution(x, weight, (1, 1), (1, 1), (1, 1), 1, False, False, True)


def normalized(x, weight, bias, mean, variance):
    return torch.ops.aten.cudnn_batch_norm.default(x, weight, bias, mean, variance, True, 0.1, 1e-5)
