import os

os.environ["TORCHINDUCTOR_MAX_AUTOTUNE"] = "0"
os.environ["TORCHINDUCTOR_CACHE_DIR"] = "cache"
os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "1"
