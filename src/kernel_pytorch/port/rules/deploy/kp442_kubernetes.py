"""Kubernetes manifests that ask for nvidia.com/gpu

What: An object with the resource nvidia.com/gpu, the runtime class nvidia, or a toleration of that name.
Why: A cluster of AMD GPUs offers amd.com/gpu. The pod is never scheduled.
Fix: kpt writes a Kustomize overlay in a folder rocm/ that patches resources, runtime class and tolerations. kpt cannot
    translate node labels and images; it names them for you. It reports templates (Helm).
Source: https://instinct.docs.amd.com/projects/k8s-device-plugin/en/latest/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from kernel_pytorch.core.findings import Finding, Safety
from kernel_pytorch.port.rules.deploy.kp440_dockerfile import DRIVER_ENV

CODE = "KP442"
NVIDIA = "nvidia.com/gpu"


def is_manifest(path: str, text: str) -> bool:
    """A YAML file of Kubernetes objects that names NVIDIA's resource or runtime."""
    if PurePosixPath(path).suffix not in (".yml", ".yaml") or "apiVersion:" not in text:
        return False
    return "nvidia.com/" in text or re.search(r"runtimeClassName:\s*nvidia\b", text) is not None


def overlays(manifests: dict[str, str], existing: set[str]) -> tuple[dict[str, str], list[Finding]]:
    """One overlay folder `rocm` per folder of manifests: its files by path, and what a person must decide."""
    import yaml

    from kernel_pytorch.core.yaml_text import load_yaml

    files: dict[str, str] = {}
    findings: list[Finding] = []
    folders: dict[str, list[tuple[str, str]]] = {}
    for path, text in manifests.items():
        try:
            documents = [item for item in load_yaml(text) if isinstance(item, dict)]
        except yaml.YAMLError:
            message = "a template, or not YAML: replace nvidia.com/gpu with amd.com/gpu by hand"
            findings.append(Finding(CODE, path, _line(text), 1, message, Safety.MANUAL))
            continue
        for document in documents:
            patch = _patch(path, text, document, findings)
            if patch is not None:
                folders.setdefault(str(PurePosixPath(path).parent), []).append((path, patch))
    for folder, patches in folders.items():
        base = PurePosixPath(folder)
        names = sorted({PurePosixPath(path).name for path, _ in patches})
        if not any((base / name).as_posix() in existing for name in ("kustomization.yaml", "kustomization.yml")):
            listed = "".join(f"  - {name}\n" for name in names)
            files[(base / "kustomization.yaml").as_posix()] = (
                f"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{listed}"
            )
        files[(base / "rocm" / "kustomization.yaml").as_posix()] = (
            "# kubectl apply -k on this folder; AMD's device plugin must run in the cluster.\n"
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n  - ../\npatches:\n"
            + "".join(patch for _, patch in patches)
        )
        for path in sorted({path for path, _ in patches}):
            where = (base / "rocm").as_posix()
            message = f"asks for {NVIDIA}: `kpt port` writes the overlay {where}"
            findings.append(Finding(CODE, path, _line(manifests[path]), 1, message, Safety.SAFE))
    return files, findings


def _line(text: str) -> int:
    return next((number for number, line in enumerate(text.splitlines(), 1) if "nvidia" in line), 1)


def _patch(path: str, text: str, document: dict[str, Any], findings: list[Finding]) -> str | None:
    kind, name = document.get("kind"), (document.get("metadata") or {}).get("name")
    operations: list[str] = []
    for pointer, key, value in _walk(document):
        at = f"{pointer}/{_escaped(key)}"
        if key == NVIDIA:
            operations += [f"      - op: remove\n        path: {at}\n"]
            operations += [f"      - op: add\n        path: {pointer}/amd.com~1gpu\n        value: {_scalar(value)}\n"]
        elif key == "runtimeClassName" and value == "nvidia":
            operations.append(f"      - op: remove\n        path: {at}\n")
        elif key == "key" and value == NVIDIA:
            operations.append(f"      - op: replace\n        path: {at}\n        value: amd.com/gpu\n")
        elif key in ("path", "mountPath") and isinstance(value, str) and re.search(r"nvidia|/usr/local/cuda", value):
            message = f"mounts {value}, which an AMD node does not have"
            findings.append(Finding(CODE, path, _line(text), 1, message, Safety.MANUAL))
        elif key == "name" and value in DRIVER_ENV and "/env/" in pointer:
            message = f"{value} sends EGL or Vulkan to NVIDIA's driver: AMD's is Mesa, which needs none"
            findings.append(Finding(CODE, path, _line(text), 1, message, Safety.MANUAL))
        elif key.startswith("nvidia.com/"):
            message = f"{key}: AMD's labels and partitions have other names: choose one"
            findings.append(Finding(CODE, path, _line(text), 1, message, Safety.MANUAL))
        elif key == "image" and isinstance(value, str) and operations is not None and "containers" in pointer:
            findings.append(Finding(CODE, path, _line(text), 1, f"image {value}: name its ROCm build", Safety.MANUAL))
    if not operations or not kind or not name:
        return None
    return f"  - target:\n      kind: {kind}\n      name: {name}\n    patch: |-\n" + "".join(operations)


def _walk(node: Any, pointer: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every key of an object with the JSON pointer of what holds it."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield pointer, str(key), value
            yield from _walk(value, f"{pointer}/{_escaped(str(key))}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _walk(value, f"{pointer}/{index}")


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _scalar(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
