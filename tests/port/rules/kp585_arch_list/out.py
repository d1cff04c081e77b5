import torch

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

numbers = [int(arch.split("_")[1]) for arch in ([] if IS_ROCM else torch.cuda.get_arch_list())]
newest = max(int(arch[3:]) for arch in torch.cuda.get_arch_list())


def built_for():
    for arch in ([] if IS_ROCM else torch.cuda.get_arch_list()):
        yield int(arch.replace("sm_", ""))
