import torch

IS_ROCM = torch.version.hip is not None
FP8_TYPES = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)


def fp8_type(arch):
    return torch.float8_e4m3fnuz if arch.startswith("gfx94") else torch.float8_e4m3fn


def quantize(x):
    if not IS_ROCM:
        return x.to(torch.float8_e4m3fn)
    return x.to(fp8_type(torch.cuda.get_device_properties("cuda").gcnArchName))


DOC = "x.to(torch.float8_e4m3fn)"


def scales(shape, precision):
    assert precision in ("int4", "nvfp4")
    return torch.empty(shape, dtype=torch.float16 if precision == "int4" else torch.float8_e4m3fn)
