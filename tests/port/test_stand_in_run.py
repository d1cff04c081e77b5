"""A ported package is run, not only read: both sides of its gates, in child processes with ROCm stood in for.

The sample is what people bring: flash-attn, pynvml, TF32, reduce-overhead, an allocator setting made before torch is
imported. Its libraries are small fakes on PYTHONPATH, so each can be there, be absent or be broken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.cli.main import main

LAUNCH = '''\
"""Set before torch is imported, as the allocator wants it."""

import os

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "max_split_size_mb:128"
'''

MODEL = '''\
"""A small transformer block as people write it for NVIDIA."""

from __future__ import annotations

import pynvml
import torch
from flash_attn import flash_attn_func
from torch import nn

torch.backends.cuda.matmul.allow_tf32 = True
torch.set_float32_matmul_precision("high")


class Block(nn.Module):
    def __init__(self, width: int = 64, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).half().unbind(2)
        y = flash_attn_func(q, k, v, causal=True)
        return x + self.out(y.reshape(batch, length, width).to(x.dtype))


def compiled_block() -> nn.Module:
    return torch.compile(Block(), mode="reduce-overhead")


def free_memory_mb() -> float:
    pynvml.nvmlInit()
    return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).free / 2**20
'''

# What flash-attn computes, in float32, so that a wrong mask or layout shows; it says who was asked, and how.
ATTENTION = """\
import torch

CALLS = []


def flash_attn_func(q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0,
                    alibi_slopes=None, deterministic=False, return_attn_probs=False):
    CALLS.append(__name__)
    q32, k32, v32 = (tensor.float().transpose(1, 2) for tensor in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q32, k32, v32, is_causal=causal)
    return out.transpose(1, 2).to(q.dtype)
"""

# aiter's function has the same name and other positions: only keywords reach it unharmed.
AITER = """\
import torch

CALLS = []


def flash_attn_func(*, q, k, v, dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1, 0), bias=None,
                    alibi_slopes=None, deterministic=True, return_lse=False, return_attn_probs=False):
    CALLS.append(__name__)
    q32, k32, v32 = (tensor.float().transpose(1, 2) for tensor in (q, k, v))
    out = torch.nn.functional.scaled_dot_product_attention(q32, k32, v32, is_causal=causal)
    return out.transpose(1, 2).to(q.dtype)
"""

BROKEN = 'raise OSError("libamdhip64.so.6: cannot open shared object file")\n'

PYNVML = """\
from types import SimpleNamespace


def nvmlInit():
    pass


def nvmlDeviceGetHandleByIndex(index):
    return index


def nvmlDeviceGetMemoryInfo(handle):
    return SimpleNamespace(total=80 * 2**30, free=79 * 2**30, used=2**30)
"""

AMDSMI = """\
from enum import Enum


class AmdSmiException(Exception):
    pass


class AmdSmiMemoryType(Enum):
    VRAM = 0


def amdsmi_init():
    pass


def amdsmi_get_processor_handles():
    return ["gpu0"]


def amdsmi_get_gpu_memory_total(handle, kind):
    return 192 * 2**30


def amdsmi_get_gpu_memory_usage(handle, kind):
    return 2 * 2**30
"""

DRIVER = """\
import hashlib
import importlib.util
import json
import os
import sys
from types import SimpleNamespace

folder, platform, has_gpu = sys.argv[1:]
sys.path.insert(0, folder)
if platform == "rocm":  # a gate in front of `import torch` reads torch's files
    find_spec = importlib.util.find_spec
    rocm_torch = SimpleNamespace(origin=os.path.join(os.path.dirname(__file__), "rocm_torch", "__init__.py"))
    importlib.util.find_spec = lambda name, package=None: rocm_torch if name == "torch" else find_spec(name, package)
import sample.launch
assert "torch" not in sys.modules, "the port made the launcher load torch"
import torch

if platform == "rocm":
    torch.version.hip = "6.4.43482"
modes = []
torch.compile = lambda model, **options: modes.append(options["mode"]) or model
torch.manual_seed(7)
from sample import model

adapter = sys.modules.get("sample._rocm_attention")
if has_gpu == "gpu":  # a CPU tensor stands in for one of an MI300X: the kernels of the fakes run anywhere
    adapter._runs_kernels = lambda device, dtype: True
    adapter._target = lambda device: "gfx942"
