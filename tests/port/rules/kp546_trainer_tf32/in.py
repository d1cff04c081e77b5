from dataclasses import dataclass, field

from transformers import Seq2SeqTrainingArguments, TrainingArguments
from trl import SFTConfig


@dataclass
class OurArguments(TrainingArguments):
    tf32: bool = field(default=True, metadata={"help": "TF32"})


def arguments(out):
    fast = True
    return [
        TrainingArguments(output_dir=out, tf32=True),
        Seq2SeqTrainingArguments(out, tf32=fast),
        SFTConfig(output_dir=out, **{"tf32": True}),
        OurArguments(out, tf32=True),
    ]
