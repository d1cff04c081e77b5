"""Hardware counters in the profilers' three forms: read by kernel, turned into figures, and never counted as time twice."""

# ruff: noqa: E501 - rows as the tools write them
from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.profile import KernelCounters, load, save
from kernel_pytorch.perf.roofline.peaks import named_gpu
from kernel_pytorch.perf.trace.open import open_recording
from kernel_pytorch.report.profile_html import write_html
from kernel_pytorch.report.profile_text import profile_text

HEAD = '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n'


def row(dispatch: int, kernel: str, counter: str, value: float) -> str:
    start = 1_000_000 * dispatch
    return f'{dispatch},{dispatch},"Agent 1",1,9,9,1024,1,"{kernel}",64,0,0,8,0,16,"{counter}",{value:f},{start},{start + 10_000}\n'


def counters_of(path: Path) -> dict[str, KernelCounters]:
    return {one.name: one for one in analyse(open_recording(path), named_gpu("mi300x")).counters}


@pytest.fixture
def passes(tmp_path: Path) -> Path:
    """Three runs of rocprofv3 --pmc, with a kernel trace in the first: two dispatches of one kernel, one of another."""
    for number in (1, 2, 3):
        (tmp_path / str(number)).mkdir()
    groups = {
        1: {"SQ_INSTS_VALU": 4000.0, "SQ_INSTS_VMEM_RD": 150.0, "SQ_INSTS_VMEM_WR": 50.0},
        2: {"TCC_HIT_sum": 30.0, "TCC_MISS_sum": 10.0, "SQ_LDS_BANK_CONFLICT": 5.0, "SQ_LDS_IDX_ACTIVE": 20.0},
        3: {"FETCH_SIZE": 20_000.0, "WRITE_SIZE": 6_500.0, "OccupancyPercent": 40.0, "MfmaUtil": 25.0},
    }
    for number, group in groups.items():
        text = "".join(row(d, k, c, v) for d, k in ((1, "mine"), (2, "mine"), (3, "other")) for c, v in group.items())
        (tmp_path / str(number) / "9_counter_collection.csv").write_text(HEAD + text)
    kernels = "".join(
        f'"KERNEL_DISPATCH","Agent 1",1,{d},"{k}",{1_000_000 * d},{1_000_000 * d + 10_000}\n'
        for d, k in ((1, "mine"), (2, "mine"), (3, "other"))
    )
    for number in (1, 2):  # --kernel-trace in two of the runs
        (tmp_path / str(number) / "9_kernel_trace.csv").write_text(
            '"Kind","Agent_Id","Queue_Id","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n' + kernels
        )
    return tmp_path


def test_passes_of_rocprofv3_are_joined_and_their_time_counts_once(passes: Path) -> None:
    found = counters_of(passes)
    mine = found["mine"]
    assert (mine.dispatches, mine.total_ms) == (2, pytest.approx(0.02))
    assert mine.valu_per_vmem == pytest.approx(20.0)
    assert mine.l2_hit == pytest.approx(0.75) and mine.lds_conflicts == pytest.approx(0.25)
    assert mine.occupancy == pytest.approx(0.4) and mine.matrix_busy == pytest.approx(0.25)
    # 26,500 kB in 10 us, of 5300 GB/s.
    assert mine.gbs == pytest.approx(26_500 * 1024 / 10e3) and mine.share_of_bandwidth == pytest.approx(mine.gbs / 5300)
    assert mine.recorded["SQ_INSTS_VALU"] == 4000.0
    assert found["other"].dispatches == 1 and mine.l1_hit is None


def test_counters_without_a_kernel_trace_carry_their_own_times(passes: Path) -> None:
    for number in "12":
        (passes / number / "9_kernel_trace.csv").unlink()
    found = counters_of(passes)
    assert (found["mine"].dispatches, found["mine"].l2_hit) == (2, pytest.approx(0.75))


