"""What a twin is called, and which files already are one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_ROCM_NAME = re.compile(r"(?:^|[._/-])(?:rocm|amd|amdgpu|hip)(?=[._/-]|$)", re.IGNORECASE)
_OTHER_VENDOR = re.compile(
    r"(?:^|[._/-])(?:gaudi|hpu|intel|xpu|neuron|tpu|cpu|ascend|npu|trtllm|tensorrt)(?=[._/-]|$)", re.IGNORECASE
)


def is_for_rocm(path: str) -> bool:
    """A file that says in its name that it is ROCm's already."""
    return _ROCM_NAME.search(path) is not None


def is_for_another_vendor(path: str) -> bool:
    """A file that says in its name that it is ROCm's already, or meant for other hardware."""
    return bool(_ROCM_NAME.search(path) or _OTHER_VENDOR.search(PurePosixPath(path).name))


def twin_path(path: str) -> str:
    """Dockerfile -> Dockerfile.rocm, serve.Dockerfile -> serve.rocm.Dockerfile, run.sh -> run.rocm.sh."""
    pure = PurePosixPath(path)
    if pure.name.lower().startswith(("dockerfile", "containerfile")):
        return str(pure.with_name(pure.name + ".rocm"))
    return str(pure.with_name(f"{pure.stem}.rocm{pure.suffix}"))


def has_own_twin(path: str, paths: Iterable[str]) -> bool:
    """Whether the project has a ROCm version of the file itself: Dockerfile_amd beside Dockerfile."""
    pure = PurePosixPath(path)
    return any(
        PurePosixPath(other).parent == pure.parent and _ROCM_NAME.sub("", PurePosixPath(other).name) == pure.name
        for other in paths
        if _ROCM_NAME.search(PurePosixPath(other).name) and other != twin_path(path)
    )
