"""The whole way, in a child process: captured, compiled for AMD, read, executed on the emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import UnknownTargetError
from kernel_pytorch.perf.inspect.inspection import gpu_for, inspect_subject
from kernel_pytorch.perf.inspect.repository import inspect_repository
from kernel_pytorch.perf.inspect.versions import missing_names, version_number
from kernel_pytorch.report.inspect_repository_text import repository_text

pytest.importorskip("torch")
pytest.importorskip("triton")
HERE = Path(__file__).parent
MODELS = HERE / "small_models.py"


def test_a_model_with_a_graph_break_is_captured_compiled_and_run() -> None:
    (view,) = inspect_subject(f"{MODELS}:broken", ["gfx942"], run=True, configurations="first").views
    assert view.failure is None and view.graphs == 2
    assert [step.kind for step in view.steps] == ["extern", "triton", "triton"]
    assert view.steps[0].name == "aten::mm" and view.steps[0].flops == 2 * 4 * 32 * 32
    (one,) = view.breaks
    assert one.line is not None and one.line.code == "torch._dynamo.graph_break()"
    fused = view.kernels[0]
    assert {"aten.relu", "aten.add.Tensor"} <= set(fused.operators)
    assert fused.lines[0].path.endswith("small_models.py") and fused.bytes
    assert fused.chosen is not None
    resources = fused.configurations[fused.chosen].resources
    assert resources is not None and resources.registers > 0 and resources.spills == 0
    assert view.run is not None and view.run.launches == 2 and view.run.matches


@pytest.mark.slow
def test_a_constructor_may_read_a_short_table_but_no_weights() -> None:
    (view,) = inspect_subject(f"{MODELS}:with_rates", ["gfx942"], configurations="first").views
    assert view.failure is None and [step.name for step in view.steps].count("aten::addmm") >= 1
    with pytest.raises(UsageError, match=r"small_models\.py:\d+: DataDependentOutputException") as caught:
        inspect_subject(f"{MODELS}:reads_weights", ["gfx942"], configurations="first")
    assert "Traceback" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_model_larger_than_this_machine() -> None:
    (view,) = inspect_subject(f"{MODELS}:large", ["sm_90"], configurations="first").views
    assert view.failure is None
    assert sum(step.name in ("aten::mm", "aten::addmm") for step in view.steps) == 5
    kernel = view.kernels[0]
    assert kernel.chosen is not None
    resources = kernel.configurations[kernel.chosen].resources
    assert resources is not None and resources.registers > 0
    assert view.total_best_us is not None and view.total_best_us > 5 * 65536**2 * 2 / 4.8e6


def test_what_cannot_be_inspected_is_said() -> None:
    with pytest.raises(UsageError, match=r"expected \(model, inputs\)"):
        inspect_subject(f"{MODELS}:wrong", ["gfx942"])
    with pytest.raises(UsageError, match="name AMD targets only"):
        inspect_subject(f"{MODELS}:broken", ["sm_90"], run=True)
    with pytest.raises(UnknownTargetError):
        gpu_for("gfx9999")


def test_targets_and_products_name_gpus() -> None:
    assert gpu_for("gfx942").alias == "mi300x" and gpu_for("mi325x").alias == "mi325x"
    assert gpu_for("gfx1201").target.name == "gfx1201"


def test_versions_are_compared_as_numbers_and_missing_names_are_named() -> None:
    assert version_number("2.13.0+cpu") == (2, 13) > (2, 9)
    assert missing_names({"os": ("path.join", "nowhere.at_all"), "no_such_module_here": ()}) == [
        "os.nowhere.at_all",
        "no_such_module_here",
    ]


def test_the_kernels_of_a_repository_and_their_configurations() -> None:
    view = inspect_repository(HERE / "small_kernels.py", ["gfx942"], None, lambda text: None)
    (kernel,) = view.kernels
    assert kernel.failure is None and kernel.fitting == 1 and len(kernel.configurations) == 2
    assert kernel.assumed == {"x_ptr": "*bf16", "out_ptr": "*bf16", "n": "i32"}
    text = repository_text(view, 10)
    assert "gfx942: 1 of 1 compile" in text and "1 of 2 configs fit" in text


def test_a_folder_without_kernels_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no @triton.jit kernel that is launched"):
        inspect_repository(tmp_path, ["gfx942"], None, lambda text: None)


@pytest.mark.slow
def test_a_kernel_that_a_function_makes_needs_the_functions_arguments(tmp_path: Path) -> None:
    (tmp_path / "ops.py").write_text(
        "import missing_module\nimport torch\nimport triton\nimport triton.language as tl\n\n\n"
        "def make(width):\n"
        "    @triton.jit\n"
        "    def shift(y, x, n, BLOCK: tl.constexpr):\n"
        "        at = tl.arange(0, BLOCK)\n"
        "        tl.store(y + at, tl.load(x + at + WIDTH, mask=at < n), mask=at < n)\n\n"
        "    kernel = triton.JITFunction(shift.fn)\n"
        "    kernel._unsafe_update_src(kernel.src.replace('WIDTH', str(width)))\n"
        "    return kernel\n"
    )
    (tmp_path / "launch.py").write_text(
        "def run(x: 'torch.Tensor', out: 'torch.Tensor'):\n    from ops import make\n\n"
        "    kernel = make(3)\n    kernel[(1,)](out, x, x.numel(), BLOCK=256)\n"
    )
    (kernel,) = inspect_repository(tmp_path, ["gfx1100"], None, lambda text: None).kernels
    assert kernel.cause == "signature" and '{"shift": {"width": ...}}' in (kernel.failure or "")
    spec = tmp_path / "spec.json"
    spec.write_text('{"shift": {"width": 3}}')
    (kernel,) = inspect_repository(tmp_path, ["gfx1100"], spec, lambda text: None).kernels
    assert kernel.failure is None and kernel.fitting == 1
