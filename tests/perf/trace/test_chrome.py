"""torch traces: what is taken, how kernels find their operators, what is left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.perf.trace.chrome import read_chrome_trace
from kernel_pytorch.perf.trace.linking import enclosing, link
from kernel_pytorch.perf.trace.recording import NONE, HostSpans


def name_of(recording: Any, links: Any, activity: int) -> str | None:
    operator = links.operator[activity]
    return None if operator == NONE else recording.signatures[recording.operators.label[operator]].name


def test_a_kernel_belongs_to_the_innermost_operator_of_its_launch(builder: Callable[..., Any]) -> None:
    made = builder()
    made.operator("aten::linear", 100, 50)
    made.operator("aten::addmm", 110, 30)
    made.kernel("Cijk_a", 200, 10, launched=120)
    made.kernel("later", 220, 10, launched=145)
    recording = read_chrome_trace(made.write())
    links = link(recording)
    assert [name_of(recording, links, i) for i in range(2)] == ["aten::addmm", "aten::linear"]
    assert links.parent[1] == 0 and links.parent[0] == NONE


def test_the_external_id_is_the_second_source(builder: Callable[..., Any]) -> None:
    made = builder()
    made.operator("aten::mm", 100, 10)
    made.kernel("k", 200, 5, **{"External id": 1})
    recording = read_chrome_trace(made.write())
    assert name_of(recording, link(recording), 0) == "aten::mm"


def test_work_of_earlier_steps_is_left_out(builder: Callable[..., Any]) -> None:
    made = builder()
    made.kernel("old", 10, 50)
    made.launch("aten::mm", "new", 100, 120, 10)
    made.kernel("unknown origin, later", 140, 5)
    recording = read_chrome_trace(made.write())
    assert list(link(recording).left_over) == [1, 0, 0]


def test_threads_do_not_nest_into_each_other() -> None:
    outer, inner = HostSpans(), HostSpans()
    outer.add(0, 100, 0, 0, 0)
    outer.add(10, 20, 1, 1, 0)
    for start, thread in ((5, 0), (15, 1), (50, 1), (99, 0), (100, 0)):
        inner.add(start, start + 1, thread, 0, 0)
    assert list(enclosing(inner, outer)) == [0, 1, NONE, 0, NONE]


def test_parents_of_nested_and_neighbouring_spans() -> None:
    spans = HostSpans()
    for start, end in ((0, 100), (10, 40), (10, 20), (20, 40), (50, 60), (100, 110)):
        spans.add(start, end, 0, 0, 0)
    assert list(enclosing(spans, spans)) == [NONE, 0, 1, 1, 0, NONE]


def test_modules_steps_and_resumed_frames_are_kept(builder: Callable[..., Any]) -> None:
    made = builder()
    made.span("python_function", "nn.Module: Linear_0", 90, 100)
    made.span("python_function", "model.py(3): torch_dynamo_resume_in_forward_at_3", 90, 10)
    made.span("python_function", "other.py(1): f", 90, 10)
    made.span("user_annotation", "ProfilerStep#4", 80, 200)
    made.launch("aten::mm", "k", 100, 120, 10)
    recording = read_chrome_trace(made.write())
    links = link(recording)
    assert recording.strings[recording.modules.label[links.module[0]]] == "Linear_0"
    assert recording.counters == {"torch_dynamo_resume_in_forward_at_3": 1}
    assert len(recording.annotations) == 1


def test_a_run_without_gpu_has_a_kernel_for_each_operator_that_works(builder: Callable[..., Any]) -> None:
    """aten::linear only calls aten::addmm, whose copy of the bias is its own; views are nothing."""
    made = builder()
    made.operator("aten::linear", 0, 100)
    made.operator("aten::t", 5, 10)
    made.operator("aten::addmm", 20, 60)
    made.operator("aten::copy_", 30, 10)
    made.operator("aten::reshape", 110, 20)
    made.operator("aten::clone", 112, 16)
    made.operator("aten::copy_", 114, 12)
    made.operator("mine::attention", 140, 50)
    made.operator("aten::bmm", 150, 30)
    made.operator("mine::fused", 200, 5)
    recording = read_chrome_trace(made.write())
    assert recording.on_cpu
    spans = [
        (recording.strings[n], s, e)
        for n, s, e in zip(recording.activities.name, recording.activities.start, recording.activities.end, strict=True)
    ]
    assert spans == [
        ("aten::addmm", 20, 80),
        ("aten::copy_", 114, 126),
        ("aten::bmm", 150, 180),
        ("mine::fused", 200, 205),
    ]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], "without events"),
        ([{"ph": "M", "name": "process_name"}], "none of which has a duration"),
        (
            [{"ph": "X", "cat": "python_function", "name": "f", "ts": 1, "dur": 1, "pid": 1, "tid": 1}],
            "no GPU activity",
        ),
        ([{"ph": "X", "cat": "kernel", "name": "k", "ts": "soon", "args": {}}], "not what a trace has"),
    ],
)
def test_traces_with_nothing_in_them(builder: Callable[..., Any], events: list[Any], words: str) -> None:
    made = builder()
    made.events = events
    with pytest.raises(UsageError) as caught:
        read_chrome_trace(made.write())
    assert words in str(caught.value)
