import torch


def pack(weight, tiles):
    return torch.ops.aten._convert_weight_to_int4pack(weight, tiles)


def product(x, packed, group, scales):
    return torch.ops.aten._weight_int4pack_mm(x, packed, group, scales)
