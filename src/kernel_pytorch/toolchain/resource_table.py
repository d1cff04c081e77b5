"""The table `kpt build` prints: what each kernel needs on each target, and the occupancy this allows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from kernel_pytorch.core.hardware import target
from kernel_pytorch.core.printable import printable
from kernel_pytorch.core.standard_streams import rich_console
from kernel_pytorch.toolchain.build import BuildOutcome, known_target
from kernel_pytorch.toolchain.code_object import KernelResources, descriptor_mismatches
from kernel_pytorch.toolchain.demangle import short_name
from kernel_pytorch.toolchain.occupancy import Occupancy, occupancy

HEADINGS = (
    "kernel", "target", "VGPR", "AGPR", "SGPR", "spills v/s", "scratch", "LDS", "kernarg", "max workgroup",
    "waves/SIMD", "limited by",
)  # fmt: skip
_LEFT_ALIGNED = (0, 1, len(HEADINGS) - 1)


@dataclass(frozen=True)
class ResourceRow:
    """One kernel on one target."""

    file: str
    arch: str
    kernel: KernelResources
    dynamic_lds_bytes: int
    occupancy: Occupancy | None
    no_occupancy: str  # why there is none: a target the hardware table does not have, a workgroup size it cannot take
    mismatches: tuple[str, ...]  # where the metadata and the kernel descriptor disagree

    def cells(self) -> tuple[str, ...]:
        """The row as text, in the order of HEADINGS."""
        kernel = self.kernel
        lds = f"{kernel.lds_bytes}+{self.dynamic_lds_bytes}" if self.dynamic_lds_bytes else str(kernel.lds_bytes)
        scratch = f"{kernel.scratch_bytes}+dynamic" if kernel.uses_dynamic_stack else str(kernel.scratch_bytes)
        found = self.occupancy
        waves = f"{found.waves_per_simd}/{found.max_waves_per_simd}" if found else "?"
        return (
            short_name(kernel.name),
            self.arch,
            str(kernel.vgprs),
            str(kernel.agprs),
            str(kernel.sgprs),
            f"{kernel.vgpr_spills}/{kernel.sgpr_spills}",
            scratch,
            lds,
            str(kernel.kernarg_bytes),
            str(kernel.max_workgroup_size),
            waves,
            found.limiter if found else self.no_occupancy,
        )

    def to_json(self) -> dict[str, object]:
        """The row as JSON data, with the names the code object's metadata uses where it has them."""
        kernel = self.kernel
        data: dict[str, object] = asdict(kernel)
        data["descriptor_mismatches"] = list(self.mismatches)
        data["dynamic_lds_bytes"] = self.dynamic_lds_bytes
        found = self.occupancy
        data["occupancy"] = None
        if found is not None:
            computed = {"percent": found.percent, "workgroups_per_cu": found.workgroups_per_cu}
            data["occupancy"] = {**asdict(found), **computed}
        return data


def resource_rows(
    built: BuildOutcome, workgroup_size: int | None = None, dynamic_lds_bytes: int = 0
) -> tuple[ResourceRow, ...]:
    """The rows of one code object. `workgroup_size` and `dynamic_lds_bytes` are what a launch would use."""
    if built.code_object is None:
        return ()
    base = built.code_object.target
    dynamic = built.dynamic_lds_bytes + dynamic_lds_bytes
    rows = []
    for kernel in built.code_object.kernels:
        size = workgroup_size if workgroup_size is not None else built.workgroup_size
        found, reason = _occupancy(kernel, base, size, dynamic)
        checked = descriptor_mismatches(kernel, base)
        rows.append(ResourceRow(built.file, built.arch, kernel, dynamic, found, reason, checked))
    return tuple(rows)


def _occupancy(kernel: KernelResources, arch: str, size: int | None, dynamic: int) -> tuple[Occupancy | None, str]:
    if not known_target(arch):
        return None, "target not in the hardware table"
    if size is not None and size > kernel.max_workgroup_size:
        return None, f"takes workgroups up to {kernel.max_workgroup_size}"
    return occupancy(kernel, target(arch), size, dynamic), ""


def plain_table(rows: Sequence[ResourceRow]) -> str:
    """Aligned text, one line per kernel and target."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in _LEFT_ALIGNED else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def print_rich_table(rows: Sequence[ResourceRow], title: str) -> None:
    """The same table for a terminal: spills marked, no column for AGPRs where none are used, long names folded."""
    from rich import box
    from rich.markup import escape
    from rich.measure import Measurement
    from rich.table import Table

    shown = [c for c in range(len(HEADINGS)) if HEADINGS[c] != "AGPR" or any(row.kernel.agprs for row in rows)]
    table = Table(
        title=escape(printable(title)), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for column in shown:
        justify: Literal["left", "right"] = "left" if column in _LEFT_ALIGNED else "right"
        heading = HEADINGS[column].replace(" ", "\n").replace("/SIMD", "/\nSIMD")
        table.add_column(
            heading, justify=justify, overflow="fold", no_wrap=column != 0, min_width=8 if column == 0 else None
        )
    for row in rows:
        cells = row.cells()
        table.add_row(
            *(escape(printable(cells[column])) for column in shown), style="yellow" if row.kernel.has_spills else None
        )
    console = rich_console(sys.stdout)
    if Measurement.get(console, console.options.update(max_width=1000), table).minimum > console.width:
        print(f"{title}\n{plain_table(rows)}")  # a squeezed table loses columns; lines that wrap lose nothing
        return
    console.print(table)


def by_kernel(rows: Sequence[ResourceRow]) -> list[ResourceRow]:
    """Rows of one kernel together, so that targets can be compared."""
    order = {symbol: place for place, symbol in enumerate(dict.fromkeys(row.kernel.symbol for row in rows))}
    return sorted(rows, key=lambda row: order[row.kernel.symbol])


def footnotes(rows: Sequence[ResourceRow]) -> tuple[str, ...]:
    """What a reader must know to read these rows; nothing where it does not apply."""
    notes = []
    if any(row.kernel.agprs and known_target(row.arch) and target(row.arch).agprs == "unified" for row in rows):
        notes.append("VGPR counts AGPRs too on gfx90a and later: they share one register file")
    if any(row.kernel.workgroup_processor_mode for row in rows):
        notes.append(
            "RDNA kernels run in workgroup-processor mode: a workgroup has the LDS and SIMDs of two compute units"
        )
    notes += [f"{row.file} {row.kernel.name} ({row.arch}): {text}" for row in rows for text in row.mismatches]
    return tuple(notes)
