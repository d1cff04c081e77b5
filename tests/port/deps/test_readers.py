from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pytorch.port.deps.model import Declared, DependencyFileError
from kernel_pytorch.port.deps.plan import make_plan
from kernel_pytorch.port.deps.read_conda import conda_specifier, read_conda
from kernel_pytorch.port.deps.read_poetry import pip_specifier
from kernel_pytorch.port.deps.read_pyproject import read_pyproject
from kernel_pytorch.port.deps.read_setup_cfg import read_pipfile, read_setup_cfg
from kernel_pytorch.port.deps.read_setup_py import read_setup_py

Repo = Callable[[dict[str, str]], Path]


def by_name(declared: tuple[Declared, ...]) -> dict[str, Declared]:
    return {requirement.name: requirement for requirement in declared}


def test_pyproject_standard_tables(repo: Repo) -> None:
    root = repo(
        {
            "pyproject.toml": """[build-system]
requires = ["setuptools", "torch"]
[project]
name = "demo"
requires-python = ">=3.11"
dependencies = [
  "torch==2.7.1",
  'numpy; python_version < "3.13"',
]
[project.optional-dependencies]
Gpu_Extra = ["flash-attn>=2"]
[dependency-groups]
test = ["pytest"]
dev = ["ruff", {include-group = "test"}]
"""
        }
    )
    reading = read_pyproject(root / "pyproject.toml", root, "pyproject.toml", {})
    assert [(r.name, r.group, r.role, r.line) for r in reading.declared] == [
        ("torch", "", "runtime", 7),
        ("numpy", "", "runtime", 8),
        ("flash-attn", "gpu-extra", "runtime", 11),
        ("pytest", "test", "runtime", 13),
        ("ruff", "dev", "runtime", 14),
        ("pytest", "dev", "runtime", 13),
        ("setuptools", "", "build", 2),
        ("torch", "", "build", 2),
    ]
    assert (reading.python[0].specifier, reading.python[0].line) == (">=3.11", 5)


def test_uv_sources_indexes_and_overrides(repo: Repo) -> None:
    root = repo(
        {
            "pyproject.toml": """[project]
name = "demo"
dependencies = ["torch", "lerobot", "client", "wheel-one", "near"]
[tool.uv]
override-dependencies = ["ml-dtypes==0.4.1"]
dev-dependencies = ["pytest"]
[tool.uv.sources]
torch = [{ index = "pytorch-cu128", marker = "sys_platform == 'linux'" }]
lerobot = { git = "https://github.com/huggingface/lerobot", rev = "0cf8" }
client = { workspace = true }
wheel-one = { url = "https://h/wheel_one-1.0-py3-none-any.whl" }
near = { path = "../near", editable = true }
[[tool.uv.index]]
name = "pytorch-cu128"
url = "https://download.pytorch.org/whl/cu128"
""",
            "packages/client/pyproject.toml": "[project]\nname = 'client'\ndependencies = ['numpy']\n",
        }
    )
    reading = read_pyproject(root / "pyproject.toml", root, "pyproject.toml", {})
    found = by_name(reading.declared)
    assert found["lerobot"].url == "git+https://github.com/huggingface/lerobot@0cf8"
    assert found["wheel-one"].url.endswith(".whl")
    assert found["near"].local == "../near"
    assert found["ml-dtypes"].role == "constraint"
    assert found["pytest"].group == "dev"
    assert [(option.kind, option.line) for option in reading.options] == [("uv-index", 15)]
    assert any("[tool.uv.sources] ties torch" in note for note in reading.notes)
    plan = make_plan(root, _python())
    client = next(one for one in plan.decisions if one.requirement.name == "client")
    assert client.requirement.local == "packages/client" and "-e packages/client" in client.how


def _python() -> str:
    import sys

    return sys.executable


