"""KP126-KP129: what lies between the GPUs of one machine."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from kernel_pytorch.core.findings import Status
from kernel_pytorch.core.probe import CommandResult, Probe
from kernel_pytorch.doctor import report
from kernel_pytorch.doctor.check import is_not_applicable
from kernel_pytorch.doctor.node import islands, listed
from kernel_pytorch.doctor.run import run_checks
from tests.backends.topology_texts import (
    H200,
    Kind,
    all_pcie,
    all_xgmi,
    amd_smi_json,
    last_on_pcie,
    numa_files,
    nvidia_matrix,
    nvidia_peers,
    rocm_smi_text,
    with_answers,
)
from tests.doctor.machines import diagnose, look, statuses

Build = Callable[..., Probe]
CODES = ("KP126", "KP127", "KP128", "KP129")
CSV = "{}, NVIDIA H100, 9.0, 81559, 570.86.15\n"
PAIRS = [["X", "NV4", "SYS", "SYS"], ["NV4", "X", "SYS", "SYS"], ["SYS", "SYS", "X", "NV4"], ["SYS", "SYS", "NV4", "X"]]


def mi300x(amd: Build, gpus: int, kind: Kind, *, access: bool = True, **fields: object) -> Probe:
    probe = amd(count=gpus, **fields)
    read = probe.read_text
    places = numa_files(gpus)
    probe = Probe(**{**probe.__dict__, "read_text": lambda path: places.get(path) or read(path)})
    return with_answers(probe, {("amd-smi", "topology"): amd_smi_json(gpus, kind, access=access)})


def nvidia(machine_with: Build, words: list[list[str]], peers: str = "", **fields: object) -> Probe:
    gpus = len(words)
    listing = "".join(CSV.format(gpu) for gpu in range(gpus))
    probe = machine_with(commands={"nvidia-smi": listing}, **fields)
    numa = [str(int(gpu >= gpus / 2)) for gpu in range(gpus)]
    answers = {("nvidia-smi", "topo", "-m"): nvidia_matrix(words, numa), ("nvidia-smi", "topo", "-p2p"): peers}
    return with_answers(probe, answers)


def test_eight_mi300x_all_linked(amd: Build) -> None:
    probe = mi300x(amd, 8, all_xgmi)
    (links,), (peers,), (numa,), (env,) = (diagnose(probe, code) for code in CODES)
    assert (links.status, links.detail) == (Status.PASS, "8 GPUs, every pair linked by XGMI (amd-smi)")
    assert (peers.status, peers.detail) == (Status.PASS, "all 28 pairs of GPUs read each other's memory")
    assert (numa.status, numa.detail.split(":")[0]) == (Status.INFO, "GPUs 0-3 on node 0; GPUs 4-7 on node 1")
    assert env.status is Status.INFO and "export NCCL_MIN_NCHANNELS=112" in env.fix
    tuned = mi300x(amd, 8, all_xgmi, env={"NCCL_MIN_NCHANNELS": "112"})
    assert statuses(diagnose(tuned, "KP129")) == [Status.PASS]


def test_a_gpu_of_the_board_without_links(amd: Build) -> None:
    (links,) = diagnose(mi300x(amd, 8, last_on_pcie(8)), "KP126")
    assert links.status is Status.WARN and "21 of 28 pairs linked by XGMI" in links.detail
    assert "GPU 7 has no direct link" in links.detail and links.fix == ("amd-smi topology",)
    (env,) = diagnose(mi300x(amd, 8, last_on_pcie(8)), "KP129")
    assert env.status is Status.PASS, "112 channels are documented for eight that are all linked"


def test_two_cards_on_pcie(amd: Build) -> None:
    probe = mi300x(amd, 2, all_pcie, access=False, alias="rx7900xtx")
    (links,), (peers,), _, (env,) = (diagnose(probe, code) for code in CODES)
    assert (links.status, links.detail) == (Status.PASS, "2 GPUs, all over PCIe (2 hops) (amd-smi)")
    assert peers.status is Status.WARN and "1 of 1 pairs" in peers.detail and "host memory" in peers.detail
    assert "export HSA_FORCE_FINE_GRAIN_PCIE=1" in env.fix
    old = with_answers(amd(alias="rx7900xtx", count=2), {("rocm-smi", "--showtopo"): rocm_smi_text(2, all_pcie)})
    assert diagnose(old, "KP126")[0].detail.endswith("(rocm-smi)")
    assert statuses(diagnose(old, "KP127")) == [Status.NOT_RUN]


def test_h100_cards_in_pairs(machine_with: Build) -> None:
    peers = nvidia_peers([["X" if one == other else "OK" for other in range(4)] for one in range(4)])
    probe = nvidia(machine_with, PAIRS, peers)
    (links,), (access,), (numa,), _ = (diagnose(probe, code) for code in CODES)
    assert links.status is Status.INFO and "2 of 6 pairs linked by NVLink" in links.detail
    assert links.detail.endswith("GPUs 0-1; 2-3")
    assert access.status is Status.PASS and numa.status is Status.INFO


def test_links_that_a_variable_switches_off(machine_with: Build, amd: Build) -> None:
    words = [["X", "NV18"], ["NV18", "X"]]
    off = nvidia(machine_with, words, env={"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "0"})
    result = diagnose(off, "KP129")[0]
    assert result.status is Status.WARN and "the NVLink links" in result.detail
    assert result.fix == ("unset NCCL_P2P_DISABLE",)
    level = diagnose(mi300x(amd, 2, all_xgmi, env={"NCCL_P2P_LEVEL": "LOC"}), "KP129")[0]
    assert level.status is Status.WARN and "XGMI" in level.detail


def test_a_real_h200_alone(machine_with: Build) -> None:
    probe = machine_with(commands={"nvidia-smi": "0, NVIDIA H200, 9.0, 143771, 570.133.20\n"})
    probe = with_answers(probe, {("nvidia-smi", "topo"): H200})
    for code in CODES:
        (result,) = diagnose(probe, code)
        assert is_not_applicable(result) and "one GPU" in result.detail
    machine = look(probe)
    assert json.loads(report.as_json(machine, list(run_checks(machine))))["node"] is None


@pytest.mark.parametrize("answer", [CommandResult(("amd-smi",), "hangs"), "nonsense"])
def test_where_nobody_tells(amd: Build, answer: str | CommandResult) -> None:
    probe = with_answers(amd(count=2), {("amd-smi",): answer})
    assert [statuses(diagnose(probe, code)) for code in CODES[:3]] == [[Status.NOT_RUN]] * 3


def test_the_node_is_in_the_text_and_in_the_json(amd: Build) -> None:
    machine = look(mi300x(amd, 8, all_xgmi))
    assert list(report.machine_lines(machine))[2] == "node     8 GPUs, every pair linked by XGMI"
    node = json.loads(report.as_json(machine, []))["node"]
    assert (node["gpus"], node["source"], len(node["links"])) == (8, "amd-smi", 28)
    assert node["links"][0] == {"first": 0, "second": 1, "kind": "xgmi", "peer_access": True, "detail": "1 hop"}


def test_groups_and_numbers() -> None:
    from kernel_pytorch.backends.topology import Link

    links = [Link(0, 1, "xgmi"), Link(1, 2, "xgmi"), Link(3, 4, "nvlink"), Link(2, 3, "pcie")]
    assert islands(6, links) == [[0, 1, 2], [3, 4], [5]]
    assert listed([0, 1, 2, 5, 7, 8]) == "0-2, 5, 7-8"
