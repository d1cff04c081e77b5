import torch
import torch._dynamo.config as dynamo_config
import torch._inductor.config

torch._inductor.config.max_autotune = False
torch._inductor.config.coordinate_descent_tuning = True
torch._inductor.config.epilogue_fusion = False
dynamo_config.cache_size_limit = 128
