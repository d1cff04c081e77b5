"""Probes that stand in for a machine we do not have.

`stand_in("mi300x", count=8)` is a machine with eight MI300X as its driver, its rocminfo and its torch would
describe them. `recorded(...)` is the general form: any files, device nodes and command outputs.
It answers questions about a platform; it runs nothing, and nothing seen through it was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kernel_pytorch.core.hardware import GIB, GPU, gpu_by_alias
from kernel_pytorch.core.probe import CommandResult, NodeStat, Probe, TorchFacts
from kernel_pytorch.core.vendor_kfd import KFD_NODES, PCI_DEVICES

RENDER_GID = 109
VIDEO_GID = 44
DEFAULT_DRIVER = "6.14.14"


def recorded(
    *,
    commands: Mapping[str, str | CommandResult] | None = None,
    files: Mapping[str, str] | None = None,
    nodes: Mapping[str, NodeStat] | None = None,
    locked: Mapping[str, str] | None = None,
    torch: TorchFacts | None = None,
    free_bytes: int | None = 500 * GIB,
    **fields: Any,
) -> Probe:
    """A probe with given answers. `commands` by tool name (a string is standard output with exit 0), `files` by
    path, `nodes` for things that only exist, `locked` for nodes that do not open, with the reason. Other
    keywords set the fields of `Probe` (env, uid, gids, user, python_path ...)."""
    contents = dict(files or {})
    things = dict(nodes or {})
    return Probe(
        run=_runner(dict(commands or {})),
        read_text=contents.get,
        list_dir=_lister((*contents, *things)),
        stat=lambda path: things.get(path) or (NodeStat(0, 0, 0o644) if path in contents else None),
        open_error=lambda path: (locked or {}).get(path, "" if path in things else "No such file or directory"),
        free_bytes=lambda path: free_bytes,
        group_name=lambda gid: {VIDEO_GID: "video", RENDER_GID: "render"}.get(gid, str(gid)),
        torch=lambda: torch,
        **fields,
    )


def _runner(commands: dict[str, str | CommandResult]) -> Callable[[Sequence[str], float], CommandResult]:
    def run(argv: Sequence[str], timeout_s: float) -> CommandResult:
        answer = commands.get(argv[0])
        if answer is None:
            return CommandResult(tuple(argv), "missing")
        return CommandResult(tuple(argv), "ran", 0, answer) if isinstance(answer, str) else answer

    return run


def _lister(paths: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def list_dir(folder: str) -> tuple[str, ...]:
        prefix = folder.rstrip("/") + "/"
        return tuple(sorted({path[len(prefix) :].split("/")[0] for path in paths if path.startswith(prefix)}))

    return list_dir


@dataclass(frozen=True)
class _Torch:
    version: str
    hip: str | None
    cuda: str | None


# Version strings as the wheels carry them; chosen to be an ordinary recent release.
_TORCH = {
    "amd": _Torch("2.10.0+rocm7.1", "7.1.52802", None),
    "nvidia": _Torch("2.10.0+cu128", None, "12.8"),
}


def stand_in(
    alias: str | None,
    count: int = 1,
    *,
    torch: bool = True,
    tools: bool = True,
    env: Mapping[str, str] | None = None,
    driver: str = DEFAULT_DRIVER,
    **fields: Any,
) -> Probe:
    """A machine with `count` boards of a GPU of the hardware table ("mi300x", "rx7900xtx", "h200"), or none.

    An MI250X board shows up as two devices, as it does on a real machine. Without `torch` there is no torch;
    without `tools` only the driver's own files show the GPUs.
    """
    if alias is None:
        return recorded(env=dict(env or {}), **fields)
    gpu = gpu_by_alias(alias)
    devices = count * gpu.devices_per_board
    facts = _torch_facts(gpu, devices) if torch else None
    if gpu.vendor == "nvidia":
        commands = {"nvidia-smi": _nvidia_smi_text(gpu, devices)} if tools else {}
        return recorded(commands=commands, torch=facts, env=dict(env or {}), **fields)
    return recorded(
        commands={"rocminfo": _rocminfo_text(gpu, devices, driver)} if tools else {},
        files=_kfd_files(gpu, devices, driver),
        nodes=_device_nodes(devices),
        torch=facts,
        env=dict(env or {}),
        **fields,
    )


def _torch_facts(gpu: GPU, devices: int) -> TorchFacts:
    build = _TORCH[gpu.vendor]
    suffix = gpu.target.name.removeprefix("sm_")
    properties = SimpleNamespace(
        name=f"AMD Instinct {gpu.name}" if gpu.target.matrix == "mfma" else gpu.name,
        gcnArchName=gpu.target.name + (":sramecc+:xnack-" if gpu.target.matrix == "mfma" else ""),
        major=int(suffix[:-1]) if gpu.vendor == "nvidia" else 0,
        minor=int(suffix[-1]) if gpu.vendor == "nvidia" else 0,
        multi_processor_count=gpu.compute_units,
        total_memory=int(gpu.memory_gib * GIB),
        warp_size=gpu.target.wave_size,
    )
    return TorchFacts(build.version, build.hip, build.cuda, devices=(properties,) * devices)


def _device_nodes(devices: int) -> dict[str, NodeStat]:
    nodes = {"/dev/kfd": NodeStat(0, RENDER_GID, 0o660)}
    for index in range(devices):
        nodes[f"/dev/dri/renderD{128 + index}"] = NodeStat(0, RENDER_GID, 0o660)
        nodes[f"/dev/dri/card{index}"] = NodeStat(0, VIDEO_GID, 0o660)
    return nodes


def _kfd_files(gpu: GPU, devices: int, driver: str) -> dict[str, str]:
    files = {
        f"{KFD_NODES}/0/properties": "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n",
        "/sys/module/amdgpu/version": driver + "\n",
    }
    simds_per_cu = gpu.target.simds_per_cu
    for index in range(1, devices + 1):
        node = f"{KFD_NODES}/{index}"
        files[f"{node}/properties"] = (
            f"cpu_cores_count 0\nsimd_count {gpu.compute_units * simds_per_cu}\nsimd_per_cu {simds_per_cu}\n"
            f"wave_front_size {gpu.target.wave_size}\ngfx_target_version {_target_version(gpu.target.name)}\n"
        )
        files[f"{node}/mem_banks/0/properties"] = f"heap_type 1\nsize_in_bytes {int(gpu.memory_gib * GIB)}\n"
        address = f"{PCI_DEVICES}/0000:{index:02x}:00.0"
        files[f"{address}/vendor"] = "0x1002\n"
        files[f"{address}/class"] = "0x120000\n" if gpu.target.matrix == "mfma" else "0x030000\n"
    return files


def _target_version(target: str) -> int:
    digits = target.removeprefix("gfx")
    return int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


def _rocminfo_text(gpu: GPU, devices: int, driver: str) -> str:
    head = f"ROCk module version {driver} is loaded\n=====================\nHSA System Attributes\nHSA Agents\n"
    agent = "*******\nAgent {number}\n*******\n  Name:  {name}\n  Marketing Name:  {market}\n  Device Type:  {kind}\n"
    text = head + agent.format(number=1, name="AMD EPYC", market="AMD EPYC", kind="CPU")
    for index in range(devices):
        text += agent.format(number=index + 2, name=gpu.target.name, market=gpu.name, kind="GPU")
        text += f"  Compute Unit:  {gpu.compute_units}\n  Wavefront Size:  {gpu.target.wave_size}(0x0)\n"
        kilobytes = int(gpu.memory_gib * GIB) // 1024
        text += "    Pool 1\n      Segment:  GLOBAL; FLAGS: COARSE GRAINED\n"
        text += f"      Size:  {kilobytes}(0x{kilobytes:x}) KB\n"
    return text


def _nvidia_smi_text(gpu: GPU, devices: int) -> str:
    digits = gpu.target.name.removeprefix("sm_")
    mebibytes = int(gpu.memory_gib * 1024)
    rows = [f"{i}, NVIDIA {gpu.name}, {digits[:-1]}.{digits[-1]}, {mebibytes}, 570.86.15" for i in range(devices)]
    return "\n".join(rows) + "\n"
