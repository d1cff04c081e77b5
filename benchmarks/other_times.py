"""A third set that neither formulas nor coefficients were made with: other people's measurements.

    python benchmarks/other_times.py --vidur ../vidur
    python benchmarks/other_times.py --hipblaslt ../hipBLASLt
    python benchmarks/other_times.py --trace trace.json.gz
    python benchmarks/other_times.py --threads

microsoft/vidur (MIT) carries times of the layers of six language models on H100 GPUs (data/profiling/compute/h100,
fp16, torch's profiler) and of all-reduces between them (data/profiling/network). Products, RMS norms and their like are
held against expected times as in amd_times.py. A row is a layer with a number of tokens and of GPUs that share it.
--hipblaslt does the same with the products that hipBLASLt was tuned for on MI300X, --trace with any torch trace.
--threads has single figures that people wrote into issues and pull requests.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from amd_times import class_of, pairs, table, thinned, whole_models
from thread_times import thread_rows
from times_data import Measured, content, files, recording_rows

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.roofline.collectives import sent_bytes
from kernel_pytorch.perf.roofline.forms import Collective, Product, Rows, Streamed
from kernel_pytorch.perf.roofline.work import Work
from kernel_pytorch.perf.trace.open import open_recording

COMPUTE, NETWORK = "data/profiling/compute/h100", "data/profiling/network/h100_dgx/all_reduce.csv"
LOGIC = "library/src/amd_detail/rocblaslt/src/Tensile/Logic/asm_full/aquavanjaram/gfx942/Equality"
SIZE = 2  # fp16, bf16
_TUNED = re.compile(r"- - \[([\d, ]+)\]\n    - \[\d+, ([\d.]+)\]")


def product(m: int, n: int, k: int) -> Work:
    """A linear layer without bias."""
    return Work(2 * m * n * k, SIZE * (m * k + n * k + m * n), "fp16", matrix=True, form=Product(1, m, n, k))


def layers(entry: dict[str, str]) -> Iterator[tuple[str, str, Work]]:
    """Name of its column, class, work."""
    tokens, share = int(float(entry["num_tokens"])), int(float(entry["num_tensor_parallel_workers"]))
    width, inner = int(float(entry["n_embd"])), int(float(entry["n_expanded_embd"])) // share
    heads, kept = int(float(entry["n_head"])), int(float(entry["n_kv_head"]))
    gates = 2 if entry["use_gated_mlp"] == "True" else 1
    joint = (heads + 2 * kept) * (width // heads) // share
    yield "attn_pre_proj", "GEMM", product(tokens, joint, width)
    yield "attn_post_proj", "GEMM", product(tokens, width, width // share)
    yield "mlp_up_proj", "GEMM", product(tokens, gates * inner, width)
    yield "mlp_down_proj", "GEMM", product(tokens, width, inner)
    row = Rows("row norm", tokens, width)
    yield "input_layernorm", "norms", Work(4 * tokens * width, 2 * SIZE * tokens * width, "fp16", form=row)
    added = Streamed("elementwise", "same")
    yield "add", "elementwise", Work(tokens * width, 3 * SIZE * tokens * width, "fp16", form=added)
    if gates == 2:
        moved = 3 * SIZE * tokens * inner
        yield "mlp_act", "elementwise", Work(2 * tokens * inner, moved, "fp16", form=Streamed("function", "strided"))


def compute_rows(git: Path) -> Iterator[Measured]:
    """Every layer that was measured, once for each number of tokens and GPUs."""
    for path in files(git, COMPUTE, "mlp.csv"):
        model = path.removeprefix(COMPUTE + "/").removesuffix("/mlp.csv")
        for entry in csv.DictReader(io.StringIO((content(git, path) or b"").decode())):
            for name, category, work in layers(entry):
                ms = float(entry.get(f"time_stats.{name}.median") or 0)
                if ms > 0:
                    yield Measured("h100", path, model, category, name, work, ms * 1e3, 1)


def network_rows(git: Path) -> Iterator[Measured]:
    """All-reduces inside one machine, as the slowest rank saw them."""
    slowest: dict[tuple[int, int], float] = {}
    for entry in csv.DictReader(io.StringIO((content(git, NETWORK) or b"").decode())):
        members, size = int(float(entry["num_workers"])), int(float(entry["size"]))
        if 1 < members <= int(float(entry["devices_per_node"])):
            ms = float(entry["time_stats.all_reduce.median"])
            slowest[members, size] = max(ms, slowest.get((members, size), 0.0))
    for (members, size), ms in slowest.items():
        form = Collective("all-reduce", members, sent_bytes("all-reduce", members, size), 2)
        work = Work(0, 2 * size, "fp16", form=form)
        yield Measured("h100", NETWORK, "all-reduce", f"all-reduce, {members} GPUs", "all-reduce", work, ms * 1e3, 1)


def library_rows(git: Path) -> Iterator[Measured]:
    """Products of hipBLASLt's own tuning on MI300X: sizes (M, N, batch, K) with the GFLOP/s of the best kernel."""
    for path in files(git, LOGIC, ".yaml"):
        name = path.rsplit("/", 1)[-1]
        kinds = next((text for text in ("BBS", "HHS") if f"_{text}_" in name), None)
        for sizes, speed in _TUNED.findall((content(git, path) or b"").decode()) if kinds else ():
            m, n, batch, k = (int(size) for size in sizes.split(",")[:4])
            if float(speed) > 0:
                flops, moved = 2 * batch * m * n * k, SIZE * batch * (m * k + n * k + m * n)
                work = Work(flops, moved, "bf16", matrix=True, form=Product(batch, n, m, k))
                yield Measured("mi300x", path, name, name, "library", work, flops / float(speed) / 1e3, 1)


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vidur", type=Path, help="a clone of microsoft/vidur")
    parser.add_argument("--hipblaslt", type=Path, help="a clone of ROCm/hipBLASLt")
    parser.add_argument("--trace", type=Path, help="a torch trace instead: any that was recorded with shapes")
    parser.add_argument("--threads", action="store_true", help="single figures out of issues (thread_times.py)")
    args = parser.parse_args()
    if args.threads:
        found = pairs(thread_rows())
        print("\n".join(table(found, lambda row: f"{gpu_by_alias(row.gpu).name}, {row.source}: {row.category}")))
        for one in found:
            print(f"{one.row.source} {one.row.model}: {one.row.us:.0f} us, expected {one.expected.us:.0f} ", end="")
            print(f"({one.expected.low_us:.0f} to {one.expected.high_us:.0f}) {one.row.work.form}")
        return 0
    if args.trace:
        found = list(recording_rows(open_recording(args.trace), f"other/{args.trace.name}"))
        print("\n".join(table(pairs(found), class_of)))
        print("\n".join(whole_models(pairs(found), found)))
        return 0
    if args.hipblaslt:
        print("\n".join(table(pairs(library_rows(args.hipblaslt)), lambda row: row.category)))
        return 0
    if not args.vidur:
        parser.error("--vidur, --hipblaslt, --threads or --trace says what to compare with")
    rows = list(compute_rows(args.vidur))
    print(f"H100, {len(rows)} measurements, every {max(1, len(rows) // 4000)}th")
    print("\n".join(table(pairs(thinned(rows)), lambda row: row.category)))
    print("\n".join(table(pairs(thinned(rows)), lambda row: f"{row.category}: {row.operator}")))
    print("\n".join(table(pairs(network_rows(args.vidur)), lambda row: row.category)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
