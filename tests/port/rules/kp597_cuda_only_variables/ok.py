import os

os.environ["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
os.environ["NCCL_DEBUG"] = "INFO"
connections = os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS")
