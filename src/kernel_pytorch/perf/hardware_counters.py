"""Hardware counters of kernels, as rocprofv3 --pmc and ROCm Compute Profiler record them, in words of a person.

A recording holds sums by kernel and counter. A figure is left out where the counters it needs were not recorded. Names
and formulas are those of AMD's MI200 and MI300 counter reference; derived metrics that the profiler computed itself
(OccupancyPercent, L2CacheHit, ...) are averaged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.profile import KernelCounters, Peaks
from kernel_pytorch.perf.trace.recording import KERNEL, CounterSum, Recording
from kernel_pytorch.perf.trace.rocprof_csv import WAVE_CYCLES, WAVE_PASS

SIMDS_PER_UNIT = 4
_READS, _WRITES = r"^(FETCH_SIZE|FetchSize|TCC_EA0?_RDREQ_sum)$", r"^(WRITE_SIZE|WriteSize|TCC_EA0?_WRREQ_64B_sum)$"
KB = 1024


@dataclass(frozen=True)
class _Sums:
    """The counters of one kernel: sums over its dispatches, and means per dispatch."""

    sums: Mapping[str, CounterSum]

    def total(self, *names: str) -> float | None:
        """The first of these that was recorded, summed over dispatches."""
        return next((self.sums[name].total for name in names if name in self.sums), None)

    def mean(self, *names: str) -> float | None:
        return next((self.sums[name].total / self.sums[name].count for name in names if name in self.sums), None)


def kernel_counters(recording: Recording, peaks: Peaks | None) -> tuple[KernelCounters, ...]:
    """One row for each kernel with counters, the longest first."""
    times: dict[int, list[float]] = {}
    activities = recording.activities
    for i in range(len(activities)):
        if activities.kind[i] == KERNEL and activities.name[i] in recording.hardware:
            times.setdefault(activities.name[i], []).append(activities.end[i] - activities.start[i])
    rows = [
        _row(recording.strings[name], _Sums(sums), times.get(name, []), peaks)
        for name, sums in recording.hardware.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.total_ms))


def one_way(rows: Sequence[KernelCounters]) -> str:
    """ "read" or "written" where the bandwidth of these rows counts one of them only; else nothing."""
    recorded = {name for row in rows for name in row.recorded}
    read, written = (any(re.search(names, one) for one in recorded) for names in (_READS, _WRITES))
    return "" if read == written else "read" if read else "written"


def _row(name: str, found: _Sums, times_us: list[float], peaks: Peaks | None) -> KernelCounters:
    mean_us = sum(times_us) / len(times_us) if times_us else 0.0
    gbs = _bandwidth(found, mean_us)
    return KernelCounters(
        name, len(times_us), sum(times_us) / 1e3,
        occupancy=_occupancy(found, peaks),
        valu_per_vmem=_ratio(found.total("SQ_INSTS_VALU"), _vector_memory(found)),
        valu_busy=_percent(found.mean("VALUBusy", "ValuPipeIssueUtil")),
        lds_conflicts=_first(
            _percent(found.mean("LDSBankConflict", "LdsBankConflict")),
            _ratio(found.total("SQ_LDS_BANK_CONFLICT"), found.total("SQ_LDS_IDX_ACTIVE")),
        ),
        l1_hit=_l1_hit(found),
        l2_hit=_first(
            _hits(found.total("TCC_HIT_sum"), found.total("TCC_MISS_sum")), _percent(found.mean("L2CacheHit"))
        ),
        gbs=gbs,
        share_of_bandwidth=gbs / peaks.bandwidth_gbs if gbs is not None and peaks else None,
        matrix_busy=_matrix(found, peaks),
        recorded={key: one.total / one.count for key, one in sorted(found.sums.items())},
    )  # fmt: skip


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _percent(value: float | None) -> float | None:
    return None if value is None else value / 100


def _ratio(upper: float | None, lower: float | None) -> float | None:
    return upper / lower if upper is not None and lower else None


def _hits(hits: float | None, misses: float | None) -> float | None:
    return hits / (hits + misses) if hits is not None and misses is not None and hits + misses else None


def _vector_memory(found: _Sums) -> float | None:
    whole = found.total("SQ_INSTS_VMEM")
    reads, writes = found.total("SQ_INSTS_VMEM_RD"), found.total("SQ_INSTS_VMEM_WR")
    return whole if whole is not None else (reads or 0.0) + (writes or 0.0) or None


def _l1_hit(found: _Sums) -> float | None:
    """What the vector L1 cache did not have to ask the L2 for."""
    accesses = found.total("TCP_TOTAL_CACHE_ACCESSES_sum")
    asked = found.total("TCP_TCC_READ_REQ_sum")
    return max(0.0, 1 - asked / accesses) if accesses and asked is not None else None


def _bandwidth(found: _Sums, mean_us: float) -> float | None:
    """FETCH_SIZE and WRITE_SIZE are kilobytes between the L2 and what is behind it."""
    read = _first(_bytes(found.mean("FETCH_SIZE", "FetchSize")), _read_bytes(found))
    written = _first(_bytes(found.mean("WRITE_SIZE", "WriteSize")), _written_bytes(found))
    if (read is None and written is None) or not mean_us:
        return None
    return ((read or 0.0) + (written or 0.0)) / (mean_us * 1e3)


def _bytes(kilobytes: float | None) -> float | None:
    return None if kilobytes is None else kilobytes * KB


def _read_bytes(found: _Sums) -> float | None:
    """From the L2's requests: 128 bytes where the counter for those is there (MI300), else 64, or 32."""
    requests = found.mean("TCC_EA0_RDREQ_sum", "TCC_EA_RDREQ_sum")
    short = found.mean("TCC_EA0_RDREQ_32B_sum", "TCC_EA_RDREQ_32B_sum") or 0.0
    long = found.mean("TCC_BUBBLE_sum") or 0.0
    return None if requests is None else 128 * long + 64 * (requests - long - short) + 32 * short


def _written_bytes(found: _Sums) -> float | None:
    requests = found.mean("TCC_EA0_WRREQ_sum", "TCC_EA_WRREQ_sum")
    whole = found.mean("TCC_EA0_WRREQ_64B_sum", "TCC_EA_WRREQ_64B_sum")
    return None if requests is None or whole is None else 64 * whole + 32 * (requests - whole)


def _occupancy(found: _Sums, peaks: Peaks | None) -> float | None:
    """The share of wave slots in use while the kernel ran."""
    percent = _percent(found.mean("OccupancyPercent"))
    waves = found.mean("MeanOccupancyPerCU", "MeanOccupancyPerActiveCU")
    if percent is not None or peaks is None or not peaks.alias:
        return percent
    gpu = gpu_by_alias(peaks.alias)
    in_flight = _ratio(found.total(WAVE_CYCLES), found.total(WAVE_PASS))
    if waves is None and in_flight is not None:
        # Cycles are counted on each die with compute units.
        waves = in_flight * gpu.xccs / gpu.compute_units
    return None if waves is None else waves / (gpu.target.max_waves_per_simd * gpu.target.simds_per_cu)


def _matrix(found: _Sums, peaks: Peaks | None) -> float | None:
    """The share of time in which the matrix units were busy."""
    percent = _percent(found.mean("MfmaUtil"))
    busy, active = found.total("SQ_VALU_MFMA_BUSY_CYCLES"), found.total("GRBM_GUI_ACTIVE")
    if percent is not None or busy is None or not active or peaks is None or not peaks.alias:
        return percent
    return busy / (active * gpu_by_alias(peaks.alias).compute_units * SIMDS_PER_UNIT)
