"""rocprof's files of all versions: by header, never by position; what is missing is named."""

# ruff: noqa: E501 - names and logs as the tools write them
from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.analyse import analyse
from kernel_pytorch.perf.trace.open import open_recording
from kernel_pytorch.perf.trace.recording import KERNEL, MEMCPY

V3 = """"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"
"KERNEL_DISPATCH","Agent 4",1,1,77,1,10,"void add<float>(float*, int, int)",1,1000000,1010000
"KERNEL_DISPATCH","Agent 4",1,1,77,2,11,"Cijk_Ailk_Bljk_HHS.kd",2,1015000,1035000
"""
V1 = """"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","DispatchNs","BeginNs","EndNs","CompleteNs"
0,"softmax_kernel",1,0,0,5,5,64,64,900,1000,3000,4000
"""
V2 = """Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID
1,2,1,5,5,64,"my_gemm",1000,9000,7
"""


@pytest.mark.parametrize(("text", "device", "length"), [(V3, 4, 10.0), (V1, 1, 2.0), (V2, 2, 8.0)])
def test_kernel_traces_of_three_versions(tmp_path: Path, text: str, device: int, length: float) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    activities = open_recording(path).activities
    assert activities.device[0] == device
    assert activities.end[0] - activities.start[0] == pytest.approx(length)


def test_columns_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("End_Timestamp,Kernel_Name,Start_Timestamp\n5000,k,2000\n")
    activities = open_recording(path).activities
    assert (activities.start[0], activities.end[0]) == (2.0, 5.0)


def test_copies_and_calls_of_the_same_run_are_read_along(tmp_path: Path) -> None:
    (tmp_path / "9_kernel_trace.csv").write_text(V3)
    (tmp_path / "9_memory_copy_trace.csv").write_text(
        '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE",0,"Agent 0","Agent 4",3,1040000,1050000\n'
    )
    (tmp_path / "9_hip_api_trace.csv").write_text(
        '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
        '"HIP_RUNTIME_API","hipLaunchKernel",1,77,1,990000,991000\n'
        '"HIP_RUNTIME_API","hipLaunchKernel",1,77,2,1012000,1013000\n'
    )
    (tmp_path / "8_memory_copy_trace.csv").write_text("of another run\n")
    recording = open_recording(tmp_path / "9_kernel_trace.csv")
    assert list(recording.activities.kind) == [KERNEL, KERNEL, MEMCPY]
    profile = analyse(recording)
    (row,) = profile.timelines
    assert row.exposed_copy_ms == pytest.approx(0.010)
    assert row.idle_ms == pytest.approx(0.010)
    assert {one.category for one in profile.categories} == {"gemm", "elementwise", "copy"} or profile.other_share > 0
    causes = {cause.cause: cause.idle_ms for cause in profile.idle}
    assert causes["host-bound"] == pytest.approx(0.002)  # from the end of the first kernel to the launch call
    assert causes["launch latency"] == pytest.approx(0.003)


