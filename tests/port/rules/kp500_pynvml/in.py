import pynvml
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
