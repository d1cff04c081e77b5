import os
from os import environ

os.environ["NCCL_NVLS_ENABLE"] = "1"
environ.setdefault("NCCL_P2P_LEVEL", "NVL")
os.putenv("NCCL_COLLNET_ENABLE", "1")
