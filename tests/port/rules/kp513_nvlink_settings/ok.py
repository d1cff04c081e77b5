import os

os.environ["NCCL_DEBUG"] = "INFO"
os.environ["NCCL_P2P_LEVEL"] = "PHB"
os.environ["NCCL_NVLS_ENABLE"] = "0"
os.environ.get("NCCL_NVLS_ENABLE")