def test_poetry_tables(repo: Repo) -> None:
    root = repo(
        {
            "pyproject.toml": """[tool.poetry]
name = "demo"
[tool.poetry.dependencies]
python = "^3.10"
torch = {version = "^2.1", source = "pytorch"}
numpy = [
  {version = "<2", python = "<3.12"},
  {version = ">=2", python = ">=3.12"},
]
xformers = {version = "*", optional = true}
clip = {git = "https://github.com/openai/CLIP.git", branch = "main"}
uvicorn = {extras = ["standard"], version = "~0.29.0"}
odd = "1.0 || 2.0"
[tool.poetry.group.dev.dependencies]
pytest = "^8"
[tool.poetry.extras]
fast = ["xformers"]
[[tool.poetry.source]]
name = "pytorch"
url = "https://download.pytorch.org/whl/cu121"
"""
        }
    )
    reading = read_pyproject(root / "pyproject.toml", root, "pyproject.toml", {})
    found = by_name(reading.declared)
    assert found["torch"].specifier == ">=2.1,<3" and found["torch"].line == 5
    assert [(r.specifier, r.marker) for r in reading.declared if r.name == "numpy"] == [
        ("<2", 'python_version < "3.12"'),
        (">=2", 'python_version >= "3.12"'),
    ]
    assert found["xformers"].group == "fast"
    assert found["clip"].url == "git+https://github.com/openai/CLIP.git@main"
    assert found["uvicorn"].extras == ("standard",) and found["uvicorn"].specifier == ">=0.29.0,<0.30"
    assert found["pytest"].group == "dev"
    assert reading.python[0].specifier == ">=3.10,<4"
    assert reading.options[0].value.endswith("cu121") and reading.options[0].line == 20
    assert "||" in reading.not_read[0].reason and reading.not_read[0].line == 13


@pytest.mark.parametrize(
    ("poetry", "pip"),
    [
        ("^1.2.3", ">=1.2.3,<2"), ("^0.2.3", ">=0.2.3,<0.3"), ("^0.0.3", ">=0.0.3,<0.0.4"), ("^0.0", ">=0.0,<0.1"),
        ("~1.2.3", ">=1.2.3,<1.3"), ("~1.2", ">=1.2,<1.3"), ("~1", ">=1,<2"), ("*", ""), ("1.2.*", "==1.2.*"),
        ("1.2.3", "==1.2.3"), (">=1.2, <2", ">=1.2,<2"), (">=1.2 <2", ">=1.2,<2"), ("~=1.4", "~=1.4"),
        ("=1.2", "==1.2"),
    ],
)  # fmt: skip
def test_poetry_versions(poetry: str, pip: str) -> None:
    assert pip_specifier(poetry) == pip


def test_dynamic_dependencies_of_setuptools(repo: Repo) -> None:
    root = repo(
        {
            "pyproject.toml": "[project]\nname='x'\ndynamic=['dependencies']\n"
            "[tool.setuptools.dynamic]\ndependencies={file=['deps/core.list']}\n",
            "deps/core.list": "torch==2.1\nnumpy\n",
        }
    )
    reading = read_pyproject(root / "pyproject.toml", root, "pyproject.toml", {})
    assert [(r.name, r.origin) for r in reading.declared] == [
        ("torch", "deps/core.list:1"),
        ("numpy", "deps/core.list:2"),
    ]
    (root / "pyproject.toml").write_text("[project]\nname='x'\ndynamic=['dependencies']\n")
    assert "dynamic" in read_pyproject(root / "pyproject.toml", root, "pyproject.toml", {}).not_read[0].reason