def test_a_folder_of_rocm_compute_profiler(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "MI300X_A1"
    folder.mkdir(parents=True)
    (folder / "pmc_perf.csv").write_text(
        "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Start_Timestamp,End_Timestamp,SQ_INSTS_VALU,SQ_INSTS_VMEM,GRBM_GUI_ACTIVE,"
        "SQ_VALU_MFMA_BUSY_CYCLES,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum,"
        "TCP_TOTAL_CACHE_ACCESSES_sum,TCP_TCC_READ_REQ_sum\n"
        "0,k,0,64,1000,11000,100,10,1000,608000,100,20,30,10,4,200,50\n"
        "1,k,0,64,21000,31000,100,10,1000,608000,100,20,30,10,4,200,\n"
    )
    (folder / "SQ_IFETCH_LEVEL.csv").write_text(
        "Dispatch_ID,Kernel_Name,GPU_ID,Start_Timestamp,End_Timestamp,SQ_IFETCH\n0,k,0,5,9,1\n"
    )
    found = counters_of(tmp_path / "mine")["k"]
    assert (found.dispatches, found.total_ms) == (2, pytest.approx(0.02))
    assert found.valu_per_vmem == pytest.approx(10.0) and found.matrix_busy == pytest.approx(608 / (304 * 4))
    read, written = 128 * 30 + 64 * 50 + 32 * 20, 64 * 4 + 32 * 6
    assert found.gbs == pytest.approx((read + written) / 10e3)
    assert found.l1_hit == pytest.approx(1 - 50 / 400)  # the value that is missing is not counted


def test_rocm_compute_profiler_says_which_gpu_and_how_many_waves(tmp_path: Path) -> None:
    """Columns as in ROCm/rocprofiler-compute's recorded workloads; the figures are ours."""
    (tmp_path / "pmc_perf.csv").write_text(
        "Dispatch_ID,Kernel_Name,GPU_ID,Start_Timestamp,End_Timestamp,GRBM_GUI_ACTIVE,SQ_VALU_MFMA_BUSY_CYCLES\n"
        "0,k,0,1000,11000,1000,608000\n"
    )
    (tmp_path / "SQ_LEVEL_WAVES.csv").write_text(
        "Dispatch_ID,GPU_ID,Kernel_Name,Start_Timestamp,End_Timestamp,GRBM_GUI_ACTIVE,SQ_ACCUM_PREV_HIRES\n"
        "0,0,k,5,9,16000,9728000\n0,0,never seen,5,9,1,1\n"
    )
    (tmp_path / "sysinfo.csv").write_text("workload_name,gpu_model,gpu_arch,cu_per_gpu\nmine,MI300X_A1,gfx942,304\n")
    profile = analyse(open_recording(tmp_path))
    (found,) = profile.counters
    assert profile.peaks is not None and profile.peaks.alias == "mi300x"
    # 16,000 cycles over eight dies: 4,864 waves at work, of 304 x 32.
    assert found.occupancy == pytest.approx(0.5)
    assert found.matrix_busy == pytest.approx(608 / (304 * 4))  # the other pass's cycles are not added to its own


def test_times_that_a_spreadsheet_rounded(tmp_path: Path) -> None:
    """As in one of ROCm Compute Profiler's recorded workloads."""
    path = tmp_path / "pmc_perf.csv"
    path.write_text(
        "Dispatch_ID,Kernel_Name,GPU_ID,Start_Timestamp,End_Timestamp,SQ_WAVES\n0,k,0,8.1097E+14,8.1097E+14,4\n"
    )
    with pytest.raises(UsageError, match="ends when it starts"):
        open_recording(path)


def test_rocpd(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    with sqlite3.connect(path) as base:
        base.executescript(
            """
            CREATE TABLE rocpd_info_agent (id, guid, type, absolute_index, product_name, model_name, name);
            INSERT INTO rocpd_info_agent VALUES (1, 'g', 'GPU', 0, 'AMD Instinct MI300X', '', 'gfx942');
            CREATE TABLE rocpd_info_kernel_symbol (id, guid, kernel_name, display_name);
            INSERT INTO rocpd_info_kernel_symbol VALUES (5, 'g', 'k.kd', 'k');
            CREATE TABLE rocpd_event (id, guid, stack_id, correlation_id, category_id);
            INSERT INTO rocpd_event VALUES (7, 'g', 1, 1, 0), (8, 'g', 2, 2, 0);
            CREATE TABLE rocpd_kernel_dispatch (id, guid, kernel_id, agent_id, stream_id, queue_id, event_id, start, end);
            INSERT INTO rocpd_kernel_dispatch VALUES (1, 'g', 5, 1, 0, 0, 7, 1000, 5000), (2, 'g', 5, 1, 0, 0, 8, 6000, 10000);
            CREATE TABLE rocpd_info_pmc (id, guid, name);
            INSERT INTO rocpd_info_pmc VALUES (3, 'g', 'TCC_HIT_sum'), (4, 'g', 'TCC_MISS_sum');
            CREATE TABLE rocpd_pmc_event (id, guid, event_id, pmc_id, value);
            INSERT INTO rocpd_pmc_event VALUES (1, 'g', 7, 3, 6), (2, 'g', 7, 4, 2), (3, 'g', 8, 3, 3), (4, 'g', 8, 4, 1);
            """
        )
    (found,) = analyse(open_recording(path)).counters
    assert (found.name, found.dispatches, found.l2_hit) == ("k", 2, 0.75)


def test_they_are_shown_saved_and_loaded(passes: Path, tmp_path: Path) -> None:
    profile = analyse(open_recording(passes), named_gpu("mi300x"))
    text = profile_text(profile, 5)
    assert "hardware counters" in text and "75%" in text and "(51%)" in text
    write_html(profile, tmp_path / "p.html")
    assert "Hardware counters" in (tmp_path / "p.html").read_text(encoding="utf-8")
    save(profile, tmp_path / "p.json")
    assert load(tmp_path / "p.json").counters == profile.counters


def test_how_to_record_is_printed_without_a_subject(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--how"]) == 0
    assert "rocprofv3 --pmc" in capsys.readouterr().out
    assert main(["profile"]) == 2
    assert "--how" in capsys.readouterr().err


def test_reads_alone_are_called_that_and_the_profilers_idle_time_is_not_the_hosts(tmp_path: Path) -> None:
    path = tmp_path / "fetch_size.csv"
    path.write_text(HEAD + row(1, "mine", "FETCH_SIZE", 20_000.0) + row(900, "mine", "FETCH_SIZE", 20_000.0))
    text = profile_text(analyse(open_recording(path), named_gpu("mi300x")))
    assert "GB/s read only (share)" in text and "2048 (39%)" in text
    assert "nothing that would save 0.2 % of the time was found" in text
    assert "the idle time is its own" in text and "host-bound stretch" not in text


def test_derived_columns_of_the_first_rocprof_are_counters_too(tmp_path: Path) -> None:
    head = "Index,KernelName,gpu-id,queue-id,pid,tid,grd,wgr,lds,scr,arch_vgpr,accum_vgpr,sgpr,wave_size,sig,obj,FETCH_SIZE"
    line = '0,"mine.kd",1,0,4395,4395,77824,256,0,0,12,4,48,64,0x0,0x7600,2000.5'
    timed = tmp_path / "timed.csv"
    timed.write_text(f"{head},BeginNs,EndNs\n{line},1000000,1010000\n")
    assert counters_of(timed)["mine"].recorded == {"FETCH_SIZE": 2000.5}
    without = tmp_path / "without.csv"
    without.write_text(f"{head}\n{line}\n")
    with pytest.raises(UsageError, match="--timestamp on"):
        open_recording(without)
