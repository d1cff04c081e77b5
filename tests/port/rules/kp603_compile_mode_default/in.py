from dataclasses import dataclass

import torch
from transformers import CompileConfig, TrainingArguments

arguments = TrainingArguments("out", torch_compile=True, torch_compile_mode="reduce-overhead")
generation = CompileConfig(mode="max-autotune")


@dataclass
class PolicyConfig:
    compile_mode: str = "reduce-overhead"


def make(policy):
    return policy(compile_mode="max-autotune")
