"""rocpd databases (SQLite): what rocprofv3 writes by default, and rocmProfileData's older layout of the same name."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.read_file import open_plain
from kernel_pytorch.perf.trace.recording import KERNEL, MEMCPY, NONE, Recording

SQLITE_MARK = b"SQLite format 3\x00"


def is_sqlite(path: Path) -> bool:
    """By its first bytes."""
    with open_plain(path) as file:
        return file.read(len(SQLITE_MARK)) == SQLITE_MARK


def read_rocpd(path: Path) -> Recording:
    """The recording in a rocpd database. Raises UsageError where it is not one, or has no kernels."""
    recording = Recording(str(path), "rocpd")
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            tables = _Tables(connection)
            if tables.has("rocpd_kernel_dispatch"):
                _read_v3(recording, connection, tables)
            elif tables.has("rocpd_op"):
                _read_rpd(recording, connection, tables)
            else:
                known = ", ".join(sorted(tables.names)[:6]) or "none"
                raise UsageError(f"{path}: a database, but not rocprofv3's: no rocpd_kernel_dispatch (tables: {known})")
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise UsageError(f"{path}: the database cannot be read ({error}): cut off or damaged") from error
    if len(recording.activities) == 0:
        raise UsageError(f"{path}: no kernel was recorded; run rocprofv3 with --kernel-trace")
    return recording


class _Tables:
    """Views without a suffix where they are there; otherwise the tables of every process, whose names end in a guid."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        self.names = {str(row[0]) for row in rows}

    def has(self, name: str) -> bool:
        return bool(self.suffixes(name))

    def suffixes(self, name: str) -> list[str]:
        """What has to be put behind a table's name: [""] for the views, else one per process."""
        if name in self.names:
            return [""]
        pattern = re.compile(re.escape(name) + r"(_[0-9a-f_]{8,})$")
        return sorted(found[1] for one in self.names if (found := pattern.match(one)))


def _read_v3(recording: Recording, connection: sqlite3.Connection, tables: _Tables) -> None:
    for suffix in tables.suffixes("rocpd_kernel_dispatch"):
        agents = {
            row[0]: row
            for row in connection.execute(
                f'SELECT id, type, absolute_index, product_name, model_name, name FROM "rocpd_info_agent{suffix}"'
            )
        }
        for row in agents.values():
            if row[1] == "GPU":
                recording.device_facts.append({"name": row[3] or row[4] or row[5] or "", "target": row[5] or ""})
        query = (
            "SELECT K.start, K.end, COALESCE(S.display_name, S.kernel_name), K.agent_id, "
            "COALESCE(K.stream_id, K.queue_id), COALESCE(E.stack_id, E.correlation_id) "
            f'FROM "rocpd_kernel_dispatch{suffix}" K '
            f'JOIN "rocpd_info_kernel_symbol{suffix}" S ON S.id = K.kernel_id AND S.guid = K.guid '
            f'LEFT JOIN "rocpd_event{suffix}" E ON E.id = K.event_id AND E.guid = K.guid'
        )
        for start, end, name, agent, stream, correlation in connection.execute(query):
            _activity(
                recording,
                start,
                end=end,
                name=str(name or "?"),
                kind=KERNEL,
                device=_index(agents, agent),
                stream=stream,
                correlation=correlation,
            )
        if tables.has("rocpd_pmc_event"):
            query = (
                "SELECT COALESCE(S.display_name, S.kernel_name), I.name, SUM(P.value) "
                f'FROM "rocpd_pmc_event{suffix}" P '
                f'JOIN "rocpd_info_pmc{suffix}" I ON I.id = P.pmc_id AND I.guid = P.guid '
                f'JOIN "rocpd_kernel_dispatch{suffix}" K ON K.event_id = P.event_id AND K.guid = P.guid '
                f'JOIN "rocpd_info_kernel_symbol{suffix}" S ON S.id = K.kernel_id AND S.guid = K.guid '
                "GROUP BY K.id, I.name"
            )
            for name, counter, value in connection.execute(query):
                kernel = recording.string(str(name or "?").removesuffix(".kd"))
                recording.count_hardware(kernel, str(counter), float(value or 0.0))
        if tables.has("rocpd_memory_copy"):
            query = (
                "SELECT M.start, M.end, S.string, M.src_agent_id, M.dst_agent_id, M.stream_id, "
                f'COALESCE(E.stack_id, E.correlation_id) FROM "rocpd_memory_copy{suffix}" M '
                f'JOIN "rocpd_string{suffix}" S ON S.id = M.name_id AND S.guid = M.guid '
                f'LEFT JOIN "rocpd_event{suffix}" E ON E.id = M.event_id AND E.guid = M.guid'
            )
            for start, end, name, source, target, stream, correlation in connection.execute(query):
                gpu = next((one for one in (target, source) if agents.get(one, (0, ""))[1] == "GPU"), target)
                _activity(
                    recording,
                    start,
                    end=end,
                    name=str(name),
                    kind=MEMCPY,
                    device=_index(agents, gpu),
                    stream=stream,
                    correlation=correlation,
                )
        if tables.has("rocpd_region"):
            _regions(recording, connection, suffix)


