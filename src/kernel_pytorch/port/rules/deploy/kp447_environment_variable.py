"""An environment variable set outside Python

What: A Dockerfile, a shell script, a compose file, a manifest, a workflow or a .env file that sets
    TORCHINDUCTOR_MAX_AUTOTUNE (and its forms), max_split_size_mb or expandable_segments in PYTORCH_CUDA_ALLOC_CONF,
    HIP_LAUNCH_BLOCKING and its like, HSA_OVERRIDE_GFX_VERSION, one fixed target in PYTORCH_ROCM_ARCH, a path into
    /usr/local/cuda, TORCH_CUDA_ARCH_LIST, or what only CUDA reads.
Why: The program sees it, whatever its code says. With the first, `mode="default"` tunes every graph for minutes, which
    looks like a hang; some AMD images set it. Older HIP allocators refuse max_split_size_mb, and in newer ones memory
    grows with it. With the third every launch waits.
Fix: The ROCm twin of a Dockerfile, a script or a compose file has a value that does no harm: 0, or the allocator's
    setting without that key. PYTORCH_CUDA_ALLOC_CONF keeps its name, which ROCm builds read beside
    PYTORCH_HIP_ALLOC_CONF. In other files, take the variable out. kpt reports each variable once per file.
Source: https://github.com/sgl-project/sglang/blob/main/docker/rocm.Dockerfile (an image that sets it);
    https://skills.sh/arist12/amd-skills/amd-rocm-porting, phases 1, 5 and 6;
    https://github.com/pytorch/pytorch/blob/main/c10/core/AllocatorConfig.h;
    https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.deploy.places import is_for_rocm
from kernel_pytorch.port.rules.deploy.kp445_workflow import is_workflow
from kernel_pytorch.port.rules.python.kp592_max_split_size import VARIABLES as ALLOCATOR
from kernel_pytorch.port.rules.python.kp592_max_split_size import without_key
from kernel_pytorch.port.rules.python.kp597_cuda_only_variables import NAMES as CUDA_ONLY
from kernel_pytorch.port.rules.python.kp605_inductor_environment import NAMES as INDUCTOR

CODE = "KP447"
WAITING = ("HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY")
CUDA_WAITING = "CUDA_LAUNCH_BLOCKING"
CUDA_TARGETS = "TORCH_CUDA_ARCH_LIST"
TARGETS = ("PYTORCH_ROCM_ARCH", "CMAKE_HIP_ARCHITECTURES", "GPU_TARGETS", "AMDGPU_TARGETS")
FOLDERS = ("CUDA_HOME", "CUDA_PATH", "CUDACXX", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "PATH")
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
UNKNOWN = "HIP_CACHE_ENABLED"  # named by a public guide
_SINGLE = (CUDA_WAITING, CUDA_TARGETS, OVERRIDE, UNKNOWN, "AMD_LOG_LEVEL")
_ALL = (*ALLOCATOR, *CUDA_ONLY, *INDUCTOR, *WAITING, *TARGETS, *FOLDERS, *_SINGLE)
_NAMES = "|".join(sorted(_ALL, key=len, reverse=True))
# NAME=value, NAME: value, "NAME": "value", Docker's older `ENV NAME value`, Kubernetes' name and value on two lines.
# Not $NAME, -DNAME, settings.NAME.
_SETTING = re.compile(
    rf"(?P<env>^[ \t]*(?i:ENV)[ \t]+)?(?<![\w$.-])(?<!\${{)(?P<quote>[\"']?)(?P<name>{_NAMES})(?P=quote)"
    r"(?P<between>=|[ \t]*:[ \t]+|[ \t]*\n[ \t]*value:[ \t]*|[ \t]+)"
    r"(?P<value>\"[^\"\n]*\"|'[^'\n]*'|[^\s\"'#;&|)\\]*)",
    re.MULTILINE,
)
_FOR_CUDA = re.compile(r"(?:^|[._/-])(?:cuda|cu\d{2,3})(?=[._/-]|$)", re.IGNORECASE)
_COMMENT = re.compile(r"(?:(?<=\s)|^)#[^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class Setting:
    """One variable that a file sets, and where its value stands, without quotes."""

    name: str
    value: str
    start: int
    end: int


@dataclass(frozen=True)
class OnROCm:
    """What a setting does on ROCm, and the value that does no harm there (None: as it is)."""

    message: str
    value: str | None = None
    is_idle: bool = False  # ROCm does not look at it


def settings(text: str) -> Iterator[Setting]:
    """The variables of a file that mean something else on ROCm; comments are left out."""
    code = _COMMENT.sub(lambda match: " " * len(match[0]), text)
    for match in _SETTING.finditer(code):
        if not match["between"].strip() and match["env"] is None:
            continue  # two words beside each other set something in a Dockerfile only
        start, end = match.span("value")
        if match["value"][:1] in ("'", '"'):
            start, end = start + 1, end - 1
        yield Setting(match["name"], text[start:end], start, end)


def on_rocm(name: str, value: str) -> OnROCm | None:
    """None for a setting that may stay as it is."""
    is_on = value.lower() not in ("", "0", "false", "off", "no")
    if name in INDUCTOR and is_on:
        what = "captures graphs" if name.endswith("CUDAGRAPHS") else "tunes for minutes, which looks like a hang,"
        return OnROCm(f"{name} {what} in every mode of torch.compile", "0")
    if name in WAITING and is_on:
        return OnROCm(f"{name} makes every launch wait: for debugging only", "0")
    if name == CUDA_WAITING and is_on:
        return OnROCm(f"{name} does not make HIP wait: HIP_LAUNCH_BLOCKING does, for debugging only", is_idle=True)
    if name in ALLOCATOR and "max_split_size_mb" in value:
        left = without_key(value, "max_split_size_mb")
        return OnROCm(f"{name} has max_split_size_mb: older HIP allocators refuse it, newer ones suffer from it", left)
    if name in ALLOCATOR and "expandable_segments:true" in value.lower():
        return OnROCm(
            "expandable_segments needs ROCm 7.0 and a torch of about 2.11: ignored before, an open hang since"
        )
    if name == CUDA_TARGETS:
        message = f"{name} is not read on ROCm: PYTORCH_ROCM_ARCH lists targets (gfx942;gfx1100)"
        return OnROCm(message, is_idle=True)
    if name in TARGETS and re.fullmatch(r"gfx[0-9a-f]+(?::[\w+:-]+)?", value):
        return OnROCm(
            f"{name} names one GPU, {value}: what is built does not run on another; ask rocminfo, or list more"
        )
    if name in FOLDERS and "/usr/local/cuda" in value:
        rocm = re.sub(r"/usr/local/cuda(?:-[\d.]+)?", "/opt/rocm", value).replace("/opt/rocm/lib64", "/opt/rocm/lib")
        return OnROCm(f"{name} names /usr/local/cuda, which does not exist on ROCm: use /opt/rocm", rocm, is_idle=True)
    if name == "AMD_LOG_LEVEL" and value.isdigit() and int(value) > 2:
        return OnROCm(f"{name}={value} writes a line for every call of the runtime", "0")
    if name == UNKNOWN:
        return OnROCm(f"ROCm has no variable {name}: setting it does nothing", is_idle=True)
    if name == OVERRIDE and value:
        return OnROCm(f"{OVERRIDE} runs code built for another GPU: decide whether you want that")
    if name in CUDA_ONLY and value != "PCI_BUS_ID":
        return OnROCm(f"{name} is not read on ROCm", is_idle=True)
    return None


def harmless(text: str) -> str:
    """The text of a ROCm twin: values that hurt there are replaced."""
    for setting in reversed(list(settings(text))):
        verdict = on_rocm(setting.name, setting.value)
        if verdict is not None and verdict.value is not None:
            text = text[: setting.start] + verdict.value + text[setting.end :]
    return text


def variable_findings(path: str, text: str, has_twin: bool = False) -> Iterator[Finding]:
    """Each variable once. A file for one vendor, or a job of a CI service, may name what the other does not read."""
    reported: set[str] = set()
    is_for_one = is_for_rocm(path) or _FOR_CUDA.search(path) or is_workflow(path)
    for setting in settings(text):
        verdict = on_rocm(setting.name, setting.value)
        if verdict is None or verdict.message in reported or (is_for_one and verdict.is_idle):
            continue
        if has_twin and setting.name in FOLDERS:
            continue  # a change like all others of the twin
        reported.add(verdict.message)
        written = f"; the twin has {setting.name}={verdict.value}" if has_twin and verdict.value is not None else ""
        line = text.count("\n", 0, setting.start) + 1
        column = setting.start - text.rfind("\n", 0, setting.start)
        yield Finding(CODE, path, line, column, verdict.message + written, Safety.MANUAL)
