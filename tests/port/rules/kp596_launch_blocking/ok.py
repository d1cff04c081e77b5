import os

os.environ["CUDA_LAUNCH_BLOCKING"] = "0"
print("set CUDA_LAUNCH_BLOCKING=1")
waits = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