def test_a_dispatch_with_several_counters_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "counters.csv"
    rows = "".join(f'1,1,"Agent 1",1,"k","{name}",5,1000,2000\n' for name in ("SQ_WAVES", "GRBM_COUNT"))
    path.write_text(
        "Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Kernel_Name,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
        + rows
    )
    assert len(open_recording(path).activities) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Kernel_Name,Start_Timestamp\nk,1\n", "column End_Timestamp is missing"),
        ("Name,Calls,TotalDurationNs\nk,1,5\n", "a statistics file"),
        ("Kernel_Name,Start_Timestamp,End_Timestamp\nk,1000\n", ":2: 2 of 3 columns"),
        ("Kernel_Name,Start_Timestamp,End_Timestamp\nk,soon,5\n", ":2: 'soon' is not a number"),
        ("Kernel_Name,Start_Timestamp,End_Timestamp\n", "no kernel was recorded"),
        ("Function,Thread_Id,Start_Timestamp,End_Timestamp\nhipMalloc,1,1,2\n", "no kernel times"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        open_recording(path)
    assert words in str(caught.value)


def make_rocpd(path: Path, suffix: str, views: bool) -> None:
    """A database with the columns rocprofv3 gives these tables."""
    connection = sqlite3.connect(path)
    tables = {
        "rocpd_info_agent": "id, guid, type, absolute_index, product_name, model_name, name",
        "rocpd_info_kernel_symbol": "id, guid, kernel_name, display_name",
        "rocpd_event": "id, guid, category_id, stack_id, correlation_id",
        "rocpd_string": "id, guid, string",
        "rocpd_kernel_dispatch": "id, guid, agent_id, kernel_id, stream_id, queue_id, start, end, event_id",
        "rocpd_memory_copy": "id, guid, start, end, name_id, dst_agent_id, src_agent_id, stream_id, event_id",
        "rocpd_region": "id, guid, tid, start, end, name_id, event_id",
    }
    for name, columns in tables.items():
        connection.execute(f'CREATE TABLE "{name}{suffix}" ({columns})')
        if views:
            connection.execute(f'CREATE VIEW {name} AS SELECT * FROM "{name}{suffix}"')
    rows = {
        "rocpd_info_agent": [
            (1, "g", "CPU", 0, "", "", "cpu"),
            (2, "g", "GPU", 4, "AMD Instinct MI300X", "", "gfx942"),
        ],
        "rocpd_info_kernel_symbol": [(1, "g", "k.kd", "Cijk_x")],
        "rocpd_event": [(1, "g", 1, 50, 50), (2, "g", 1, 51, 51), (3, "g", 1, 50, 50)],
        "rocpd_string": [
            (1, "g", "HIP_RUNTIME_API_EXT"),
            (2, "g", "MEMORY_COPY_DEVICE_TO_HOST"),
            (3, "g", "hipLaunch"),
        ],
        "rocpd_kernel_dispatch": [(1, "g", 2, 1, 0, 1, 10_000, 30_000, 1)],
        "rocpd_memory_copy": [(1, "g", 40_000, 50_000, 2, 1, 2, 0, 2)],
        "rocpd_region": [(1, "g", 7, 1_000, 2_000, 3, 3)],
    }
    for name, values in rows.items():
        for row in values:
            connection.execute(f'INSERT INTO "{name}{suffix}" VALUES ({",".join("?" * len(row))})', row)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("views", [True, False])
def test_rocpd_databases(tmp_path: Path, views: bool) -> None:
    path = tmp_path / "results.db"
    make_rocpd(path, "_0000ddb5_8903_7903", views)
    profile = analyse(open_recording(path))
    (row,) = profile.timelines
    assert (row.device, row.compute_ms, row.copy_ms) == (4, 0.02, 0.01)
    assert profile.peaks is not None and profile.peaks.gpu == "MI300X"
    assert profile.vendor == "amd"
    assert profile.launches.calls == 1


def test_the_older_rocpd_layout(tmp_path: Path) -> None:
    path = tmp_path / "trace.rpd"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE rocpd_string (id, string)")
    connection.execute("CREATE TABLE rocpd_op (id, gpuId, queueId, start, end, description_id, opType_id)")
    connection.executemany(
        "INSERT INTO rocpd_string VALUES (?, ?)",
        [(1, "Cijk_y"), (2, "KernelExecution"), (3, "CopyDeviceToHost"), (4, "")],
    )
    connection.executemany(
        "INSERT INTO rocpd_op VALUES (?,?,?,?,?,?,?)", [(1, 0, 0, 1000, 2000, 1, 2), (2, 0, 0, 3000, 4000, 4, 3)]
    )
    connection.commit()
    connection.close()
    assert {row.category for row in analyse(open_recording(path)).categories} == {"gemm", "copy"}


def test_databases_that_are_not_rocpd(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE users (id)")
    connection.commit()
    connection.close()
    with pytest.raises(UsageError, match="tables: users"):
        open_recording(path)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(UsageError, match="database"):
        open_recording(path)


def test_rocprofv3_json(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    run = {
        "agents": [{"id": {"handle": 9}, "type": 2, "product_name": "AMD Instinct MI355X", "node_id": 3, "cu_count": 256}],
        "kernel_symbols": [{"kernel_id": 8, "formatted_kernel_name": "attn_fwd"}],
        "strings": {"buffer_records": [{"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]}]},
        "buffer_records": {
            "kernel_dispatch": [
                {
                    "start_timestamp": 1000, "end_timestamp": 4000, "correlation_id": {"internal": 1},
                    "dispatch_info": {"agent_id": {"handle": 9}, "queue_id": {"handle": 1}, "kernel_id": 8},
                }
            ],
            "memory_copy": [
                {
                    "start_timestamp": 5000, "end_timestamp": 6000, "operation": 1, "dst_agent_id": {"handle": 9},
                    "src_agent_id": {"handle": 0}, "correlation_id": {"internal": 2},
                }
            ],
        },
    }  # fmt: skip
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [run]}))
    profile = analyse(open_recording(path))
    assert profile.gpu == "AMD Instinct MI355X"
    assert profile.peaks is not None and profile.peaks.gpu == "MI355X"
    assert {row.category: row.kernel_ms for row in profile.categories} == {"attention": 0.003, "copy": 0.001}
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [{"agents": []}]}))
    with pytest.raises(UsageError, match="unknown version"):
        open_recording(path)


def test_files_that_are_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"\x7fELF....")
    with pytest.raises(UsageError, match="neither a torch trace"):
        open_recording(path)
    with pytest.raises(UsageError, match="no recording in this folder"):
        open_recording(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        open_recording(tmp_path / "missing")
