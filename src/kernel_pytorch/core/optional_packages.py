"""The packages of our extras, by name: a command with them works however kpt itself was installed."""

from __future__ import annotations

PACKAGES = {
    "toolchain": ("ziglang==0.17.0", "triton>=3.5"),
    "report": ("jinja2>=3.1",),
    "golden": ("safetensors>=0.4",),
    "plots": ("matplotlib>=3.8",),
    "mcp": ("mcp>=2", "jsonschema>=4.20"),
}


def pip_install(extra: str) -> str:
    """`pip install ...` for what an extra of ours holds."""
    return " ".join(["pip install", *(f'"{package}"' for package in PACKAGES[extra])])
