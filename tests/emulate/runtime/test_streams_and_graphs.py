"""Streams, events, capture and graphs."""

from __future__ import annotations

from tests.emulate.runtime.conftest import Run

ADD = """
n = 64
loaded = module()
kernel = function(loaded, "add")
a, c = malloc(4 * n), malloc(4 * n)
def fill():
    upload(a, struct.pack(f"<{n}f", *range(n)))
    good("hipMemset", ctypes.c_void_p(c), 0, size(4 * n))
fill()
values = [ctypes.c_uint64(a), ctypes.c_uint64(a), ctypes.c_uint64(c), ctypes.c_int(n)]
stream = ctypes.c_void_p()
good("hipStreamCreate", ctypes.byref(stream))
doubled = struct.pack(f"<{n}f", *(2 * i for i in range(n)))
zeros = bytes(4 * n)
"""


def test_events_and_callbacks(run: Run) -> None:
    ran = run(
        ADD
        + """
start, stop = ctypes.c_void_p(), ctypes.c_void_p()
good("hipEventCreate", ctypes.byref(start))
good("hipEventCreate", ctypes.byref(stop))
milliseconds = ctypes.c_float()
assert call("hipEventElapsedTime", ctypes.byref(milliseconds), start, stop) == 400
good("hipEventRecord", start, stream)
assert launch(kernel, (1, 1, 1), (64, 1, 1), values, stream=stream) == 0
good("hipEventRecord", stop, stream)
good("hipEventSynchronize", stop)
good("hipEventElapsedTime", ctypes.byref(milliseconds), start, stop)
assert milliseconds.value > 0
seen = []
callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: seen.append(data))
good("hipLaunchHostFunc", stream, callback, ctypes.c_void_p(5))
assert seen == [5]
good("hipStreamWaitEvent", None, stop, 0)
good("hipStreamQuery", stream)
good("hipStreamDestroy", stream)
assert call("hipStreamSynchronize", stream) == 400
"""
    )
    assert ran.code == 0, ran.err


def test_capture_records_and_replays(run: Run) -> None:
    ran = run(
        ADD
        + """
graph, exe, event, second = (ctypes.c_void_p() for _ in range(4))
good("hipEventCreate", ctypes.byref(event))
good("hipStreamCreate", ctypes.byref(second))
good("hipStreamBeginCapture", stream, 0)
status = ctypes.c_int()
good("hipStreamIsCapturing", stream, ctypes.byref(status))
assert status.value == 1
assert launch(kernel, (1, 1, 1), (64, 1, 1), values, stream=stream) == 0
good("hipEventRecord", event, stream)
good("hipStreamWaitEvent", second, event, 0)
good("hipMemcpyAsync", ctypes.c_void_p(a), ctypes.c_void_p(c), size(4 * n), D2D, second)
good("hipEventRecord", event, second)
good("hipStreamWaitEvent", stream, event, 0)
good("hipStreamEndCapture", stream, ctypes.byref(graph))
assert download(c, 4 * n) == zeros
count = ctypes.c_size_t()
good("hipGraphGetNodes", graph, None, ctypes.byref(count))
assert count.value == 2
good("hipGraphInstantiate", ctypes.byref(exe), graph, None, None, size(0))
for _ in range(3):
    good("hipGraphLaunch", exe, stream)
assert struct.unpack(f"<{n}f", download(a, 4 * n)) == tuple(8.0 * i for i in range(n))
assert call("hipStreamBeginCapture", None, 0) == 900
good("hipStreamBeginCapture", stream, 0)
assert call("hipStreamSynchronize", stream) == 900
assert call("hipStreamEndCapture", stream, ctypes.byref(graph)) == 901
good("hipStreamSynchronize", stream)
good("hipStreamBeginCapture", stream, 0)
good("hipMemsetAsync", ctypes.c_void_p(c), 0, size(4 * n), stream)
good("hipEventRecord", event, stream)
good("hipStreamWaitEvent", second, event, 0)
good("hipMemsetAsync", ctypes.c_void_p(c), 1, size(4 * n), second)
assert call("hipStreamEndCapture", stream, ctypes.byref(graph)) == 904
"""
    )
    assert ran.code == 0, ran.err


