"""The environment for one GPU as a block of POSIX shell to source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from shlex import quote
from textwrap import wrap

from kernel_pytorch.doctor.checks.kp135_expandable_segments import supported
from kernel_pytorch.doctor.environment import Variable, allocator_options, is_on, variable, variables
from kernel_pytorch.doctor.machine import Machine

WIDTH = 100


@dataclass(frozen=True)
class BlockTarget:
    """For which GPU the block is. `name` is for the reader."""

    target: str
    name: str


def shell_block(machine: Machine, gpu: BlockTarget | None) -> str:
    """Lines for `eval "$(kpt doctor --env)"`. Without an AMD GPU only comments, which say so."""
    if gpu is None:
        return "\n".join(
            [
                "# kpt doctor --env: no AMD GPU on this machine, so there is nothing to set.",
                "# For the block of a GPU that is not here: kpt doctor --env --gpu mi300x",
                "",
            ]
        )
    lines = [f"# kpt doctor --env: for {gpu.name} ({gpu.target})", ""]
    lines += _removals(machine)
    for row in variables("recommended"):
        if row.applies_to(gpu.target):
            lines += _export(row.name, row.value, _explained(row))
    lines += _allocator(machine)
    return "\n".join(lines) + "\n"


def _removals(machine: Machine) -> Iterator[str]:
    """Red flags of this environment, switched off."""
    for row in (*variables("red"), *variables("no-such-flag")):
        if is_on(machine.probe.env.get(row.name)):
            yield from _comment(row.what)
            yield f"unset {row.name}"
            yield ""
    for name, options in allocator_options(machine.probe.env).items():
        if "max_split_size_mb" in options:
            rest = ",".join(f"{key}:{value}" for key, value in options.items() if key != "max_split_size_mb")
            yield from _comment("without max_split_size_mb (KP131)")
            yield f"export {name}={quote(rest)}" if rest else f"unset {name}"
            yield ""


def _explained(row: Variable) -> str:
    return f"{row.what}. Default: {row.default}" + (", so this changes nothing" if row.default == row.value else "")


def _allocator(machine: Machine) -> Iterator[str]:
    row = variable("PYTORCH_HIP_ALLOC_CONF")
    torch = machine.torch
    works = supported(torch.version, torch.rocm_version) if torch and torch.build == "rocm" else None
    text = (
        "growing segments against fragmentation; without max_split_size_mb. "
        "If a copy to the GPU hangs, take this line out first (pytorch/pytorch issue 192259)"
    )
    if works:
        yield from _export(row.name, row.value, text)
    else:
        yield from _comment(text)
        yield from _comment("Left out: needs torch >= 2.11 built with ROCm >= 7.0")
        yield f"# export {row.name}={row.value}"


def _export(name: str, value: str, why: str) -> Iterator[str]:
    yield from _comment(why)
    yield f"export {name}={value}"
    yield ""


def _comment(text: str) -> Iterator[str]:
    for line in wrap(text, WIDTH):
        yield f"# {line}"
