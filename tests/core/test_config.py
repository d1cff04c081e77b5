from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from kernel_pytorch.core.config import AMDArchitecture, AMDConfig, KernelPyTorchConfig
from kernel_pytorch.core.config_sources import load_config, option_types
from kernel_pytorch.core.errors import AMDConfigurationError, UsageError

SEED_DEFAULTS: dict[str, Any] = {
    "architecture": AMDArchitecture.AUTO,
    "device_id": 0,
    "optimization_level": "balanced",
    "enable_matrix_cores": True,
    "enable_mixed_precision": True,
    "enable_operator_fusion": True,
    "enable_memory_pooling": True,
    "memory_pool_size_gb": 8.0,
    "max_memory_fraction": 0.9,
    "hip_kernel_cache_enabled": True,
    "hip_compiler_cache_size": 100,
    "hip_compiler_cache_dir": "/tmp/hip_cache",
    "rocblas_enabled": True,
    "enable_rocblas_tuning": True,
    "miopen_enabled": True,
    "miopen_find_mode": "NORMAL",
    "default_precision": "fp32",
    "allow_fp16": True,
    "allow_bf16": True,
    "enable_profiling": False,
    "enable_strict_validation": False,
    "enable_oom_protection": True,
}


def test_every_option_of_the_seed_with_its_default() -> None:
    config = AMDConfig()
    assert {name: getattr(config, name) for name in SEED_DEFAULTS} == SEED_DEFAULTS
    assert set(option_types()) == set(SEED_DEFAULTS)
    assert AMDConfig(**SEED_DEFAULTS).to_dict() == config.to_dict()


@pytest.mark.parametrize(
    ("architecture", "level", "precision", "matrix"),
    [
        (AMDArchitecture.CDNA4, "aggressive", "bf16", True),
        (AMDArchitecture.CDNA3, "aggressive", "bf16", True),
        (AMDArchitecture.CDNA2, "balanced", "fp16", True),
        (AMDArchitecture.CDNA, "balanced", "fp16", True),
        (AMDArchitecture.GCN5, "conservative", "fp32", False),
        (AMDArchitecture.RDNA2, "conservative", "fp32", False),
        (AMDArchitecture.RDNA3, "conservative", "fp32", False),
        (AMDArchitecture.RDNA4, "conservative", "fp32", False),
    ],
)
def test_architecture_defaults(architecture: AMDArchitecture, level: str, precision: str, matrix: bool) -> None:
    direct = AMDConfig(architecture=architecture)
    assert (direct.optimization_level, direct.default_precision, direct.enable_matrix_cores) == (
        level,
        precision,
        matrix,
    )
    assert AMDConfig().for_architecture(architecture) == direct


def test_what_the_caller_set_is_never_overwritten() -> None:
    config = AMDConfig(optimization_level="conservative", default_precision="fp32", enable_matrix_cores=True)
    resolved = config.for_architecture(AMDArchitecture.CDNA3)
    assert (resolved.optimization_level, resolved.default_precision) == ("conservative", "fp32")
    assert AMDConfig(architecture=AMDArchitecture.RDNA3, enable_matrix_cores=True).enable_matrix_cores is True
    twice = resolved.for_architecture(AMDArchitecture.CDNA2)
    assert twice.optimization_level == "conservative"
    assert resolved.memory_pool_size_gb == config.memory_pool_size_gb


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("architecture", "cdna9"),
        ("architecture", 3),
        ("device_id", -1),
        ("device_id", True),
        ("device_id", "0"),
        ("optimization_level", "turbo"),
        ("optimization_level", 3),
        ("enable_matrix_cores", "yes"),
        ("enable_profiling", 1),
        ("memory_pool_size_gb", 0),
        ("memory_pool_size_gb", float("nan")),
        ("max_memory_fraction", 1.1),
        ("max_memory_fraction", 0.0),
        ("hip_compiler_cache_size", 0),
        ("hip_compiler_cache_dir", " "),
        ("miopen_find_mode", "normal"),
        ("default_precision", "fp8"),
    ],
)
def test_invalid_values_name_parameter_value_and_what_is_allowed(option: str, value: object) -> None:
    with pytest.raises(AMDConfigurationError) as caught:
        AMDConfig(**{option: value})
    assert caught.value.parameter == option
    assert caught.value.value is value
    assert caught.value.allowed in str(caught.value)
    assert option in str(caught.value)