def _regions(recording: Recording, connection: sqlite3.Connection, suffix: str) -> None:
    query = (
        "SELECT R.start, R.end, R.tid, S.string, COALESCE(E.stack_id, E.correlation_id), C.string "
        f'FROM "rocpd_region{suffix}" R '
        f'JOIN "rocpd_string{suffix}" S ON S.id = R.name_id AND S.guid = R.guid '
        f'LEFT JOIN "rocpd_event{suffix}" E ON E.id = R.event_id AND E.guid = R.guid '
        f'LEFT JOIN "rocpd_string{suffix}" C ON C.id = E.category_id AND C.guid = R.guid'
    )
    for start, end, thread, name, correlation, category in connection.execute(query):
        place, label = recording.thread(thread), recording.string(str(name))
        if "MARKER" in str(category or ""):
            recording.annotations.add(start / 1e3, end / 1e3, place, label, NONE)
        else:
            recording.calls.add(start / 1e3, end / 1e3, place, label, NONE if correlation is None else correlation)


def _read_rpd(recording: Recording, connection: sqlite3.Connection, tables: _Tables) -> None:
    """rocmProfileData: operations with a type and a description, both in the string table."""
    linked = tables.has("rocpd_api_ops")
    link = "LEFT JOIN rocpd_api_ops L ON L.op_id = O.id" if linked else ""
    query = (
        f"SELECT O.start, O.end, D.string, T.string, O.gpuId, O.queueId, {'L.api_id' if linked else 'NULL'} "
        "FROM rocpd_op O JOIN rocpd_string D ON D.id = O.description_id "
        f"JOIN rocpd_string T ON T.id = O.opType_id {link}"
    )
    for start, end, description, kind, gpu, queue, api in connection.execute(query):
        is_copy = "Copy" in str(kind)
        name = str(description) or str(kind)
        _activity(
            recording,
            start,
            end=end,
            name=name,
            kind=MEMCPY if is_copy else KERNEL,
            device=int(gpu or 0),
            stream=queue,
            correlation=api,
        )
    if tables.has("rocpd_api"):
        query = (
            "SELECT A.id, A.start, A.end, A.tid, S.string FROM rocpd_api A JOIN rocpd_string S ON S.id = A.apiName_id"
        )
        for number, start, end, thread, name in connection.execute(query):
            recording.calls.add(start / 1e3, end / 1e3, recording.thread(thread), recording.string(str(name)), number)


def _activity(
    recording: Recording, start: int, end: int, name: str, kind: int, device: int, stream: Any, correlation: Any
) -> None:
    recording.activities.add(
        start / 1e3, end / 1e3, name=recording.string(name.removesuffix(".kd")), kind=kind, device=device,
        stream=int(stream or 0), correlation=NONE if correlation is None else int(correlation), external=NONE,
    )  # fmt: skip


def _index(agents: dict[Any, Any], agent: Any) -> int:
    row = agents.get(agent)
    return int(row[2]) if row is not None and row[2] is not None else int(agent or 0)
