"""Where an adapter goes and how the import reaches it; and that what comes out runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_pytorch.core.findings import Patch
from kernel_pytorch.port.project import PortOptions, port_plain_file
from kernel_pytorch.port.source import source_file
from kernel_pytorch.port.templates import ADAPTERS, placed, public_names, template

SOURCE = b"import torch\nfrom flash_attn import flash_attn_func\n"


def ported(root: Path, path: str, modules: tuple[str, ...] = (), source: bytes = SOURCE) -> dict[str, bytes]:
    full = root / path
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_bytes(source)
    patch = port_plain_file(source_file(path, source), PortOptions(select=("KP5",))).patch
    assert patch is not None
    return {item.path: item.after for item in placed(root, [patch], modules)}


def test_a_package_has_one_adapter_at_its_top(tmp_path: Path) -> None:
    for folder in ("pkg", "pkg/models"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    files = ported(tmp_path, "pkg/models/llama.py")
    assert set(files) == {"pkg/models/llama.py", "pkg/_rocm_attention.py"}
    assert b"from .._rocm_attention import flash_attn_func" in files["pkg/models/llama.py"]


def test_a_script_imports_the_file_beside_it(tmp_path: Path) -> None:
    files = ported(tmp_path, "bench/run.py", source=b"import torch\nimport flash_attn as fa\nfa.flash_attn_func\n")
    assert b"    import _rocm_attention as fa" in files["bench/run.py"] and "bench/_rocm_attention.py" in files


def test_a_folder_that_others_import_from_is_a_package(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("from layers.attention import x\n")
    files = ported(tmp_path, "layers/attention.py", ("main.py",))
    assert b"from ._rocm_attention import flash_attn_func" in files["layers/attention.py"]


SCRIPT = (
    SOURCE
    + b"""

def run(q):
    return flash_attn_func(q, q, q, causal=True)


if __name__ == "__main__":
    print(tuple(run(torch.randn(1, 4, 2, 8)).shape))
"""
)
STAND_IN = "import runpy, sys, torch; torch.version.hip = '7.2'\n"


@pytest.mark.parametrize(
    "own",
    [
        pytest.param(b"", id="by-itself", marks=pytest.mark.slow),
        pytest.param(b"from pkg import other\n", id="imports-its-package", marks=pytest.mark.slow),
    ],
)
def test_a_script_inside_a_package_runs_either_way(tmp_path: Path, own: bytes) -> None:
    for folder in ("pkg", "pkg/tools"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("")
    (tmp_path / "pkg" / "other.py").write_text("")
    for path, data in ported(tmp_path, "pkg/tools/bench.py", source=own + SCRIPT).items():
        (tmp_path / path).write_bytes(data)
    script = f"sys.path[0] = 'pkg/tools'; sys.path.append('.') if {bool(own)} else None\n"
    for code in (
        script + "runpy.run_path('pkg/tools/bench.py', run_name='__main__')",
        "runpy.run_module('pkg.tools.bench', run_name='__main__', alter_sys=True)",
        "from pkg.tools.bench import run; print(tuple(run(torch.randn(1, 4, 2, 8)).shape))",
    ):
        done = subprocess.run([sys.executable, "-c", STAND_IN + code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == "(1, 4, 2, 8)"
    # Nothing of this happens elsewhere: the original import is what runs, and what fails where flash-attn is missing.
    done = subprocess.run([sys.executable, "-m", "pkg.tools.bench"], cwd=tmp_path, capture_output=True, text=True)
    assert "No module named 'flash_attn'" in done.stderr


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    files = ported(tmp_path, "pkg/run.py", source=SCRIPT.replace(b"\n", b"\r\n"))
    assert b"\n" not in files["pkg/run.py"].replace(b"\r\n", b"")


def test_what_needs_no_adapter_is_as_it_was(tmp_path: Path) -> None:
    patch = Patch("a.py", b"x = 1\n", b"x = 2\n")
    assert placed(tmp_path, [patch]) == [patch]


def test_the_adapters_stand_alone_and_offer_what_they_say() -> None:
    for name, file in ADAPTERS.items():
        assert b"kernel_pytorch" not in template(file)
        assert public_names(name)
    assert {"flash_attn_func", "flash_attn_varlen_func", "flash_attn_with_kvcache"} <= public_names("_rocm_attention")


def test_the_ported_package_runs_where_rocm_is_stood_in_for(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    source = SOURCE + b"\n\ndef run(q):\n    return flash_attn_func(q, q, q, causal=True)\n"
    files = ported(tmp_path, "pkg/model.py", source=source)
    for path, data in files.items():
        (tmp_path / path).write_bytes(data)
    code = (
        "import torch; torch.version.hip = '7.2'\n"
        "from pkg import model, _rocm_attention\n"
        "out = model.run(torch.randn(1, 4, 2, 8))\n"
        "assert torch.isfinite(out).all() and out.shape == (1, 4, 2, 8)\n"
        "print(_rocm_attention.last_tier())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "sdpa"
