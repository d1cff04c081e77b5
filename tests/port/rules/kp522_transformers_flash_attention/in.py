import torch
from transformers import AutoModel


def load(name, fast, attn_implementation="flash_attention_2"):
    model = AutoModel.from_pretrained(name, attn_implementation="flash_attention_2")
    model.config._attn_implementation = 'flash_attention_3'
    other = AutoModel.from_pretrained(name, attn_implementation="flash_attention_2" if fast else "eager")
    options = {"attn_implementation": "flash_attention_2", "dtype": torch.bfloat16}
    options["attn_implementation"] = "flash_attention_2"
    return model, other, AutoModel.from_pretrained(name, **options)


attention = "flash_attention_2"  # or sdpa, eager
held = AutoModel.from_pretrained("some/model", attn_implementation=attention)
parts = AutoModel.from_pretrained(
    "some/model",
    attn_implementation={"text": "sdpa", "vision": "flash_attention_2"},
)
