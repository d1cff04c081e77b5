"""Links between GPUs, and what the collective library is told."""

from __future__ import annotations

import pytest

from kernel_pytorch.backends.topology import (
    Link,
    Node,
    collective_variables,
    fully_linked,
    gpu_links,
    missing_variables,
    node_topology,
)
from kernel_pytorch.backends.topology_tools import parse_amd_smi, parse_nvidia_smi, parse_rocm_smi
from kernel_pytorch.core.probe import CommandResult
from kernel_pytorch.core.stand_in import recorded

from .topology_texts import (
    H200,
    all_pcie,
    all_xgmi,
    amd_smi_json,
    amd_smi_old_json,
    last_on_pcie,
    numa_files,
    nvidia_matrix,
    nvidia_peers,
    rocm_smi_text,
    with_answers,
)

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
    assert links == (
        Link(0, 1, "nvlink", None, "NV18"),
        Link(0, 2, "pcie", None, "SYS"),
        Link(1, 2, "pcie", None, "SYS"),
    )
    assert names("nvidia", "sm_90", links, 3, "fsdp") == {"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"}


def test_nothing_known_sets_nothing() -> None:
    assert gpu_links("amd", recorded()) == gpu_links("nvidia", recorded()) == gpu_links("cpu", recorded()) == ()
    assert collective_variables("cpu", "", (), 0, "ddp") == ()


def test_what_a_person_set_stays() -> None:
    wanted = collective_variables("amd", "gfx942", (), 1, "fsdp")
    assert "GPU_MAX_HW_QUEUES" not in missing_variables(wanted, {"GPU_MAX_HW_QUEUES": "4"})


@pytest.mark.parametrize(
    "text",
    [
        amd_smi_json(8, all_xgmi),
        amd_smi_json(8, all_xgmi, wrapped=True),
        amd_smi_json(8, all_xgmi, noise="UserWarning: [driver] is old\n"),
    ],
)
def test_amd_smi_on_eight_mi300x(text: str) -> None:
    node = parse_amd_smi(text)
    assert node is not None and node.gpus == 8 and len(node.links) == 28 and fully_linked(node.links, 8)
    assert node.links[0] == Link(0, 1, "xgmi", True, "1 hop") and node.addresses[1] == "0000:1c:00.0"


def test_amd_smi_before_rocm_6_2() -> None:
    node = parse_amd_smi(amd_smi_old_json(2, all_pcie))
    assert node is not None and node.links == (Link(0, 1, "pcie", False, "2 hops"),)


def test_rocm_smi_on_two_cards() -> None:
    node = parse_rocm_smi(rocm_smi_text(2, all_pcie))
    assert node == Node(2, (Link(0, 1, "pcie", None, "2 hops"),), (0, 1), "rocm-smi")
    closed = parse_rocm_smi(rocm_smi_text(2, all_pcie, access="False"))
    assert closed is not None and closed.links[0].peer_access is False


def test_a_gpu_that_lost_its_links() -> None:
    for node in (parse_amd_smi(amd_smi_json(8, last_on_pcie(8))), parse_rocm_smi(rocm_smi_text(8, last_on_pcie(8)))):
        assert node is not None and not fully_linked(node.links, 8)
        assert [link.first for link in node.links if link.kind == "pcie"] == list(range(7))


def test_nvidia_smi_with_peers_and_numa_nodes() -> None:
    words = [["X", "NV4", "SYS"], ["NV4", "X", "PHB"], ["SYS", "PHB", "X"]]
    peers = nvidia_peers([["X", "OK", "CNS"], ["OK", "X", "OK"], ["CNS", "OK", "X"]])
    node = parse_nvidia_smi(nvidia_matrix(words, ["0", "0", "N/A"]), peers)
    assert node == Node(
        3,
        (Link(0, 1, "nvlink", True, "NV4"), Link(0, 2, "pcie", False, "SYS"), Link(1, 2, "pcie", True, "PHB")),
        (0, 0, None),
        "nvidia-smi",
    )


def test_a_real_h200_has_no_links_and_one_numa_node() -> None:
    assert parse_nvidia_smi(H200) == Node(1, (), (0,), "nvidia-smi")


@pytest.mark.parametrize("text", ["", "}{", "[]", "{}", "[1, 2]", "not a table", '[{"gpu": 0}]'])
def test_other_texts_are_no_topology(text: str) -> None:
    assert parse_amd_smi(text) is None and parse_rocm_smi(text) is None and parse_nvidia_smi(text) is None


def test_the_tool_that_tells_most_is_asked_first() -> None:
    machine = recorded(files={**kfd(2, 11), **numa_files(2)})
    assert node_topology("amd", machine).source == "driver"
    with_rocm_smi = with_answers(machine, {("rocm-smi", "--showtopo"): rocm_smi_text(2, all_xgmi)})
    assert node_topology("amd", with_rocm_smi).source == "rocm-smi"
    both = with_answers(with_rocm_smi, {("amd-smi", "topology"): amd_smi_json(2, all_xgmi)})
    assert node_topology("amd", both).source == "amd-smi" and node_topology("amd", both).numa_nodes == (0, 1)
    failing = with_answers(both, {("amd-smi",): CommandResult(("amd-smi",), "hangs")})
    assert node_topology("amd", failing).source == "rocm-smi"
    assert node_topology("amd", recorded()) == node_topology("cpu", recorded()) == Node()
    assert gpu_links("amd", with_answers(recorded(), {("amd-smi",): amd_smi_json(2, all_pcie)}))[0].kind == "pcie"
