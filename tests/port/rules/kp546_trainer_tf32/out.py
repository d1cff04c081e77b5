from dataclasses import dataclass, field

from transformers import Seq2SeqTrainingArguments, TrainingArguments
from trl import SFTConfig


def _is_rocm():
    from importlib.util import find_spec
    from pathlib import Path

    torch = find_spec("torch")
    return bool(torch and torch.origin and (Path(torch.origin).parent / "lib" / "libtorch_hip.so").is_file())


IS_ROCM = _is_rocm()


@dataclass
class OurArguments(TrainingArguments):
    tf32: bool = field(default=None if IS_ROCM else True, metadata={"help": "TF32"})


def arguments(out):
    fast = True
    return [
        TrainingArguments(output_dir=out, tf32=None if IS_ROCM else True),
        Seq2SeqTrainingArguments(out, tf32=None if IS_ROCM else fast),
        SFTConfig(output_dir=out, **{"tf32": None if IS_ROCM else True}),
        OurArguments(out, tf32=None if IS_ROCM else True),
    ]
