import torch

PEAK = {"A100": 312e12, "H100": 989e12}


def peak():
    name = torch.cuda.get_device_name()
    if "A100" in name:
        return PEAK["A100"]
    if torch.cuda.get_device_properties(0).name.startswith("NVIDIA H100"):
        return PEAK["H100"]
    return None


def is_consumer():
    return "rtx" in torch.cuda.get_device_name(0).lower()


def links():
    gpu_name = torch.cuda.get_device_name().lower()
    if "nvidia" in gpu_name:
        return "NVLink"
    elif "intel" in gpu_name:
        return "Xe Link"
    return None
