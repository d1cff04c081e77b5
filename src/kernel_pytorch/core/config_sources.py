"""Configuration from files and the environment.

Order of precedence, strongest first: keyword arguments, environment variables, the TOML file, the defaults.

TOML: a `[tool.kernel_pytorch]` table in pyproject.toml, or the same keys at the top of a file of their own::

    backend = "auto"
    [amd]
    optimization_level = "aggressive"

Environment: `KPT_BACKEND`, `KPT_DEVICE_ID`, and `KPT_AMD_<OPTION>` for every option of AMDConfig, for example
`KPT_AMD_DEFAULT_PRECISION=bf16`.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernel_pytorch.core.config import AMDConfig, KernelPyTorchConfig
from kernel_pytorch.core.errors import AMDConfigurationError, UsageError
from kernel_pytorch.core.toml_file import read_toml

AMD_PREFIX = "KPT_AMD_"
TRUE_WORDS = ("1", "true", "yes", "on")
FALSE_WORDS = ("0", "false", "no", "off")


def load_config(
    path: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    **overrides: Any,
) -> KernelPyTorchConfig:
    """The configuration of a run. Options of AMDConfig may be given directly as keywords, or as `amd={...}`."""
    top, amd = _from_toml(Path(path)) if path is not None else ({}, {})
    env_top, env_amd = _from_environment(os.environ if environ is None else environ)
    code_top, code_amd = _split_overrides(overrides)
    settings = {**amd, **env_amd, **code_amd}
    return KernelPyTorchConfig(**{**top, **env_top, **code_top}, amd=AMDConfig(**settings))


def option_types() -> dict[str, str]:
    """Name and type of every option of AMDConfig, as written in its declaration."""
    return {item.name: str(item.type) for item in dataclasses.fields(AMDConfig) if item.init}


def _from_toml(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    document = read_toml(path)
    table = document
    if path.name == "pyproject.toml":
        table = document.get("tool", {}).get("kernel_pytorch", {})
    if not isinstance(table, dict):
        raise UsageError(f"{path}: [tool.kernel_pytorch] is not a table")
    amd = table.get("amd", {})
    if not isinstance(amd, dict):
        raise UsageError(f"{path}: [amd] is not a table")
    top = {key: value for key, value in table.items() if key in ("backend", "device_id")}
    # Other verbs keep their own tables beside ours, so only keys that look like options of AMDConfig are refused.
    for key in table:
        if key in option_types() and key not in top:
            raise UsageError(f"{path}: {key} belongs in the [amd] table")
    _refuse_unknown(amd, f"{path}: [amd]")
    return top, dict(amd)


def _from_environment(environ: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    top: dict[str, Any] = {}
    if "KPT_BACKEND" in environ:
        top["backend"] = environ["KPT_BACKEND"]
    if "KPT_DEVICE_ID" in environ:
        top["device_id"] = _parse("KPT_DEVICE_ID", environ["KPT_DEVICE_ID"], "int")
    given = {key.removeprefix(AMD_PREFIX).lower(): key for key in environ if key.startswith(AMD_PREFIX)}
    _refuse_unknown(given, "environment")
    types = option_types()
    return top, {name: _parse(key, environ[key], types[name]) for name, key in given.items()}


def _split_overrides(overrides: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    nested = overrides.pop("amd", {})
    amd = dict(nested.to_dict() if isinstance(nested, AMDConfig) else nested)
    # `device_id` exists on both levels; as a plain keyword it means the run's device.
    top: dict[str, Any] = {key: overrides.pop(key) for key in ("backend", "device_id") if key in overrides}
    amd.update(overrides)
    _refuse_unknown(amd, "load_config()")
    return top, amd


def _refuse_unknown(given: Mapping[str, object], where: str) -> None:
    known = list(option_types())
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known options: {', '.join(known)}"
            raise AMDConfigurationError(name, given[name], f"no such option ({where}); {hint}")


def _parse(variable: str, text: str, kind: str) -> object:
    """The value of an environment variable, in the type its option is declared with."""
    if kind == "bool":
        word = text.strip().lower()
        if word not in (*TRUE_WORDS, *FALSE_WORDS):
            raise AMDConfigurationError(variable, text, f"one of {', '.join((*TRUE_WORDS, *FALSE_WORDS))}")
        return word in TRUE_WORDS
    if kind in ("int", "float"):
        try:
            return int(text) if kind == "int" else float(text)
        except ValueError:
            raise AMDConfigurationError(variable, text, f"a value of type {kind}") from None
    return text
