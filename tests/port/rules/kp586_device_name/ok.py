import torch


def is_cdna3():
    return torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx942")


def report(user):
    print(torch.cuda.get_device_name())
    name = torch.cuda.get_device_name()
    return "MI300" in name or "A100" in user.name


def links():
    gpu_name = torch.cuda.get_device_properties(0).name.lower()
    if "nvidia" in gpu_name:
        return "NVLink"
    elif "advanced micro devices" in gpu_name or "amd" in gpu_name:
        return "XGMI"
    return None
