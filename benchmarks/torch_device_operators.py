"""Every operator that torch has test samples for, on the emulated GPU and on the CPU: results and gradients compared.

    kpt emulate --gpu mi300x -- python benchmarks/torch_device_operators.py [--only NAMES] [--dtype float32]

The samples are torch's own (torch.testing._internal, which needs `pip install expecttest`). An operator counts as the
same when every sample is: shapes, types, devices, values, gradients. What the GPU refuses and the CPU does not, and the
other way round, is listed with the message.
"""

from __future__ import annotations

import argparse
import collections
import sys
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_map_only


def on(device: str, value: Any) -> Any:
    def moved(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.detach().to(device).requires_grad_(tensor.requires_grad)

    return tree_map_only(torch.Tensor, moved, value)


def run(op: Any, sample: Any, device: str, dtype: torch.dtype) -> tuple[list[Any], list[Any]]:
    """Results, and gradients of the tensors that want one."""
    torch.manual_seed(0)
    given = on(device, (sample.input, sample.args, dict(sample.kwargs)))
    if "device" in given[2]:
        given[2]["device"] = device
    results, _ = tree_flatten(op(given[0], *given[1], **given[2]))
    leaves = [leaf for leaf in tree_flatten(given)[0] if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    wanted = [one for one in results if isinstance(one, torch.Tensor) and one.requires_grad and one.is_floating_point()]
    gradients: list[Any] = []
    if leaves and wanted:
        gradients = list(torch.autograd.grad([one.sum() for one in wanted], leaves, allow_unused=True))
    return results, gradients


def differs(cpu: list[Any], gpu: list[Any], wants_cuda: bool) -> str:
    if len(cpu) != len(gpu):
        return f"{len(gpu)} results, the CPU gives {len(cpu)}"
    for left, right in zip(cpu, gpu, strict=True):
        if not isinstance(left, torch.Tensor):
            if left != right and not (left != left and right != right):
                return f"{right!r}, the CPU gives {left!r}"
            continue
        if not isinstance(right, torch.Tensor):
            return f"no tensor: {right!r}"
        if wants_cuda and not right.is_cuda:
            return f"a tensor on {right.device}"
        try:
            torch.testing.assert_close(right.cpu(), left, equal_nan=True)
        except AssertionError as problem:
            return str(problem).splitlines()[0]
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--part", default="0/1", help="k/n: every n-th operator from the k-th on")
    parser.add_argument("--verbose", action="store_true", help="each operator's name before it runs")
    args = parser.parse_args()
    dtype = getattr(torch, args.dtype)
    names = set(filter(None, args.only.split(",")))
    start, step = map(int, args.part.split("/"))
    outcome: dict[str, list[str]] = collections.defaultdict(list)
    for op in op_db[start::step]:
        full = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        if names and op.name not in names:
            continue
        if dtype not in op.supported_dtypes("cpu"):
            outcome["not for this type"].append(full)
            continue
        gradient = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
        try:
            samples = [
                one
                for one, _ in zip(
                    op.sample_inputs("cpu", dtype, requires_grad=gradient), range(args.samples), strict=False
                )
            ]
        except Exception as problem:
            outcome["no samples"].append(f"{full}: {problem}")
            continue
        if args.verbose:
            print(full, file=sys.stderr, flush=True)
        verdict = "same"
        for sample in samples:
            try:
                cpu = run(op, sample, "cpu", dtype)
            except Exception:
                continue
            try:
                gpu = run(op, sample, "cuda", dtype)
            except Exception as problem:
                verdict = f"raised {type(problem).__name__}: {str(problem).splitlines()[0][:200]}"
                break
            seeded = "nondeterministic" if full in RANDOM else ""
            problem = "" if seeded else differs(cpu[0], gpu[0], True) or differs(cpu[1], gpu[1], True)
            if problem:
                verdict = f"differs: {problem[:200]}"
                break
        kind = verdict.split(":")[0].split(" ")[0]
        outcome[kind].append(full if kind == "same" else f"{full}: {verdict}")
        if kind != "same":
            print(f"{full}: {verdict}", flush=True)
    print({kind: len(found) for kind, found in outcome.items()})
    return 0


# Uninitialised memory is no result.
RANDOM = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
}

if __name__ == "__main__":
    sys.exit(main())