def test_explicit_nodes_and_updates(run: Run) -> None:
    ran = run(
        ADD
        + """
class KernelNode(ctypes.Structure):
    _fields_ = [("block", Dim3), ("extra", ctypes.c_void_p), ("func", ctypes.c_void_p), ("grid", Dim3),
                ("params", ctypes.c_void_p), ("lds", ctypes.c_uint)]
class SetNode(ctypes.Structure):
    _fields_ = [("dst", ctypes.c_void_p), ("element", ctypes.c_uint), ("height", ctypes.c_size_t),
                ("pitch", ctypes.c_size_t), ("value", ctypes.c_uint), ("width", ctypes.c_size_t)]
graph, exe, node, clear, kept = (ctypes.c_void_p() for _ in range(5))
good("hipGraphCreate", ctypes.byref(graph), 0)
zero = SetNode(c, 4, 1, 0, 0, n)
good("hipGraphAddMemsetNode", ctypes.byref(clear), graph, None, size(0), ctypes.byref(zero))
pointers = (ctypes.c_void_p * 4)(*[ctypes.addressof(v) for v in values])
described = KernelNode(Dim3(64, 1, 1), None, kernel.value, Dim3(1, 1, 1), ctypes.addressof(pointers), 0)
before = (ctypes.c_void_p * 1)(clear.value)
good("hipGraphAddKernelNode", ctypes.byref(node), graph, before, size(1), ctypes.byref(described))
values[3] = ctypes.c_int(1)
good("hipGraphInstantiate", ctypes.byref(exe), graph, None, None, size(0))
good("hipGraphLaunch", exe, None)
assert download(c, 4 * n) == doubled  # arguments were copied when the node was made
pointers[3] = ctypes.addressof(values[3])
good("hipGraphExecKernelNodeSetParams", exe, node, ctypes.byref(described))
good("hipGraphLaunch", exe, None)
assert download(c, 4 * n) == bytes(4 * n)
shown = KernelNode()
good("hipGraphKernelNodeGetParams", node, ctypes.byref(shown))
assert (shown.block.x, shown.func) == (64, kernel.value)
kind = ctypes.c_int()
good("hipGraphNodeGetType", clear, ctypes.byref(kind))
assert kind.value == 2
result = ctypes.c_int()
good("hipGraphExecUpdate", exe, graph, ctypes.byref(kept), ctypes.byref(result))
good("hipGraphLaunch", exe, None)
assert download(c, 4 * n) == doubled
good("hipGraphAddEmptyNode", ctypes.byref(kept), graph, None, size(0))
assert call("hipGraphExecUpdate", exe, graph, ctypes.byref(kept), ctypes.byref(result)) == 910
assert result.value == 2
good("hipGraphAddDependencies", graph, (ctypes.c_void_p * 1)(node.value), (ctypes.c_void_p * 1)(clear.value), size(1))
assert call("hipGraphInstantiate", ctypes.byref(exe), graph, None, None, size(0)) == INVALID_VALUE
"""
    )
    assert ran.code == 0, ran.err


def test_memory_that_a_graph_allocates_is_there_after_each_launch(run: Run) -> None:
    ran = run(
        """
graph, node, exec_ = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
good("hipGraphCreate", ctypes.byref(graph), 0)
params = ctypes.create_string_buffer(120)  # hipMemAllocNodeParams: bytesize at 104, dptr at 112
struct.pack_into("<Q", params, 104, 256)
good("hipGraphAddMemAllocNode", ctypes.byref(node), graph, None, size(0), params)
memory = ctypes.c_void_p(struct.unpack_from("<Q", params, 112)[0])
good("hipGraphInstantiate", ctypes.byref(exec_), graph, None, None, size(0))
for _ in range(3):
    good("hipGraphLaunch", exec_, None)
    good("hipMemset", memory, 1, size(256))
    good("hipFree", memory)
    assert call("hipFree", memory) != 0  # it is gone until the next launch
print("done")
"""
    )
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
