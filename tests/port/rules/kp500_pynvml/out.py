def _is_rocm():
    from importlib.util import find_spec
    from pathlib import Path

    torch = find_spec("torch")
    return bool(torch and torch.origin and (Path(torch.origin).parent / "lib" / "libtorch_hip.so").is_file())


IS_ROCM = _is_rocm()

if IS_ROCM:
    from . import _rocm_nvml as pynvml
else:
    import pynvml
if IS_ROCM:
    from ._rocm_nvml import nvmlDeviceGetCount, nvmlInit as start
else:
    from pynvml import nvmlDeviceGetCount, nvmlInit as start


def used(index):
    pynvml.nvmlInit()
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        return pynvml.nvmlDeviceGetMemoryInfo(handle).used
    except pynvml.NVMLError:
        return None


def links(index):
    import pynvml as nvml

    return nvml.nvmlDeviceGetNvLinkState(index, 0)


def optional():
    try:
        from pynvml import nvmlShutdown
    except ImportError:
        return None
    return nvmlShutdown
