"""Test suites of public repositories, unmodified, with device="cuda" on emulated GPUs.

python benchmarks/torch_device_suites.py --checkouts FOLDER [--only NAME ...] [--gpus mi300x,rx7900xtx,cpu] [--most 12]

FOLDER holds a checkout of each repository under its own name (diff-gaussian-rasterization with its submodule glm). The
suites need einops, transformers, scipy, accelerate, expecttest, termcolor, matplotlib, omegaconf, dacite, rich, pyyaml,
wheel and google-research/fast-soft-sort besides torch and pytest, and three of them Triton 3.6. Which ones, and which
row of its table is of which run, is in docs/torch-extensions.md. A suite of thousands of tests is thinned out to
`--most` tests of each file, drawn with a fixed seed; which ones does not depend on how they end. "cpu" among the GPUs
is the plain CPU, without emulation: it shows which tests have a CPU path.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from kernel_pytorch.core.children import ended_by_signals
from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.verify.isolation.trees import FolderTree
from kernel_pytorch.verify.project_tests import TestRun, run_tests

HERE = Path(__file__).parent / "torch_device_suites"
CPU = "cpu"


@dataclass(frozen=True)
class Suite:
    """Which tests of a repository are run. `files`: what is copied of it; `own`: a test of ours where it has none."""

    name: str
    owner: str
    kind: str
    tests: tuple[str, ...]
    files: tuple[str, ...] = ("*",)
    environment: dict[str, str] = field(default_factory=dict)
    paths: tuple[str, ...] = ()  # folders of it that modules are imported from
    own: str = ""
    ported: bool = False  # a ROCm torch does not build it as it is (why is in docs/torch-extensions.md): kpt port first
    on_cpu: dict[str, str] = field(default_factory=dict)  # variables of a build for the plain CPU
    unread: bool = False  # nobody here had opened the repository before it was run


SUITES = (
    Suite("Liger-Kernel", "linkedin", "Triton",
          ("test/transformers/test_rms_norm.py", "test/transformers/test_geglu.py", "test/transformers/test_dyt.py",
           "test/transformers/test_layer_norm.py", "test/transformers/test_rope.py",
           "test/transformers/test_softmax.py"),
          paths=("src", ".")),
    Suite("flash-linear-attention", "fla-org", "Triton",
          ("tests/modules/test_layernorm.py", "tests/modules/test_l2norm.py", "tests/modules/test_activation.py",
           "tests/modules/test_rotary.py", "tests/ops/test_solve_tril.py"),
          files=("fla/*", "tests/*", "*.py", "*.toml")),
    Suite("mamba", "state-spaces", "CUDA extension and Triton",
          ("tests/ops/triton/test_layernorm_gated.py", "tests/ops/triton/test_selective_state_update.py"),
          environment={"MAMBA_SKIP_CUDA_BUILD": "TRUE"}),
    Suite("causal-conv1d", "Dao-AILab", "CUDA extension", ("tests/test_causal_conv1d.py",),
          environment={"CAUSAL_CONV1D_FORCE_BUILD": "TRUE"}),
    Suite("pytorch_scatter", "rusty1s", "CUDA extension", ("test/test_scatter.py", "test/test_segment.py",
          "test/test_gather.py", "test/test_zero_tensors.py"), environment={"FORCE_CUDA": "1"},
          on_cpu={"FORCE_ONLY_CPU": "1"}),
    Suite("pytorch_cluster", "rusty1s", "CUDA extension", ("test",), environment={"FORCE_CUDA": "1"},
          on_cpu={"FORCE_ONLY_CPU": "1"}),
    Suite("nerfacc", "nerfstudio-project", "CUDA extension", ("tests",)),
    Suite("hqq", "mobiusml", "quantiser, torch and Triton", ("tests",)),
    Suite("diff-gaussian-rasterization", "graphdeco-inria", "CUDA extension", ("test_ours.py",),
          own="test_rasterizer.py", ported=True),
    Suite("attorch", "BobMcDear", "Triton",
          ("tests/test_act_layers.py", "tests/test_softmax_layers.py", "tests/test_glu_layer.py",
           "tests/test_rms_norm_layer.py", "tests/test_cross_entropy_loss_layer.py"), unread=True),
    Suite("extension-cpp", "pytorch", "CUDA extension", ("test/test_extension.py",), ported=True, unread=True),
    Suite("pytorch_spline_conv", "rusty1s", "CUDA extension", ("test",), environment={"FORCE_CUDA": "1"},
          on_cpu={"FORCE_ONLY_CPU": "1"}, unread=True),
    Suite("fast-hadamard-transform", "Dao-AILab", "CUDA extension", ("tests/test_fast_hadamard_transform.py",),
          environment={"FAST_HADAMARD_TRANSFORM_FORCE_BUILD": "TRUE"}, ported=True, unread=True),
    Suite("ml-cross-entropy", "apple", "Triton", ("tests/test_cce_lse.py", "tests/test_cce_indexed_dot.py"),
          unread=True),
    Suite("mlstm_kernels", "NX-AI", "Triton", ("tests/torch",), unread=True),
    Suite("scattermoe", "shawntan", "Triton", ("tests",), unread=True),
    Suite("accelerated-scan", "proger", "CUDA extension and Triton", ("tests/test_eq.py",), ported=True, unread=True),
    Suite("trident", "kakaobrain", "Triton", ("tests",), paths=(".",), unread=True),
    Suite("torchsort", "teddykoker", "CUDA extension", ("tests",), ported=True, unread=True),
    Suite("FlagGems", "FlagOpen", "Triton", ("tests/test_unary_pointwise_ops.py", "tests/test_norm_ops.py"),
          paths=("src", "."), unread=True),
)  # fmt: skip

_THIN = """
import random