block = model.compiled_block()
with torch.no_grad():
    out = block(torch.randn(2, 17, 64))
fakes = [sys.modules[name] for name in ("aiter", "flash_attn") if name in sys.modules]
print(json.dumps({
    "digest": hashlib.sha256(out.numpy().tobytes()).hexdigest(),
    "values": out.flatten()[::97].tolist(),
    "modes": modes,
    "allow_tf32": torch.backends.cuda.matmul.allow_tf32,
    "precision": torch.get_float32_matmul_precision(),
    "allocator": os.environ.get("PYTORCH_CUDA_ALLOC_CONF"),
    "free_mb": model.free_memory_mb(),
    "served_by": [call for fake in fakes for call in getattr(fake, "CALLS", [])],
    "tier": adapter.last_tier() if adapter else None,
    "loaded": sorted(name for name in ("aiter", "amdsmi", "flash_attn", "pynvml") if name in sys.modules),
}))
"""


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample as written (`old`), its port (`new`), the driver, and one folder for each fake library."""
    root = tmp_path_factory.mktemp("stand_in")
    files = {
        "old/sample/__init__.py": "",
        "old/sample/launch.py": LAUNCH,
        "old/sample/model.py": MODEL,
        "driver.py": DRIVER,
        "rocm_torch/__init__.py": "",
        "rocm_torch/lib/libtorch_hip.so": "",
        "fakes/flash_attn/flash_attn/__init__.py": ATTENTION,
        "fakes/aiter/aiter/__init__.py": AITER,
        "fakes/broken_aiter/aiter/__init__.py": BROKEN,
        "fakes/pynvml/pynvml.py": PYNVML,
        "fakes/amdsmi/amdsmi.py": AMDSMI,
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert main(["port", str(root / "old"), "--out", str(root / "new"), "--no-build", "-j", "1"]) == 0
    return root


def child(trees: Path, tree: str, platform: str, fakes: str, device: str = "cpu") -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTORCH_", "KPT_"))}
    environment["PYTHONPATH"] = os.pathsep.join(str(trees / "fakes" / name) for name in fakes.split())
    command = [sys.executable, str(trees / "driver.py"), str(trees / tree), platform, device]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=trees)


def report(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.fixture(scope="module")
def unported(trees: Path) -> dict[str, Any]:
    return report(child(trees, "old", "nvidia", "flash_attn pynvml"))


def test_without_rocm_the_port_does_bitwise_what_the_original_does(trees: Path, unported: dict[str, Any]) -> None:
    assert unported["served_by"] == ["flash_attn"]
    assert unported["modes"] == ["reduce-overhead"]
    assert report(child(trees, "new", "nvidia", "flash_attn pynvml")) == unported


def test_the_original_does_not_start_on_rocm(trees: Path) -> None:
    done = child(trees, "old", "rocm", "amdsmi")
    assert done.returncode != 0
    assert "ModuleNotFoundError: No module named 'pynvml'" in done.stderr


def test_the_rocm_side_runs_with_none_of_nvidias_libraries(trees: Path, unported: dict[str, Any]) -> None:
    seen = report(child(trees, "new", "rocm", "amdsmi"))
    assert seen["tier"] == "sdpa"
    assert seen["loaded"] == ["amdsmi"]
    assert seen["modes"] == ["default"]
    assert (seen["allow_tf32"], seen["precision"]) == (False, "highest")
    assert "max_split_size_mb" not in (seen["allocator"] or "")
    assert seen["free_mb"] == 190 * 1024
    assert seen["values"] == pytest.approx(unported["values"], abs=2e-3)  # half precision between the two


@pytest.mark.parametrize(
    ("fakes", "tier"),
    [
        ("aiter flash_attn", "aiter"),
        pytest.param("flash_attn", "flash_attn", marks=pytest.mark.slow),
        ("broken_aiter flash_attn", "flash_attn"),
        pytest.param("broken_aiter", "sdpa", marks=pytest.mark.slow),
    ],
)
def test_the_first_attention_that_works_serves(trees: Path, unported: dict[str, Any], fakes: str, tier: str) -> None:
    seen = report(child(trees, "new", "rocm", f"{fakes} amdsmi", "gpu"))
    assert seen["tier"] == tier
    assert seen["served_by"] == ([] if tier == "sdpa" else [tier])
    assert seen["values"] == pytest.approx(unported["values"], abs=2e-3)
    assert "pynvml" not in seen["loaded"]
