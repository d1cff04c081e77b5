from transformers import TrainingArguments, TrainingSettings


def arguments(out, torch, tf32):
    return [
        TrainingArguments(output_dir=out, tf32=False),
        TrainingArguments(output_dir=out, tf32=None if torch.version.hip else True),
        TrainingArguments(output_dir=out, tf32=tf32),
        TrainingSettings(tf32=True),
    ]