def pytest_collection_modifyitems(config, items):
    most, files, kept, left = {most}, {{}}, [], []
    for item in items:
        files.setdefault(str(item.fspath), []).append(item)
    for every in files.values():
        # Not every second one: where the last parameter is the device, that would be the CPU each time.
        chosen = set(random.Random(0).sample(range(len(every)), min(most, len(every))))
        kept += [item for number, item in enumerate(every) if number in chosen]
        left += [item for number, item in enumerate(every) if number not in chosen]
    config.hook.pytest_deselected(items=left)
    items[:] = kept
"""


class _Files(FolderTree):
    """The part of a checkout that a suite needs, and a test of ours beside it."""

    def __init__(self, root: Path, suite: Suite, most: int) -> None:
        super().__init__(root)
        self.suite, self.thin = suite, _THIN.format(most=most).encode()

    def paths(self) -> frozenset[str]:
        found = {path for path in super().paths() if any(fnmatch.fnmatch(path, one) for one in self.suite.files)}
        return frozenset(found | {"kpt_thin.py"} | ({"test_ours.py"} if self.suite.own else set()))

    def read(self, path: str) -> bytes:
        if path == "kpt_thin.py":
            return self.thin
        return (HERE / self.suite.own).read_bytes() if path == "test_ours.py" else super().read(path)


def _port(checkout: Path, to: Path) -> Path:
    # With its builds: a port without them lacks what the compiler's words would have repaired.
    command = python_module("kernel_pytorch", "port", str(checkout), "--out", str(to), "--arch", "gfx942")
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 1):  # 1: findings are left for a person
        raise SystemExit(f"kpt port {checkout} ended with status {done.returncode}")
    return to


def run_suite(
    suite: Suite, checkout: Path, gpu: str, most: int, timeout_s: float, per_test: float
) -> tuple[TestRun, float]:
    started, before = time.monotonic(), dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="kpt-suite-") as scratch:
        if suite.ported:
            checkout = _port(checkout, Path(scratch) / suite.name)
        variables = suite.environment if gpu != CPU else suite.on_cpu
        paths = f" -o 'pythonpath={' '.join(suite.paths)}'" if suite.paths else ""
        os.environ.update({**variables, "PYTEST_ADDOPTS": f"-p kpt_thin --timeout={per_test:g}{paths}"})
        try:
            on = None if gpu == CPU else gpu_by_alias(gpu)
            run = run_tests(_Files(checkout, suite, most), suite.tests, on, timeout_s)
        finally:
            os.environ.clear()
            os.environ.update(before)
    return run, time.monotonic() - started


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkouts", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[suite.name for suite in SUITES])
    parser.add_argument("--gpus", default="mi300x,rx7900xtx")
    parser.add_argument("--most", type=int, default=12, help="tests of each file")
    parser.add_argument("--timeout", type=float, default=1500.0, help="seconds for one suite on one GPU")
    parser.add_argument("--per-test", type=float, default=300.0, help="seconds for one test (needs pytest-timeout)")
    parser.add_argument("--json", type=Path, help="write every result there")
    options = parser.parse_args()
    kept = []
    print("| repository | GPU | passed | failed | skipped | kernels as machine code | operators on the CPU | s |")
    print("|---|---|---|---|---|---|---|---|")
    for suite in (suite for suite in SUITES if suite.name in options.only):
        for gpu in options.gpus.split(","):
            limits = options.most, options.timeout, options.per_test
            run, seconds = run_suite(suite, options.checkouts / suite.name, gpu, *limits)
            counts = Counter(run.results.values())
            name = f"{suite.owner}/{suite.name}" + (" (unread)" if suite.unread else "")
            cells = [name, gpu, *(counts[kind] for kind in ("passed", "failed", "skipped"))]
            cells += [
                f"{len(run.kernels)} ({sum(run.kernels.values())} launches)",
                len(run.operators),
                f"{seconds:.0f}",
            ]
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
            for test, message in run.messages.items():
                print(f"    {test}: {message}", file=sys.stderr, flush=True)
            if run.problem:
                print(f"    {suite.name}: {run.problem}", file=sys.stderr, flush=True)
            kept.append({"repository": suite.name, "gpu": gpu, "seconds": seconds, **vars(run)})
            if options.json:
                options.json.write_text(json.dumps(kept, indent=1, default=dict))
    return 0


if __name__ == "__main__":
    with ended_by_signals():  # what it started ends with it
        sys.exit(main())
