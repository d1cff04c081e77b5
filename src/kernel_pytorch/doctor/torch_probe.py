"""Asks torch about itself in a process of its own, so that a torch that crashes or hangs cannot hurt us.

`collect` is sent to that process as source text: it uses nothing but the standard library and torch.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import dataclass, field
from typing import Any

from kernel_pytorch.backends.amd.inductor_table import keys_of
from kernel_pytorch.core.probe import Probe
from kernel_pytorch.core.python_child import python_code

TIMEOUT_S = 90.0  # a first import on a network file system takes this long; a healthy one takes seconds
MARK = "KPT-TORCH-PROBE:"


@dataclass(frozen=True)
class TorchProbe:
    """The answer. `outcome`: "ok", "failed" (torch does not import), "hangs" or "skipped"."""

    outcome: str
    detail: str = ""
    facts: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def settings(self) -> dict[str, Any]:
        found = self.facts.get("settings")
        return found if isinstance(found, dict) else {}

    @property
    def arch_list(self) -> tuple[str, ...]:
        found = self.facts.get("arch_list")
        return tuple(str(item) for item in found) if isinstance(found, list) else ()


def collect(inductor_keys: Any, dynamo_keys: Any) -> dict[str, Any]:
    """What this process's torch says: versions, built-in targets, Inductor and Dynamo settings."""
    import importlib

    torch: Any = importlib.import_module("torch")
    facts: dict[str, Any] = {"version": torch.__version__, "file": torch.__file__}
    facts["hip"] = getattr(torch.version, "hip", None)
    facts["cuda"] = getattr(torch.version, "cuda", None)
    try:
        # Unlike torch.cuda.get_arch_list this also answers where no GPU is present.
        facts["arch_list"] = torch._C._cuda_getArchFlags().split()
    except Exception:
        facts["arch_list"] = []
    settings: dict[str, Any] = {}
    for module_name, prefix, keys in (
        ("torch._inductor.config", "inductor", inductor_keys),
        ("torch._dynamo.config", "dynamo", dynamo_keys),
    ):
        try:
            config: Any = importlib.import_module(module_name)
        except Exception as error:
            facts[prefix + "_error"] = str(error)
            continue
        for key in keys:
            value = config
            for part in key.split("."):
                value = getattr(value, part, None)
            if value is None or isinstance(value, (bool, int, float, str)):
                settings[prefix + "." + key] = value
    facts["settings"] = settings
    return facts


def ask_torch(probe: Probe, timeout_s: float = TIMEOUT_S) -> TorchProbe:
    """Runs `collect` in a fresh process of the probe's Python."""
    inductor, dynamo = keys_of("inductor"), keys_of("dynamo")
    source = (
        "from __future__ import annotations\nimport json\nfrom typing import Any\n"
        + inspect.getsource(collect)
        + f"print({MARK!r} + json.dumps(collect({inductor!r}, {dynamo!r})))\n"
    )
    result = probe.run(python_code(source, python=probe.python or "python3"), timeout_s)
    if result.outcome == "hangs":
        return TorchProbe("hangs", f"`import torch` did not finish within {timeout_s:g} s")
    line = next((line for line in result.stdout.splitlines() if line.startswith(MARK)), None)
    if line is None:
        lines = [text for text in result.stderr.splitlines() if text.strip()]
        reason = lines[-1].strip() if lines else f"exit status {result.returncode}, no message"
        return TorchProbe("failed", reason[:300])
    return TorchProbe("ok", facts=json.loads(line[len(MARK) :]))
