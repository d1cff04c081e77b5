"""A compose file with NVIDIA's devices

What: A service with `driver: nvidia`, `runtime: nvidia` or `gpus:`.
Why: Compose asks NVIDIA's container runtime for the devices. An AMD host does not have it.
Fix: kpt writes an overlay, compose.rocm.yml, beside it: /dev/kfd and /dev/dri with their groups, the twin of the
    Dockerfile, and !reset (Docker Compose 2.24) for what is NVIDIA's. Use the original together with it.
Source: https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Any

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.deploy.places import twin_path
from kernel_pytorch.port.rules.deploy.kp440_dockerfile import DRIVER_ENV, image_row
from kernel_pytorch.port.rules.deploy.kp447_environment_variable import on_rocm

CODE = "KP441"
# A Dockerfile, its twin, and the build arguments that the twin asks for.
Twins = dict[str, tuple[str, tuple[str, ...]]]
LIST = "requirements-rocm.txt"  # among the arguments: the twin reads it from the build context
_INSTALLS = re.compile(r"\buv\s+sync\b|\bpip3?\s+install\b[^&;|]*(?:\b(?:torch|triton|flash[-_]attn)\b|\s-[re]\s|\s\.)")


def is_compose(path: str) -> bool:
    """By its name."""
    return re.fullmatch(r"(?:docker-)?compose(?:[.-].*)?\.ya?ml", PurePosixPath(path).name) is not None


def compose_twin(path: str, text: str, dockerfiles: Twins) -> tuple[str | None, list[Finding]]:
    """The overlay, or None where no service asks for NVIDIA's devices."""
    import yaml

    from kernel_pytorch.core.yaml_text import load_yaml

    try:
        data = next(iter(load_yaml(text)), None)
    except yaml.YAMLError as error:
        problem = getattr(error, "problem", None) or str(error)
        return None, [Finding(CODE, path, 1, 1, f"cannot be read ({problem}): not looked at", Safety.MANUAL)]
    services = data.get("services") if isinstance(data, dict) else None
    if not isinstance(services, dict):
        return None, []
    findings: list[Finding] = []
    parts: list[str] = []
    for name, service in services.items():
        if isinstance(service, dict) and _wants_nvidia(service):
            line = _line_of(text, str(name))
            parts.append(_overlay(path, str(name), service, dockerfiles, findings, line))
    if not parts:
        return None, []
    name = PurePosixPath(path).name
    overlay = PurePosixPath(twin_path(path)).name
    head = (
        f"# ROCm overlay of {name}. Use both:\n#   docker compose -f {name} -f {overlay} up\n"
        "# !reset needs Docker Compose 2.24 or newer. If /dev/dri belongs to another group than video or render, name\n"
        "# that group (or its number) under group_add.\nservices:\n"
    )
    message = f"NVIDIA's devices: `kpt port` writes the overlay {twin_path(path)}"
    findings.append(Finding(CODE, path, 1, 1, message, Safety.SAFE))
    return head + "".join(parts), findings


def _wants_nvidia(service: dict[str, Any]) -> bool:
    return bool(service.get("runtime") == "nvidia" or _reservations(service) or "gpus" in service)


def _reservations(service: dict[str, Any]) -> list[Any]:
    current: Any = service
    for key in ("deploy", "resources", "reservations", "devices"):
        current = current.get(key) if isinstance(current, dict) else None
    devices = current if isinstance(current, list) else []
    return [
        item
        for item in devices
        if isinstance(item, dict) and (item.get("driver") == "nvidia" or "gpu" in (item.get("capabilities") or []))
    ]


