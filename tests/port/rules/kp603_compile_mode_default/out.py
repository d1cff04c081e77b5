from dataclasses import dataclass

import torch
from transformers import CompileConfig, TrainingArguments

IS_ROCM = hasattr(torch.version, "hip") and torch.version.hip is not None

arguments = TrainingArguments("out", torch_compile=True, torch_compile_mode="default" if IS_ROCM else "reduce-overhead")
generation = CompileConfig(mode="default" if IS_ROCM else "max-autotune")


@dataclass
class PolicyConfig:
    compile_mode: str = "reduce-overhead"


def make(policy):
    return policy(compile_mode="max-autotune")
