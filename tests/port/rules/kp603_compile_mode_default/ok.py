from dataclasses import dataclass

MODES = ("default", "reduce-overhead", "max-autotune")


@dataclass
class PolicyConfig:
    compile_mode: str = "default"
    overhead: str = "reduce-overhead"


def make(policy):
    return policy(compile_mode="max-autotune-no-cudagraphs", strategy="reduce-overhead")
