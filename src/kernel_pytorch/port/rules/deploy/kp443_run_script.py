"""A script that starts containers with NVIDIA's devices

What: `docker run --gpus all`, `--runtime=nvidia`, nvidia-docker.
Why: Docker asks NVIDIA's container runtime for the devices. An AMD host does not have it.
Fix: kpt writes a twin, run.rocm.sh, beside it with /dev/kfd, /dev/dri and their groups. It names NVIDIA's images.
Source: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.deploy.places import twin_path
from kernel_pytorch.port.rules.deploy.kp440_dockerfile import image_row
from kernel_pytorch.port.rules.deploy.kp447_environment_variable import harmless

CODE = "KP443"
DEVICES = "--device /dev/kfd --device /dev/dri --group-add video --group-add render --security-opt seccomp=unconfined"
_GPUS = re.compile(r"--gpus(?:=|\s+)(?:'\"[^\"]*\"'|\"[^\"]*\"|'[^']*'|[^\s\\\"']+)")
_RUNTIME = re.compile(r"--runtime(?:=|\s+)nvidia\b([ \t]*)")
_ENVIRONMENT = re.compile(
    r"(?:-e|--env)(?:=|\s+)NVIDIA_(?:VISIBLE_DEVICES|DRIVER_CAPABILITIES)=(?:\"[^\"]*\"|'[^']*'|[^\s\"']+)[ \t]*"
)
_COMMAND = re.compile(r"\b(?:docker|podman|nvidia-docker)\b[^\n]*\b(?:run|create)\b")


def is_script(path: str, text: str) -> bool:
    """A shell script that starts a container with NVIDIA's devices."""
    if PurePosixPath(path).suffix not in (".sh", ".bash"):
        return False
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return bool(_COMMAND.search(code) and (_GPUS.search(code) or _RUNTIME.search(code) or "nvidia-docker" in code))


def script_twin(path: str, text: str, dockerfiles: dict[str, str]) -> tuple[str | None, list[Finding]]:
    """The same script with AMD's devices; images of NVIDIA's are named for a person to replace."""
    findings: list[Finding] = []
    out: list[str] = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if line.lstrip().startswith("#"):
            out.append(line)
            continue
        asked = _GPUS.search(line)
        new = _RUNTIME.sub("", line) if asked else _RUNTIME.sub(DEVICES + r"\1", line)
        new = _ENVIRONMENT.sub("", _GPUS.sub(DEVICES, new)).replace("nvidia-docker", "docker")
        if asked and not re.search(r"--gpus[=\s]+[\"']?all", asked[0]):
            message = f"{asked[0]}: the twin gives all GPUs; -e ROCR_VISIBLE_DEVICES=... chooses"
            findings.append(Finding(CODE, path, number, 1, message, Safety.MANUAL))
        for word in re.findall(r"[\w./-]+:[\w.-]+", new):
            row = image_row(word)
            if row is not None:
                choice = f"choose a tag of {row['image']}" if row["image"] != "?" else row["note"]
                message = f"image {word}: {choice}"
                findings.append(Finding(CODE, path, number, 1, message, Safety.MANUAL))
        for source, twin in dockerfiles.items():
            name = PurePosixPath(source).name
            pattern = rf"(-f\s+|--file[=\s])((?:\S*/)?){re.escape(name)}(?=\s|$)"
            new = re.sub(pattern, rf"\1\2{PurePosixPath(twin).name}", new)
        out.append(harmless(new))
    twin_text = "".join(out)
    if twin_text == text:
        return None, []
    findings.append(
        Finding(CODE, path, 1, 1, f"NVIDIA's devices: `kpt port` writes the twin {twin_path(path)}", Safety.SAFE)
    )
    return twin_text, findings
