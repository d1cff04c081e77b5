import torch


def product(x, weight, scales):
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(weight, 2)
    if torch.version.hip is None:
        packed = torch.ops.aten._convert_weight_to_int4pack(weight, 8)
    return torch.ops.aten._weight_int8pack_mm(x, packed, scales)
