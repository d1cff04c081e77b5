from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from kernel_pytorch.port.deps.packages import ACTIONS, CONFIDENCES, classify, normalize, package_table

TAGS = {"requires-torch", "jax", "breaks-torch", "conda"}


def test_every_row_is_well_formed() -> None:
    rows = package_table()
    assert len(rows) > 300
    patterns = [row.pattern for row in rows]
    assert len(set(patterns)) == len(patterns)
    for row in rows:
        assert row.action in ACTIONS, row
        assert row.confidence in CONFIDENCES, row
        assert row.tags <= TAGS, row
        assert row.reason and row.source.startswith("https://"), row
        base = row.pattern.partition("[")[0]
        assert normalize(base.replace("*", "x")).replace("x", "") == base.replace("*", "").replace("x", ""), row
        if row.replacement:
            assert row.action == "substitute", row
            assert not Requirement(row.replacement).url, row
            replaced = classify(Requirement(row.replacement).name)
            # A replacement may not itself be something to drop, or another substitution without end.
            assert replaced is None or replaced.action == "keep" or replaced.replacement == row.replacement, row
        if row.action == "substitute":
            assert row.replacement or row.how, row


@pytest.mark.parametrize(
    ("name", "extras", "action"),
    [
        ("torch", (), "protected"),
        ("Torchvision", (), "protected"),
        ("pytorch_triton_rocm", (), "protected"),
        ("rocm-sdk-core", (), "protected"),
        ("nvidia-cublas-cu12", (), "drop"),
        ("nvidia_nccl_cu13", (), "drop"),
        ("nvidia-dali-cuda120", (), "person"),
        ("nvidia-ml-py3", (), "drop"),
        ("cuda-python", (), "drop"),
        ("cupy-cuda12x", (), "substitute"),
        ("cupy-rocm-7-0", (), "keep"),
        ("faiss-gpu-cu12", (), "substitute"),
        ("cudf-cu12", (), "person"),
        ("somebody-cu121", (), "person"),
        ("jax", (), "drop"),
        ("jax", ("cuda12",), "drop"),
        ("jaxtyping", (), "keep"),
        ("transformers", ("torch",), "keep"),
        ("tensorflow", ("and-cuda",), "substitute"),
        ("tensorflow", (), "keep"),
    ],
)
def test_known_names(name: str, extras: tuple[str, ...], action: str) -> None:
    row = classify(name, extras)
    assert row is not None and row.action == action


def test_ordinary_and_conda_only_names() -> None:
    assert classify("numpy") is None
    assert classify("transformers") is None
    assert classify("cudatoolkit") is None
    conda = classify("cudatoolkit", ecosystem="conda")
    assert conda is not None and conda.action == "drop"
    pytorch = classify("pytorch", ecosystem="conda")
    assert pytorch is not None and pytorch.action == "protected"


def test_what_pulls_torch_is_known() -> None:
    accelerate = classify("accelerate")
    assert accelerate is not None and accelerate.requires_torch
    plain = classify("jaxtyping")
    assert plain is not None and not plain.requires_torch
