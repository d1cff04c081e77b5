"""AMDBackend on GPUs that are stood in for, against the hardware table."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.backends import notices  # noqa: E402
from kernel_pytorch.backends.amd import AMDBackend  # noqa: E402
from kernel_pytorch.backends.nvidia import NVIDIABackend  # noqa: E402
from kernel_pytorch.backends.precision import matrix_precisions  # noqa: E402
from kernel_pytorch.core.architecture import AMDArchitecture  # noqa: E402
from kernel_pytorch.core.config import ARCHITECTURE_DEFAULTS, AMDConfig  # noqa: E402
from kernel_pytorch.core.errors import AMDConfigurationError, AMDDeviceError, MatrixCoreError  # noqa: E402
from kernel_pytorch.core.hardware import gpu_by_alias  # noqa: E402
from kernel_pytorch.core.platform import using  # noqa: E402
from kernel_pytorch.core.probe import TorchFacts  # noqa: E402
from kernel_pytorch.core.stand_in import recorded, stand_in  # noqa: E402

# alias, target, architecture, precision, FP8 dtype
GPUS = [
    ("mi300x", "gfx942", "cdna3", "bf16", "float8_e4m3fnuz"),
    ("mi250x", "gfx90a", "cdna2", "fp16", None),
    ("mi210", "gfx90a", "cdna2", "fp16", None),
    ("mi100", "gfx908", "cdna", "fp16", None),
    ("rx7900xtx", "gfx1100", "rdna3", "fp32", None),
    ("rx9070xt", "gfx1201", "rdna4", "fp32", "float8_e4m3fn"),
    ("mi350x", "gfx950", "cdna4", "bf16", "float8_e4m3fn"),
    ("mi355x", "gfx950", "cdna4", "bf16", "float8_e4m3fn"),
    ("mi50", "gfx906", "gcn5", "fp32", None),
    ("rx6900xt", "gfx1030", "rdna2", "fp32", None),
]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    monkeypatch.setattr(notices, "_shown", set())


@pytest.mark.parametrize(("alias", "target", "architecture", "precision", "fp8"), GPUS)
def test_detection_and_defaults(alias: str, target: str, architecture: str, precision: str, fp8: str | None) -> None:
    gpu = gpu_by_alias(alias)
    with using(stand_in(alias)):
        backend = AMDBackend()
    info = backend.get_device_info()
    assert (info["gfx_target"], info["architecture"]) == (target, architecture)
    assert info["total_memory_gb"] == gpu.memory_gib and info["compute_units"] == gpu.compute_units
    assert info["wave_size"] == gpu.target.wave_size
    assert info["matrix_cores_available"] == (gpu.matrix_units > 0)
    assert info["rocm_available"] and info["device_type"] == "cuda" and info["fallback_reason"] is None
    assert len(backend.get_all_devices()) == gpu.devices_per_board
    defaults = ARCHITECTURE_DEFAULTS[AMDArchitecture[architecture.upper()]]
    assert backend.config.architecture.value == architecture
    assert backend.config.optimization_level == defaults["optimization_level"]
    assert backend.precision.name == precision == defaults["default_precision"]
    assert backend.precision.mixed == (precision != "fp32")
    if fp8 is not None and backend.config.enable_matrix_cores:
        assert backend.fp8_dtype() == getattr(torch, fp8)


@pytest.mark.parametrize(("alias", "target", "architecture", "precision", "fp8"), GPUS)
def test_matrix_units_take_what_the_table_says(
    alias: str, target: str, architecture: str, precision: str, fp8: str | None
) -> None:
    gpu = gpu_by_alias(alias)
    has_units = gpu.matrix_units > 0
    with using(stand_in(alias)):
        backend = AMDBackend(AMDConfig(enable_matrix_cores=True) if has_units else AMDConfig())
    for kind in ("fp64", "fp32", "fp16", "bf16", "fp8", "int8"):
        if has_units and kind in matrix_precisions(gpu.target):
            backend.require_matrix_cores(kind)
            continue
        with pytest.raises(MatrixCoreError) as caught:
            backend.require_matrix_cores(kind)
        assert ("switched off" if not has_units else target) in str(caught.value)
    if fp8 is None:
        with pytest.raises(MatrixCoreError):
            backend.fp8_dtype()
    else:
        assert backend.fp8_dtype() == getattr(torch, fp8)


def test_fp8_is_refused_with_the_targets_that_have_it() -> None:
    with (
        using(stand_in("mi250x")),
        pytest.raises(MatrixCoreError, match=r"gfx90a \(CDNA2\) does not multiply fp8.*gfx942"),
    ):
        AMDBackend().fp8_dtype()


def test_the_name_of_the_product_decides_nothing() -> None:
    liar = SimpleNamespace(
        name="AMD Radeon RX 7900 XTX", gcnArchName="gfx942:sramecc+:xnack-", multi_processor_count=304, warp_size=64,
        total_memory=192 * 2**30, major=9, minor=4,
    )  # fmt: skip
    with using(recorded(torch=TorchFacts("2.10.0+rocm7.1", "7.1.5", None, devices=(liar,)))):
        assert AMDBackend().get_device_info()["architecture"] == "cdna3"


def test_a_target_the_table_does_not_have(caplog: pytest.LogCaptureFixture) -> None:
    new = SimpleNamespace(name="New", gcnArchName="gfx1999", multi_processor_count=8, warp_size=32, total_memory=2**34)
    with using(recorded(torch=TorchFacts("2.10.0+rocm7.1", "7.1.5", None, devices=(new,)))):
        backend = AMDBackend()
    assert backend.get_device_info()["architecture"] == "unknown"
    assert backend.precision.name == "fp32" and "not in the hardware table" in caplog.text
    with pytest.raises(MatrixCoreError):
        backend.require_matrix_cores("bf16")


def test_a_configured_architecture_that_is_not_the_devices(caplog: pytest.LogCaptureFixture) -> None:
    with using(stand_in("mi250x")):
        backend = AMDBackend(AMDConfig(architecture=AMDArchitecture.CDNA3))
        assert backend.precision.name == "bf16" and backend.get_device_info()["architecture"] == "cdna2"
        assert "architecture=CDNA3, but device 0 is gfx90a (CDNA2)" in caplog.text
        with pytest.raises(AMDDeviceError, match="architecture=CDNA3"):
            AMDBackend(AMDConfig(architecture=AMDArchitecture.CDNA3, enable_strict_validation=True))


def test_matrix_cores_demanded_where_there_are_none(caplog: pytest.LogCaptureFixture) -> None:
    with using(stand_in("rx6900xt")):
        backend = AMDBackend(AMDConfig(enable_matrix_cores=True))
        assert not backend.config.enable_matrix_cores and "RDNA2 has no matrix units" in caplog.text
        with pytest.raises(MatrixCoreError, match="RDNA2 has no matrix units"):
            AMDBackend(AMDConfig(enable_matrix_cores=True, enable_strict_validation=True))
        with pytest.raises(MatrixCoreError, match="bf16 on gfx1030"):
            AMDBackend(AMDConfig(default_precision="bf16", enable_strict_validation=True))


def test_rocm_modes_of_compile() -> None:
    with using(stand_in("mi300x")):
        backend = AMDBackend()
    with pytest.raises(AMDConfigurationError, match="graph capture is unreliable on ROCm"):
        backend._compile_arguments("reduce-overhead")
    assert backend._compile_arguments({"mode": "reduce-overhead"}) == {"mode": "reduce-overhead"}
    assert backend._compile_arguments(False) is None


def test_compile_settings_are_only_what_differs_and_are_gone_afterwards() -> None:
    from torch._inductor import config as inductor

    from kernel_pytorch.backends.amd.compile_settings import rocm_compile_arguments

    with inductor.patch({"max_autotune": True, "triton.cudagraphs": True}):
        options = rocm_compile_arguments(None)["options"]
        assert options["max_autotune"] is False and options["triton.cudagraphs"] is False
        assert inductor.max_autotune is True and inductor.triton.cudagraphs is True, "nothing global is touched"
    with inductor.patch({key: value for key, value in options.items() if "." not in key}):
        assert "max_autotune" not in rocm_compile_arguments(None).get("options", {})
    assert rocm_compile_arguments("max-autotune-no-cudagraphs")["options"]["max_autotune"] is True


@pytest.mark.parametrize(("alias", "precision"), [("h200", "bf16"), ("a100", "bf16")])
def test_nvidia_defaults(alias: str, precision: str) -> None:
    with using(stand_in(alias)):
        backend = NVIDIABackend()
        info = backend.get_device_info()
        assert backend.precision.name == precision and info["gfx_target"] is None and info["wave_size"] == 32
        assert not info["rocm_available"] and info["target"] == gpu_by_alias(alias).target.name
        assert NVIDIABackend(AMDConfig(allow_bf16=False)).precision.name == "fp16"
        assert NVIDIABackend(AMDConfig(enable_matrix_cores=False)).precision.name == "fp32"
        assert NVIDIABackend(AMDConfig(default_precision="fp32")).precision.name == "fp32"
