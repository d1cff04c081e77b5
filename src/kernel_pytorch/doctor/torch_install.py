"""The torch that is installed, read from its files. Torch is never imported here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernel_pytorch.core.read_file import read_text
from kernel_pytorch.doctor.distributions import Distribution, requirement_path, same_run
from kernel_pytorch.doctor.versions import local_part

# What a ROCm torch brings along under names that a CUDA or CPU torch never has.
ROCM_ONLY_DISTRIBUTIONS = ("pytorch-triton-rocm", "triton-rocm", "rocm", "rocm-sdk-core", "rocm-sdk-libraries")
ROCM_ONLY_FILES = ("lib/libtorch_hip.so", "lib/libamdhip64.so", "lib/libc10_hip.so", "lib/librccl.so")
SIBLINGS = ("torchvision", "torchaudio")


@dataclass(frozen=True)
class TorchInstall:
    """One torch on disk. `build` is "rocm", "cuda" or "cpu"; `version` is what `torch.__version__` will say."""

    location: Path
    version: str
    hip: str | None
    cuda: str | None
    rocm: str | None
    records: tuple[Distribution, ...]  # its dist-info folders: more than one is a botched installation

    @property
    def build(self) -> str:
        return "rocm" if self.hip else "cuda" if self.cuda else "cpu"

    @property
    def rocm_version(self) -> str | None:
        """The ROCm its libraries are from: `rocm` where torch says so, else its HIP version."""
        return self.rocm or self.hip


@dataclass(frozen=True)
class Culprit:
    """Who brought the present torch: the chain of requirements from what was asked for down to torch."""

    name: str
    chain: tuple[str, ...]
    pin: str
    run: tuple[str, ...]


def find_torch(folders: Iterable[str], distributions: Iterable[Distribution]) -> TorchInstall | None:
    """The torch a Python with this search path would import."""
    records = tuple(item for item in distributions if item.name == "torch")
    for folder in folders:
        version_file = Path(folder) / "torch" / "version.py"
        values = _assignments(version_file)
        if values.get("__version__"):
            return TorchInstall(
                location=version_file.parent,
                version=values["__version__"] or "",
                hip=values.get("hip"),
                cuda=values.get("cuda"),
                rocm=values.get("rocm"),
                records=tuple(item for item in records if item.path.parent == Path(folder)),
            )
    return None


def _assignments(path: Path) -> dict[str, str | None]:
    try:
        tree = ast.parse(read_text(path))
    except (OSError, SyntaxError, ValueError):
        return {}
    values: dict[str, str | None] = {}
    for node in tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Constant):
            for name in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(name, ast.Name):
                    values[name.id] = None if node.value.value is None else str(node.value.value)
    return values


def rocm_leftovers(torch: TorchInstall, distributions: Iterable[Distribution]) -> tuple[str, ...]:
    """Traces of a ROCm torch beside a torch that is none."""
    found = []
    for item in distributions:
        for_rocm = local_part(item.version).startswith("rocm")
        if item.name in ROCM_ONLY_DISTRIBUTIONS or (item.name in SIBLINGS and for_rocm):
            found.append(f"{item.name} {item.version}")
        elif item.name == "torch" and for_rocm:
            found.append(f"record {item.path.name}")
    found += [f"torch/{name}" for name in ROCM_ONLY_FILES if (torch.location / name).exists()]
    return tuple(found)


def who_brought_torch(torch: TorchInstall, distributions: Iterable[Distribution]) -> tuple[Culprit, ...]:
    """From pip's records: which packages, installed in the same run as this torch, asked for it.

    Those named on the command line come first. Torch itself is the answer where it was asked for by name.
    """
    everything = tuple(distributions)
    record = max(torch.records, key=lambda item: item.installed_at, default=None)
    if record is None:
        return ()
    run = same_run(everything, record)
    names = tuple(item.name for item in run)
    by_name = {item.name: item for item in everything}
    culprits = []
    for item in sorted(run, key=lambda item: (not item.requested, -item.installed_at)):
        chain = requirement_path(item.name, "torch", by_name) if item.name != "torch" else ()
        if len(chain) > 1:
            pin = by_name[chain[-2]].requirement_on("torch")
            culprits.append(Culprit(item.name, chain, pin, names))
    if record.requested:
        culprits.insert(0, Culprit("torch", ("torch",), f"torch=={record.version}", names))
    asked_for = [item for item in culprits if by_name[item.name].requested]
    return tuple(asked_for or culprits)


def triton_requirement(torch: TorchInstall) -> str:
    """The line with which torch asks for its Triton, whatever that is called in this build."""
    names = ("triton", "pytorch-triton-rocm", "triton-rocm", "pytorch-triton")
    for record in torch.records:
        for name in names:
            line = record.requirement_on(name)
            if line:
                return line
    return ""


def wheel_tags(record: Distribution) -> tuple[str, ...]:
    """The `Tag:` lines of a wheel, such as cp311-cp311-manylinux_2_28_x86_64."""
    try:
        text = read_text(record.path / "WHEEL", errors="replace")
    except OSError:
        return ()
    return tuple(re.findall(r"^Tag:\s*(\S+)", text, re.MULTILINE))
