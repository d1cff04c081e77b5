import torch

has_hopper = "sm_90" in torch.cuda.get_arch_list()
names = [arch for arch in torch.cuda.get_arch_list() if arch]
print(torch.cuda.get_arch_list())