def test_contradictions_are_refused() -> None:
    with pytest.raises(AMDConfigurationError, match="allow_bf16"):
        AMDConfig(default_precision="bf16", allow_bf16=False)
    with pytest.raises(AMDConfigurationError, match="RDNA2 has no matrix units"):
        AMDConfig(architecture=AMDArchitecture.RDNA2, enable_matrix_cores=True)
    with pytest.raises(AMDConfigurationError, match="allow_bf16"):
        # the architecture's own default contradicts what the caller forbade
        AMDConfig(architecture=AMDArchitecture.CDNA3, allow_bf16=False)
    with pytest.raises(AMDConfigurationError, match="backend"):
        KernelPyTorchConfig(backend="tpu")
    with pytest.raises(AMDConfigurationError, match="amd"):
        KernelPyTorchConfig(amd={"device_id": 1})  # type: ignore[arg-type]


def test_configs_pickle() -> None:
    config = AMDConfig(architecture=AMDArchitecture.CDNA3, optimization_level="balanced")
    again = pickle.loads(pickle.dumps(config))
    assert again == config
    assert again.caller_set == {"optimization_level"}


def test_toml_then_environment_then_code(tmp_path: Path) -> None:
    path = tmp_path / "kpt.toml"
    path.write_text(
        'backend = "amd"\n[amd]\noptimization_level = "conservative"\ndevice_id = 1\nmemory_pool_size_gb = 4\n'
    )
    environ = {"KPT_AMD_DEVICE_ID": "2", "KPT_AMD_ENABLE_PROFILING": "on", "KPT_DEVICE_ID": "5", "PATH": "/bin"}
    config = load_config(path, environ, memory_pool_size_gb=2.0)
    assert config.backend == "amd"
    assert config.device_id == 5
    assert config.amd.optimization_level == "conservative"
    assert config.amd.device_id == 2
    assert config.amd.enable_profiling is True
    assert config.amd.memory_pool_size_gb == 2.0
    assert load_config(None, {}) == KernelPyTorchConfig()


def test_pyproject_table(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(
        '[project]\nname = "x"\n[tool.kernel_pytorch]\nignore = ["KP601"]\n[tool.kernel_pytorch.amd]\n'
        'architecture = "CDNA3"\n'
    )
    assert load_config(path, {}).amd.default_precision == "bf16"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[amd\n", "not valid TOML"),
        ("[amd]\noptimisation_level = 'x'\n", "did you mean optimization_level"),
        ("amd = 3\n", "not a table"),
        ("optimization_level = 'balanced'\n", "belongs in the"),
    ],
)
def test_bad_toml_names_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "kpt.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_config(path, {})


def test_unreadable_toml(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.toml: cannot be read"):
        load_config(tmp_path / "absent.toml", {})
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_config(binary, {})


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("KPT_AMD_DEVICE_ID", "one", "type int"),
        ("KPT_AMD_ENABLE_PROFILING", "maybe", "one of 1, true"),
        ("KPT_AMD_MAX_MEMORY_FRACTION", "x", "type float"),
        ("KPT_AMD_DEVICEID", "1", "did you mean device_id"),
        ("KPT_AMD_OPTIMIZATION_LEVEL", "turbo", "conservative"),
    ],
)
def test_bad_environment_names_the_variable(variable: str, value: str, message: str) -> None:
    with pytest.raises(AMDConfigurationError, match=message):
        load_config(None, {variable: value})


def test_unknown_keyword() -> None:
    with pytest.raises(AMDConfigurationError, match="no such option"):
        load_config(None, {}, wave_size=64)
    assert load_config(None, {}, amd=AMDConfig(device_id=3)).amd.device_id == 3
