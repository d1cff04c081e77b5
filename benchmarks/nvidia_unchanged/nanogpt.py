"""nanoGPT: train.py (20 steps, compiled) and bench.py (30 steps, compiled), as scripts."""

from __future__ import annotations

import os
import pickle
import runpy
import sys
from pathlib import Path

import numpy
import torch

VOCABULARY = 1024


def run(tree: Path, device: str) -> dict[str, object]:
    small = ["--n_layer=4", "--n_head=4", "--n_embd=256", "--block_size=256", "--batch_size=8", "--dropout=0.1"]
    if device == "cpu":
        small = ["--n_layer=1", "--n_head=2", "--n_embd=32", "--block_size=32", "--batch_size=2", "--dropout=0.1"]
    compiled = ["--compile=True" if device == "cuda" else "--compile=False", f"--device={device}"]
    _data(tree)
    train = _script(
        tree,
        "train.py",
        [*small, *compiled, "--dataset=random", "--max_iters=20", "--lr_decay_iters=20", "--warmup_iters=2",
         "--eval_interval=20", "--eval_iters=2", "--log_interval=5", "--gradient_accumulation_steps=2"],
    )  # fmt: skip
    results: dict[str, object] = {
        "train.py: weights": _weights(train["model"]),
        "train.py: validation loss": train["losses"]["val"],  # type: ignore[index]
        "train.py: tf32": torch.backends.cuda.matmul.allow_tf32,
    }
    if device == "cuda":
        torch._dynamo.reset()
        bench = _script(tree, "bench.py", ["--real_data=False", *compiled, "--batch_size=4"])
        results["bench.py: loss"] = bench["loss"]
        results["bench.py: weights"] = _weights(bench["model"])
    return results


def _data(tree: Path) -> None:
    folder = tree / "data" / "random"
    folder.mkdir(exist_ok=True)
    numbers = numpy.random.default_rng(0).integers(0, VOCABULARY, 100_000).astype(numpy.uint16)
    for name in ("train.bin", "val.bin"):
        numbers.tofile(folder / name)
    (folder / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": VOCABULARY}))


def _script(tree: Path, name: str, arguments: list[str]) -> dict[str, object]:
    os.chdir(tree)
    sys.path.insert(0, str(tree))
    sys.argv = [name, *arguments]
    return runpy.run_path(name, run_name="__main__")


def _weights(model: object) -> torch.Tensor:
    assert isinstance(model, torch.nn.Module)
    return torch.cat([item.detach().float().flatten() for item in model.parameters()])
