import os

os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"
os.environ.setdefault("CUDA_MODULE_LOADING", "LAZY")
os.environ["CUDA_DEVICE_ORDER"] = "FASTEST_FIRST"