def _overlay(path: str, name: str, service: dict[str, Any], twins: Twins, findings: list[Finding], line: int) -> str:
    lines = [f"  {name}:"]
    build = service.get("build")
    if build is not None:
        lines += _build(path, build, twins, findings, line)
    image = str(service.get("image") or "")
    row = image_row(image) if image else None
    if row is not None and row["image"] != "?":
        lines.append(f"    image: ${{{row['argument']}:?choose a tag of {row['image']}}}")
        findings.append(Finding(CODE, path, line, 1, f"{image}: choose a tag of {row['image']}", Safety.MANUAL))
    elif image and build is None:
        findings.append(
            Finding(CODE, path, line, 1, f"service {name}: is there a ROCm build of the image {image}?", Safety.MANUAL)
        )
    elif image and build is not None:
        lines.append(f"    image: {re.sub(r':[^/:]*$', '', image)}:rocm")
    if service.get("runtime") == "nvidia":
        lines.append("    runtime: !reset null")
    if "gpus" in service:
        lines.append("    gpus: !reset null")
    lines += _environment(path, name, service, findings, line)
    reserved = _reservations(service)
    if reserved:
        lines += ["    deploy:", "      resources:", "        reservations:", "          devices: !reset []"]
        some = [item for item in reserved if item.get("device_ids") or item.get("count") not in (None, "all", -1)]
        if some:
            message = (
                f"service {name}: {_share(some[0])} reserved; the overlay gives all (ROCR_VISIBLE_DEVICES chooses)"
            )
            findings.append(Finding(CODE, path, line, 1, message, Safety.MANUAL))
    lines += ["    devices:", "      - /dev/kfd", "      - /dev/dri"]
    lines += ["    group_add:", "      - video", "      - render"]
    lines += ["    security_opt:", "      - seccomp=unconfined"]
    return "\n".join(lines) + "\n"


def _environment(path: str, name: str, service: dict[str, Any], findings: list[Finding], line: int) -> list[str]:
    """Variables that choose NVIDIA's driver, taken back, and those that hurt on ROCm; mounts and commands are named."""
    given = service.get("environment")
    pairs = given.items() if isinstance(given, dict) else (str(item).partition("=")[::2] for item in given or ())
    lines = []
    for key, value in ((str(key), str(value)) for key, value in pairs):
        verdict = on_rocm(key, value)
        if key in DRIVER_ENV and "nvidia" in value.lower():
            lines.append(f"      {key}: !reset null")
        elif verdict is not None and verdict.value is not None:
            lines.append(f'      {key}: "{verdict.value}"')
    for volume in service.get("volumes") or ():
        source = str(volume.get("source", "")) if isinstance(volume, dict) else str(volume).split(":")[0]
        if re.search(r"nvidia|/usr/local/cuda", source):
            message = f"service {name}: mounts {source}, which an AMD host does not have"
            findings.append(Finding(CODE, path, line, 1, message, Safety.MANUAL))
    command = service.get("command")
    if _INSTALLS.search(" ".join(map(str, command)) if isinstance(command, list) else str(command or "")):
        message = f"service {name}: its command installs packages, CUDA's torch included: `kpt deps` plans this step"
        findings.append(Finding(CODE, path, line, 1, message, Safety.MANUAL))
    return ["    environment:", *lines] if lines else []


def _share(item: dict[str, Any]) -> str:
    return f"devices {item['device_ids']}" if item.get("device_ids") else f"{item['count']} GPU(s)"


def _build(path: str, build: Any, twins: Twins, findings: list[Finding], line: int) -> list[str]:
    """The build section with the twin of its Dockerfile, whose path counts from the context."""
    context = str(build.get("context", ".")) if isinstance(build, dict) else str(build)
    dockerfile = str(build.get("dockerfile", "Dockerfile")) if isinstance(build, dict) else "Dockerfile"
    source = normpath(str(PurePosixPath(path).parent / context / dockerfile))
    if source not in twins:
        findings.append(Finding(CODE, path, line, 1, f"builds {source}, which has no ROCm twin", Safety.MANUAL))
        return []
    lines = ["    build:", f"      dockerfile: {twin_path(dockerfile)}"]
    names = [name for name in twins[source][1] if name != LIST]
    if LIST in twins[source][1] and normpath(str(PurePosixPath(path).parent / context)) != ".":
        message = f"builds {source} in {context}: its twin reads {LIST} from there, `kpt deps` writes it at the root"
        findings.append(Finding(CODE, path, line, 1, message, Safety.MANUAL))
    if names:
        asked = (f"        {name}: ${{{name}:?see {twin_path(source)}}}" for name in dict.fromkeys(names))
        lines += ["      args:", *asked]
    return lines


def _line_of(text: str, name: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(rf"\s+[\"']?{re.escape(name)}[\"']?\s*:", line):
            return number
    return 1
