import os

shown = os.environ.get("CUDA_VISIBLE_DEVICES")
os.environ["OMP_NUM_THREADS"] = "1"
settings = {"CUDA_VISIBLE_DEVICES": "0"}