def test_broken_files_name_the_line(repo: Repo) -> None:
    root = repo(
        {
            "pyproject.toml": "[project]\nname = 'x'\nbroken = = 1\n",
            "environment.yml": "dependencies:\n  - a: [\n",
            "setup.py": "def (:\n",
            "setup.cfg": "no header\n",
        }
    )
    with pytest.raises(DependencyFileError, match=r"pyproject.toml:3: not valid TOML"):
        read_pyproject(root / "pyproject.toml", root, "pyproject.toml", {})
    with pytest.raises(DependencyFileError, match=r"environment.yml:3: not valid YAML"):
        read_conda(root / "environment.yml", root, "environment.yml", "")
    with pytest.raises(DependencyFileError, match=r"setup.py:1: not valid Python"):
        read_setup_py(root / "setup.py", "setup.py")
    with pytest.raises(DependencyFileError, match=r"setup.cfg:1: not a valid setup.cfg"):
        read_setup_cfg(root / "setup.cfg", root, "setup.cfg", {})


def test_setup_cfg_and_pipfile(repo: Repo) -> None:
    root = repo(
        {
            "setup.cfg": "[metadata]\nname = demo\n[options]\npython_requires = >=3.8\ninstall_requires =\n"
            "    torch>=1.9\n    numpy; python_version<'3.9'\n[options.extras_require]\ndev =\n    pytest\n"
            "two = a; b>=1\n",
            "Pipfile": "[[source]]\nurl = 'https://download.pytorch.org/whl/cu118'\n[packages]\ntorch = '==2.0'\n"
            "requests = '*'\nthing = {git = 'https://h/thing.git', ref = 'v1'}\n[dev-packages]\npytest = '*'\n"
            "[requires]\npython_version = '3.10'\n",
        }
    )
    cfg = read_setup_cfg(root / "setup.cfg", root, "setup.cfg", {})
    assert [(r.name, r.group, r.line) for r in cfg.declared] == [
        ("torch", "", 6),
        ("numpy", "", 7),
        ("pytest", "dev", 10),
        ("a", "two", 11),
        ("b", "two", 11),
    ]
    pipfile = read_pipfile(root / "Pipfile", "Pipfile")
    assert [r.name for r in pipfile.declared] == ["torch", "requests", "thing", "pytest"]
    assert pipfile.declared[3].group == "dev" and pipfile.declared[2].url == "git+https://h/thing.git@v1"
    assert pipfile.python[0].specifier == "==3.10.*" and pipfile.options[0].value.endswith("cu118")


def test_conda_environment(repo: Repo) -> None:
    root = repo(
        {
            "environment.yml": """name: demo
channels: [pytorch, nvidia, conda-forge]
dependencies:
  - python=3.8.5
  - conda-forge::numpy=1.19.2=py38h54aff64_0
  - pytorch::pytorch=1.11.0
  - pytorch-cuda=11.7
  - scipy >=1.5,<2
  - pip:
    - --extra-index-url https://download.pytorch.org/whl/cu117
    - -r more.txt
    - -e git+https://github.com/openai/CLIP.git@main#egg=clip
    - not valid !!
""",
            "more.txt": "pytorch-lightning==1.4.2\n",
        }
    )
    reading = read_conda(root / "environment.yml", root, "environment.yml", "")
    assert [(r.name, r.specifier, r.ecosystem, r.line) for r in reading.declared] == [
        ("python", "==3.8.5", "conda", 4),
        ("numpy", "==1.19.2", "conda", 5),
        ("pytorch", "==1.11.0", "conda", 6),
        ("pytorch-cuda", "==11.7.*", "conda", 7),
        ("scipy", ">=1.5,<2", "conda", 8),
        ("pytorch-lightning", "==1.4.2", "pip", 1),
        ("clip", "", "pip", 12),
    ]
    assert [option.value for option in reading.options][:3] == ["pytorch", "nvidia", "conda-forge"]
    assert reading.not_read[0].line == 13


@pytest.mark.parametrize(
    ("conda", "pip"),
    [("=1.2", "==1.2.*"), ("==1.2", "==1.2"), ("=1.2.3", "==1.2.3"), ("=1.2=py_0", "==1.2"), (">=1,<2", ">=1,<2"),
     (" 1.2.*", "==1.2.*"), ("1.2|1.3", ""), ("", ""), ("*", "")],
)  # fmt: skip
def test_conda_versions(conda: str, pip: str) -> None:
    assert conda_specifier(conda) == pip


