import re

import torch


def is_rdna4(words):
    arch = torch.cuda.get_device_properties(0).gcnArchName.split(":")[0]
    return arch in ("gfx1200", "gfx1201") or "gfx12" in words


def targets(text):
    return re.findall(r"gfx[0-9a-f]+", text)
