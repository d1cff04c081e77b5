"""Doctor's results as text for people and as JSON for machines."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import wrap

from kernel_pytorch.core.devices import DeviceInfo
from kernel_pytorch.core.findings import SCHEMA_VERSION, CheckResult, Status, to_plain
from kernel_pytorch.core.hardware import GIB
from kernel_pytorch.core.printable import printable
from kernel_pytorch.core.standard_streams import rich_console
from kernel_pytorch.doctor.check import is_not_applicable
from kernel_pytorch.doctor.machine import Machine
from kernel_pytorch.doctor.node import computing_devices, links_in_words
from kernel_pytorch.doctor.run import all_checks
from kernel_pytorch.version import VERSION

WORDS = {
    Status.FAIL: "red",
    Status.WARN: "warn",
    Status.INFO: "note",
    Status.PASS: "ok",
    Status.NOT_RUN: "not run",
}
STYLES = {"red": "bold red", "warn": "yellow", "note": "cyan", "ok": "green", "not run": "dim", "n/a": "dim"}
COUNTED = {
    "red": "red",
    "warn": "warnings",
    "note": "notes",
    "ok": "ok",
    "not run": "not run",
    "n/a": "not applicable",
}
NO_GPU = "kpt scan, port, build, emulate and verify work here; timing on a GPU does not"
ORDER = (Status.FAIL, Status.WARN, Status.INFO, Status.PASS, Status.NOT_RUN)


def exit_status(results: Sequence[CheckResult]) -> int:
    """1 if anything is red, else 0."""
    return 1 if any(result.status is Status.FAIL for result in results) else 0


def as_json(machine: Machine, results: Sequence[CheckResult]) -> str:
    """One JSON object: the platform, every result, the counts and the exit status."""
    areas = {item.check.code: item.check.area for item in all_checks()}
    checks = [
        {**to_plain(result), "area": areas.get(result.code or ""), "applicable": not is_not_applicable(result)}
        for result in results
    ]
    return json.dumps(
        {
            "schema": SCHEMA_VERSION,
            "tool": f"kpt doctor {VERSION}",
            "platform": to_plain(machine.platform),
            "torch_build": machine.torch.build if machine.torch else None,
            "container": machine.container.kind if machine.container else None,
            "node": to_plain(machine.node) if len(computing_devices(machine)) > 1 else None,
            "checks": checks,
            "counts": dict(Counter(_word(result) for result in results)),
            "exit": exit_status(results),
        },
        indent=2,
    )


def as_text(machine: Machine, results: Sequence[CheckResult], *, verbose: bool, width: int = 100) -> str:
    """Plain lines: the machine, what is wrong (or everything), the counts."""
    lines = list(machine_lines(machine))
    lines.append("")
    for result in shown(results, verbose):
        head = f"{_word(result):<8}{result.code:<7}"
        body = wrap(result.detail, max(width - len(head), 40)) or [""]
        lines += [head + body[0], *(" " * len(head) + line for line in body[1:])]
    lines.append(counts_line(results))
    hint = hint_line(results, verbose)
    return "\n".join([*lines, *([hint] if hint else [])]) + "\n"


def print_rich(machine: Machine, results: Sequence[CheckResult], *, verbose: bool) -> None:
    """The same on a terminal, with colours and a table."""
    from rich.table import Table
    from rich.text import Text

    console = rich_console(sys.stdout)
    for line in machine_lines(machine):
        console.print(Text(printable(line), style="bold"))
    rows = shown(results, verbose)
    if rows:
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for result in rows:
            word = _word(result)
            table.add_row(Text(word, style=STYLES[word]), Text(result.code or ""), Text(printable(result.detail)))
        console.print()
        console.print(table)
    console.print()
    console.print(Text(counts_line(results)))
    hint = hint_line(results, verbose)
    if hint:
        console.print(Text(hint, style="dim"))


def shown(results: Sequence[CheckResult], verbose: bool) -> list[CheckResult]:
    """Problems first; without `verbose` nothing else."""
    wanted = ORDER if verbose else (Status.FAIL, Status.WARN)
    return [result for status in wanted for result in results if result.status is status]


def machine_lines(machine: Machine) -> Iterator[str]:
    """The machine in two lines; a third where several GPUs are known to be connected."""
    devices = machine.amd_devices + machine.nvidia_devices
    parts = list(_grouped(devices)) or ["no GPU"]
    where = f", in a {machine.container.kind} container" if machine.container else ""
    driver = f", driver {machine.platform.driver_version}" if machine.platform.driver_version else ""
    rocm = f", ROCm {machine.platform.rocm_version}" if machine.platform.rocm_version else ""
    without = "" if devices else f": {NO_GPU}"
    yield f"machine  {' + '.join(parts)}{driver}{rocm}{where}{without}"
    torch = machine.torch
    version = ".".join(str(part) for part in machine.probe.python_version)
    build = f"torch {torch.version} ({torch.build} build)" if torch else "no torch"
    yield f"python   {version}, {build}"
    if len(computing_devices(machine)) > 1 and machine.node.links:
        yield f"node     {links_in_words(machine.node.gpus, machine.node.links)}"


def _grouped(devices: Sequence[DeviceInfo]) -> Iterator[str]:
    groups: dict[tuple[str, str, int, int], int] = {}
    for device in devices:
        key = (device.name, device.target, device.compute_units, device.memory_bytes)
        groups[key] = groups.get(key, 0) + 1
    for (name, target, units, memory), count in groups.items():
        facts = [target if target != name else ""]
        facts += [f"{units} {'SM' if target.startswith('sm_') else 'CU'}"] if units else []
        facts += [f"{memory / GIB:.0f} GiB"] if memory else []
        details = ", ".join(fact for fact in facts if fact)
        yield f"{count} x {name}" + (f" ({details})" if details else "")


def counts_line(results: Sequence[CheckResult]) -> str:
    counts = Counter(_word(result) for result in results)
    shown_words = [word for word in COUNTED if counts[word] or word == "red"]
    return ", ".join(f"{counts[word]} {COUNTED[word].removesuffix('s' * (counts[word] == 1))}" for word in shown_words)


def hint_line(results: Sequence[CheckResult], verbose: bool) -> str:
    """Where to read on."""
    problems = [result for status in (Status.FAIL, Status.WARN) for result in results if result.status is status]
    if not problems:
        return "" if verbose else "`kpt doctor -v` shows everything that was looked at"
    return f"`kpt explain {problems[0].code}` tells more, `kpt doctor --fix` prints the commands"


def fix_lines(results: Sequence[CheckResult]) -> Iterator[str]:
    """The commands for everything red or yellow, as a shell script a person reads before running any of it."""
    problems = [result for status in (Status.FAIL, Status.WARN) for result in results if result.status is status]
    if not any(result.fix for result in problems):
        yield "# kpt doctor --fix: nothing to do"
        return
    yield "# kpt doctor --fix: nothing below was run. Read it, then run what you want."
    for result in problems:
        if result.fix:
            yield ""
            yield from (f"# {line}" for line in wrap(f"{result.code} {result.detail}", 100))
            yield from result.fix


def _word(result: CheckResult) -> str:
    return "n/a" if is_not_applicable(result) else WORDS[result.status]
