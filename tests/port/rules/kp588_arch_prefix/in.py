import re

import torch


def is_rdna4():
    arch = torch.cuda.get_device_properties(0).gcnArchName
    return "gfx12" in arch or arch.startswith("gfx12")


def targets(text):
    return re.findall(r"gfx\d+", text), re.search("gfx([0-9]+)", text)
