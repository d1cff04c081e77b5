"""Links between GPUs, and what the collective library is told."""

from __future__ import annotations

from kernel_pytorch.backends.topology import (
    Link,
    collective_variables,
    fully_linked,
    gpu_links,
    missing_variables,
)
from kernel_pytorch.core.stand_in import recorded

NODES = "/sys/class/kfd/kfd/topology/nodes"
SMI = """\
\x1b[4m\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\x1b[0m
GPU0\t X \tNV18\tSYS\t0-31\t0
GPU1\tNV18\t X \tSYS\t0-31\t0
GPU2\tSYS\tSYS\t X \t32-63\t1

Legend:
  X    = Self
"""


def kfd(gpus: int, kind: int) -> dict[str, str]:
    files = {f"{NODES}/0/properties": "simd_count 0\n"}
    for one in range(1, gpus + 1):
        files[f"{NODES}/{one}/properties"] = "simd_count 1216\nsimd_per_cu 4\n"
        files[f"{NODES}/{one}/io_links/0/properties"] = f"type 2\nnode_from {one}\nnode_to 0\n"
        others = [other for other in range(1, gpus + 1) if other != one]
        for place, other in enumerate(others, 1):
            files[f"{NODES}/{one}/io_links/{place}/properties"] = f"type {kind}\nnode_from {one}\nnode_to {other}\n"
    return files


def names(*args: object) -> dict[str, str]:
    return {item.name: item.value for item in collective_variables(*args)}  # type: ignore[arg-type]


def test_eight_mi300x_linked_by_xgmi() -> None:
    links = gpu_links("amd", recorded(files=kfd(8, 11)))
    assert len(links) == 28 and {link.kind for link in links} == {"xgmi"} and fully_linked(links, 8)
    assert names("amd", "gfx942", links, 8, "ddp")["NCCL_MIN_NCHANNELS"] == "112"
    assert "NCCL_MIN_NCHANNELS" not in names("amd", "gfx942", links[:20], 8, "ddp")
    assert names("amd", "gfx942", links, 8, "fsdp")["GPU_MAX_HW_QUEUES"] == "2"


def test_cards_on_pcie() -> None:
    links = gpu_links("amd", recorded(files=kfd(2, 2)))
    assert links == (Link(0, 1, "pcie"),) and not fully_linked(links, 2)
    assert names("amd", "gfx1100", links, 2, "ddp")["HSA_FORCE_FINE_GRAIN_PCIE"] == "1"


def test_nvidia_smi() -> None:
    links = gpu_links("nvidia", recorded(commands={"nvidia-smi": SMI}))
    assert links == (Link(0, 1, "nvlink"), Link(0, 2, "pcie"), Link(1, 2, "pcie"))
    assert names("nvidia", "sm_90", links, 3, "fsdp") == {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"}


def test_nothing_known_sets_nothing() -> None:
    assert gpu_links("amd", recorded()) == gpu_links("nvidia", recorded()) == gpu_links("cpu", recorded()) == ()
    assert collective_variables("cpu", "", (), 0, "ddp") == ()


def test_what_a_person_set_stays() -> None:
    wanted = collective_variables("amd", "gfx942", (), 1, "fsdp")
    assert "GPU_MAX_HW_QUEUES" not in missing_variables(wanted, {"GPU_MAX_HW_QUEUES": "4"})
