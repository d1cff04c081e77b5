import torch
from transformers import AutoModel

IS_ROCM = torch.version.hip is not None


def load(name, config):
    if config._attn_implementation == "flash_attention_2":
        print("flash_attention_2 is in use")
    gated = AutoModel.from_pretrained(name, attn_implementation="sdpa" if IS_ROCM else "flash_attention_2")
    return gated, AutoModel.from_pretrained(name, attn_implementation="sdpa")
