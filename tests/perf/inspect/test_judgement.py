"""Estimates, flags, gaps, differences: judged on records made by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernel_pytorch.core.hardware import gpu_by_alias
from kernel_pytorch.perf.expected.expected import expected_time
from kernel_pytorch.perf.inspect.compare import differences
from kernel_pytorch.perf.inspect.flags import configuration_problem, fp8_problems, idle_lanes, kernel_flags
from kernel_pytorch.perf.inspect.gaps import gap_list
from kernel_pytorch.perf.inspect.generated_work import generated_flops, generated_work
from kernel_pytorch.perf.inspect.nvidia_kernel import parse_report
from kernel_pytorch.perf.inspect.origins import trace_line
from kernel_pytorch.perf.inspect.view import (
    Configuration,
    GraphBreak,
    Inspection,
    LaunchStep,
    Resources,
    SourceLine,
    TargetView,
    TritonKernel,
)
from kernel_pytorch.report.inspect_html import inspection_page
from kernel_pytorch.report.inspect_text import inspection_text

MI300X = gpu_by_alias("mi300x")
RDNA = gpu_by_alias("rx7900xtx")
FINE = Resources(32, 0, 20, 0, 0, 0, 1024, 256, 8, 8, "wave slots")
CONFIGURATION = Configuration("XBLOCK=1024 num_warps=4 num_stages=1", 4, 1, FINE)
LINE = SourceLine("model.py", 7, "return x.relu()")
KERNEL = TritonKernel("triton_poi_0", "pointwise", "ab", ("aten.relu",), (LINE,), 8, 4, ("fp32",), (CONFIGURATION,), 0)


def view(kernel: TritonKernel = KERNEL, target: str = "gfx942", steps: tuple[LaunchStep, ...] = ()) -> TargetView:
    return TargetView(target, "GPU", 1, (kernel,), steps, (), (), (), (), 1.0, 2.0, 1.0, 0.5, "2.13", "3.9")


def test_a_generated_kernel_is_bound_by_its_bytes() -> None:
    work = generated_work(replace(KERNEL, bytes=5_300_000_000, flops=0))
    found = expected_time(MI300X, work) if work else None
    assert found is not None
    assert found.best_us == pytest.approx(1000.0)
    assert found.limiter == "memory" and found.us > found.best_us


def test_a_kernel_of_unknown_size_has_no_time() -> None:
    assert generated_work(replace(KERNEL, bytes=None)) is None


def test_generated_operations_leave_out_loads_casts_and_constants() -> None:
    source = "    tmp0 = tl.load(in_ptr0 + (x0), None)\n    tmp1 = tmp0.to(tl.float32)\n    tmp2 = tmp1 * tmp1\n"
    assert generated_flops(source + "    tmp3 = tl.full([1], 0, tl.int32)\n    tmp4 = tmp2 + tmp3\n", 100) == 200


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"num_warps": 32}, "num-warps"),
        ({"resources": replace(FINE, lds_bytes=70000)}, "lds"),
        ({"resources": replace(FINE, spills=12)}, "spills"),
        ({"resources": None, "failure": "error: undefined symbol __nv_erfcinvf"}, "libdevice"),
        ({"resources": None, "failure": "CompilationError: no"}, "does-not-compile"),
    ],
)
def test_what_is_wrong_with_a_configuration(change: dict[str, object], code: str) -> None:
    problem = configuration_problem(replace(CONFIGURATION, **change), MI300X.target)  # type: ignore[arg-type]
    assert problem is not None and problem[0] == code


def test_a_configuration_that_fits_has_no_problem_and_wave_32_takes_more_warps() -> None:
    assert configuration_problem(CONFIGURATION, MI300X.target) is None
    assert configuration_problem(replace(CONFIGURATION, num_warps=32), RDNA.target) is None


def test_idle_lanes_are_a_matter_of_the_wave() -> None:
    small = replace(CONFIGURATION, name="XBLOCK=32 num_warps=1", num_warps=1)
    assert idle_lanes(KERNEL, small, MI300X.target) is not None
    assert idle_lanes(KERNEL, small, RDNA.target) is None


def test_fp8_formats_by_target() -> None:
    assert fp8_problems(("fp8e4nv",), MI300X.target) and not fp8_problems(("fp8e4b8",), MI300X.target)
    assert not fp8_problems(("float8_e4m3fn",), gpu_by_alias("mi355x").target)
    assert "no FP8 units" in fp8_problems(("fp8e4nv",), RDNA.target)[0]


def test_a_kernel_nothing_fits_for_is_flagged_with_the_users_line() -> None:
    broken = replace(
        KERNEL, configurations=(replace(CONFIGURATION, resources=None, failure="CompilationError: no"),), chosen=None
    )
    flags = kernel_flags(broken, MI300X)
    assert {flag.code for flag in flags} == {"does-not-compile", "no-configuration"}
    assert all(flag.lines == (LINE,) for flag in flags)


def test_gaps_name_breaks_and_epilogues() -> None:
    steps = (
        LaunchStep("extern", "aten::mm", 0, limiter="compute", expected_us=9.0),
        LaunchStep("triton", "triton_poi_0", 0, limiter="memory", expected_us=5.0),
    )
    gaps = gap_list(steps, {"triton_poi_0": KERNEL}, (GraphBreak("print", LINE),))
    assert gaps[0] == "graph break at model.py:7: print"
    assert any("epilogue" in gap and "5 us" in gap for gap in gaps)


def test_differences_between_targets() -> None:
    spilling = replace(KERNEL, configurations=(replace(CONFIGURATION, resources=replace(FINE, spills=3)),))
    steps = (LaunchStep("extern", "aten::bmm", 0),)
    texts = [one.text for one in differences([view(), view(spilling, "gfx1100", steps)])]
    assert any("aten::bmm 0 times against 1" in text for text in texts)
    assert any("gfx942 is fine, gfx1100 spills" in text for text in texts)
    assert differences([view(), view(target="gfx1100")]) == ()


def test_ptxas_report() -> None:
    text = "    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\nptxas info : Used 40 registers, used 1"
    found = parse_report(text, gpu_by_alias("h200"), 128, 0)
    assert (found.registers, found.spills, found.waves_per_simd, found.limiter) == (40, 2, 12, "registers")
    with pytest.raises(RuntimeError, match="nothing about registers"):
        parse_report("", gpu_by_alias("h200"), 128, 0)


def test_the_users_line_of_a_trace_is_the_innermost_that_is_not_torchs() -> None:
    trace = (
        'File "/home/me/model.py", line 3, in forward\n    y = self.a(x)\n'
        'File "/x/site-packages/torch/nn/modules/linear.py", line 9, in forward\n    return F.linear(x)\n'
    )
    assert trace_line(trace) == SourceLine("/home/me/model.py", 3, "y = self.a(x)")
    assert trace_line(None) is None


def test_text_and_page_show_kernels_lines_and_differences() -> None:
    step = LaunchStep("triton", "triton_poi_0", 0, ("4x4",), best_us=1.0, limiter="memory", expected_us=2.0,
                      low_us=1.5, high_us=2.5, basis="derived from MI300X")  # fmt: skip
    inspection = Inspection("m:f", (view(steps=(step,)), view(target="gfx1100")), ())
    text = inspection_text(inspection)
    assert "1.5 to 2.5" in text and "expected time of 1 step: derived from MI300X" in text
    assert "triton_poi_0" in text and "model.py:7" in text and "8/8 wave slots" in text
    page = inspection_page(replace(inspection, subject="<m>"))
    assert "&lt;m&gt;" in page and "triton_poi_0" in page and "derived from MI300X" in page
