"""NCCL settings about NVLink

What: Python code that sets an NCCL variable about NVLink, NVSwitch or InfiniBand SHARP.
Why: RCCL reads the NCCL_ names, but these features are NVIDIA hardware. The setting does nothing, or
    (NCCL_P2P_LEVEL=NVL) switches off peer transfers over xGMI.
Fix: You decide; kpt rewrites nothing. It leaves settings without a vendor in them (NCCL_DEBUG, NCCL_SOCKET_IFNAME)
    alone.
Source: https://rocm.docs.amd.com/projects/rccl/en/latest/api-reference/env-variables.html
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.python.module import PythonModule
from kernel_pytorch.port.rule import Rule

SETTINGS = {
    "NCCL_NVLS_ENABLE": "NVLink SHARP is NVIDIA hardware: no effect",
    "NCCL_NVLS_NCHANNELS": "NVLink SHARP is NVIDIA hardware: no effect",
    "NCCL_CUMEM_ENABLE": "CUDA's virtual memory: no effect in RCCL",
    "NCCL_MNNVL_ENABLE": "multi-node NVLink is NVIDIA hardware: no effect",
    "NCCL_COLLNET_ENABLE": "in-network reduction needs NVIDIA's switches",
    "NCCL_P2P_LEVEL": "the value NVL means NVLink only: AMD GPUs are joined by xGMI",
    "NVSHMEM_DISABLE_CUDA_VMM": "NVSHMEM has no AMD build; rocSHMEM has settings of its own",
}
RULE = Rule("KP513", "nvlink-settings", ("python",), Safety.MANUAL, tuple(name.encode() for name in SETTINGS))


def check(module: PythonModule) -> Iterator[Finding]:
    for key, value in _settings(module):
        if not module.reached_on_rocm(key) or (key.value == "NCCL_P2P_LEVEL" and not _is(value, "NVL")):
            continue
        if _is(value, "0"):
            continue  # switched off, as it is on ROCm
        yield RULE.finding(module.src, module.span(key), f"{key.value!s}: {SETTINGS[str(key.value)]}")


def _settings(module: PythonModule) -> Iterator[tuple[ast.Constant, ast.expr]]:
    """`os.environ[K] = v`, os.environ.setdefault(K, v), os.putenv(K, v)."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                is_environment = isinstance(target, ast.Subscript) and module.qualified(target.value) == "os.environ"
                key = target.slice if is_environment and isinstance(target, ast.Subscript) else None
                if isinstance(key, ast.Constant) and key.value in SETTINGS:
                    yield key, node.value
    for call in (*module.calls("os.environ.setdefault"), *module.calls("os.putenv")):
        if len(call.args) == 2 and isinstance(call.args[0], ast.Constant) and call.args[0].value in SETTINGS:
            yield call.args[0], call.args[1]


def _is(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and str(node.value) == text