SETUP_WITH_IDIOMS = """
import os, re, sys
from pathlib import Path
from setuptools import setup, find_packages
raise_if_run = open("/nonexistent")
here = os.path.dirname(os.path.abspath(__file__))
_deps = ["torch>=2.1", "tqdm", "numpy<2"]
deps = {b: a for a, b in (re.findall(r"^(([^!=<>~ ]+)(?:[!=<>~ ].*)?$)", x)[0] for x in _deps)}
def deps_list(*pkgs):
    return [deps[pkg] for pkg in pkgs]
def read(path):
    with open(os.path.join(here, path)) as f:
        return [line.strip() for line in f.readlines() if line.strip() and not line.startswith("#")]
install_requires = read("requirements.txt") + ["einops"]
install_requires += deps_list("torch")
if sys.platform == "linux":
    install_requires.append("nvidia-ml-py")
else:
    install_requires.append("other")
extras = {}
extras["dev"] = deps_list("tqdm") + ["pytest"]
extras["all"] = [package for package in extras["dev"]]
extras["dyn"] = compute() + ["known"]
setup(name="demo", install_requires=install_requires, extras_require=extras, python_requires=">=3.8")
"""


def test_setup_py_is_worked_out_without_running_it(repo: Repo) -> None:
    root = repo({"setup.py": SETUP_WITH_IDIOMS, "requirements.txt": "# c\nxformers\nscipy\n"})
    reading = read_setup_py(root / "setup.py", "setup.py")
    assert [r.name for r in reading.declared if not r.group] == [
        "xformers", "scipy", "einops", "torch", "nvidia-ml-py", "other"
    ]  # fmt: skip
    assert [(r.name, r.group) for r in reading.declared if r.group] == [
        ("tqdm", "dev"), ("pytest", "dev"), ("tqdm", "all"), ("pytest", "all"), ("known", "dyn")
    ]  # fmt: skip
    assert reading.python[0].specifier == ">=3.8"
    assert any("extras_require['dyn']" in note.reason for note in reading.not_read)
    assert any(note.startswith("setup.py:16: this condition") for note in reading.notes)


@pytest.mark.parametrize(
    "body",
    [
        "setup(install_requires=compute())",
        "setup(**load())",
        "setup(install_requires=requests.get('http://x').text.split())",
        "from x import reqs\nsetup(install_requires=reqs)",
    ],
)
def test_dynamic_setup_py_is_reported_and_not_executed(repo: Repo, tmp_path: Path, body: str) -> None:
    marker = tmp_path / "executed"
    text = f"import pathlib\nfrom setuptools import setup\npathlib.Path({str(marker)!r}).write_text('x')\n{body}\n"
    root = repo({"setup.py": text})
    reading = read_setup_py(root / "setup.py", "setup.py")
    assert reading.declared == ()
    assert "not read" in reading.not_read[0].reason and reading.not_read[0].line >= 4
    assert not marker.exists()


def test_setup_py_cannot_make_us_loop_or_read_elsewhere(repo: Repo) -> None:
    outside = repo({"../secret.txt": "stolen\n", "x": ""}).parent / "secret.txt"
    assert outside.exists()
    root = repo(
        {
            "setup.py": "from setuptools import setup\ndef f(x):\n    return f(x)\nsetup(install_requires="
            "open('../secret.txt').read().splitlines(), extras_require={'a': f(1)})\n"
        }
    )
    reading = read_setup_py(root / "setup.py", "setup.py")
    assert reading.declared == () and len(reading.not_read) == 1
    endless = "x = ['a']\n" + "for i in x:\n" * 1 + "    x.append('b')\n" * 30
    (root / "setup.py").write_text(endless * 60 + "setup(install_requires=x)\n")
    read_setup_py(root / "setup.py", "setup.py")
