from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.port.deps.classify import decide, decide_option
from kernel_pytorch.port.deps.discover import find_files, group_of
from kernel_pytorch.port.deps.model import Decision, IndexOption, Plan, PythonRange
from kernel_pytorch.port.deps.plan import make_plan
from kernel_pytorch.port.deps.python_range import python_note
from kernel_pytorch.port.deps.requirement_text import parse
from kernel_pytorch.port.deps.text import plan_text

Repo = Callable[[dict[str, str]], Path]


def plan_of(root: Path) -> Plan:
    return make_plan(root, sys.executable)


def decision(text: str, *, torch_used: bool = True) -> Decision:
    return decide(parse(text, "requirements.txt", 1), torch_used=torch_used)


def test_files_are_found_and_third_party_folders_passed_over(repo: Repo) -> None:
    root = repo(
        {
            "requirements.txt": "",
            "requirements-dev.txt": "",
            "test_requirements.txt": "",
            "requirements.in": "",
            "requirements/base.txt": "",
            "requirements/gpu.txt": "",
            "sub/pyproject.toml": "",
            "environment.yml": "dependencies: []",
            "conda-env.yaml": "",
            ".venv/requirements.txt": "",
            "third_party/x/setup.py": "",
            "own_env/pyvenv.cfg": "",
            "own_env/requirements.txt": "",
            "requirements-rocm.txt": "",
            "notes.txt": "",
            "package.json": "",
        }
    )
    found, skipped = find_files(root)
    assert {(entry.path.relative_to(root).as_posix(), entry.group) for entry in found} == {
        ("requirements.txt", ""),
        ("requirements-dev.txt", "dev"),
        ("test_requirements.txt", "test"),
        ("requirements/base.txt", ""),
        ("requirements/gpu.txt", "gpu"),
        ("sub/pyproject.toml", ""),
        ("environment.yml", ""),
        ("conda-env.yaml", ""),
    }
    text = " ".join(skipped)
    for name in (".venv/", "third_party/", "own_env/", "requirements.in", "requirements-rocm.txt"):
        assert name in text


def test_group_names() -> None:
    assert group_of("requirements") == "" and group_of("base") == ""
    assert group_of("requirements_cu118_py312") == "cu118-py312"


@pytest.mark.parametrize(
    ("text", "action", "line"),
    [
        ("numpy>=1.2; python_version<'3.12'", "keep", 'numpy>=1.2; python_version < "3.12"'),
        ("torch==2.1.0+cu118", "protected", ""),
        ("torch @ https://x/torch-2.1.0%2Bcu118-cp310.whl", "protected", ""),
        ("nvidia-nccl-cu12==2.18", "drop", ""),
        (
            "onnxruntime-gpu==1.17.0; sys_platform=='linux'",
            "substitute",
            'onnxruntime-migraphx; sys_platform == "linux"',
        ),
        ("bitsandbytes==0.41.1", "substitute", "bitsandbytes>=0.49"),
        ("bitsandbytes==0.50.2", "substitute", "bitsandbytes==0.50.2,>=0.49"),
        ("bitsandbytes<0.45", "substitute", "bitsandbytes>=0.49"),
        ("tensorflow[and-cuda,extra]==2.15", "substitute", "tensorflow[extra]==2.15"),
        ("spacy[cuda12x,lookups]>=3", "substitute", "spacy[lookups]>=3"),
        ("flash-attn==2.5.8", "substitute", ""),
        ("xformers", "substitute", ""),
        ("pycuda", "person", ""),
        ("some-lib==1.0+cu121", "keep", "some-lib==1.0"),
        ("https://x/some_lib-1.0%2Bcu121-cp310.whl", "person", ""),
        ("-e-free-name @ git+https://h/o/r.git@v1", "keep", None),
        ("accelerate>=1", "keep", "accelerate>=1"),
        ("json", "drop", ""),
        ("./local", "keep", ""),
    ],
)
def test_decisions(text: str, action: str, line: str | None) -> None:
    if line is None:
        text, line = "name @ git+https://h/o/r.git@v1", "name @ git+https://h/o/r.git@v1"
    made = decision(text)
    assert (made.action, made.line) == (action, line)
    assert made.reason


def test_what_counts_as_a_finding() -> None:
    assert not decision("torch").is_finding
    assert not decision("torch>=2.1").is_finding
    assert decision("torch==2.1").is_finding
    assert decision("some-lib==1.0+cu121").is_finding
    assert not decision("numpy").is_finding and not decision("accelerate").is_finding
    assert decision("accelerate").requires_torch
    build = decide(parse("torch", "pyproject.toml", 1, role="build"), torch_used=True)
    assert build.is_finding and any("no-build-isolation" in note for note in build.notes)


def test_jax_is_left_out_only_beside_torch() -> None:
    assert decision("jax[cuda12]==0.5.3").action == "drop"
    assert decision("flax").action == "drop"
    assert decision("jax[cuda12]==0.5.3", torch_used=False).action == "person"
    assert decision("flax", torch_used=False).action == "keep"
    assert decision("jaxtyping").action == "keep"


@pytest.mark.parametrize(
    ("kind", "value", "action"),
    [
        ("extra-index-url", "https://download.pytorch.org/whl/cu121", "drop"),
        ("index-url", "https://download.pytorch.org/whl/nightly/cu128", "drop"),
        ("index-url", "https://download.pytorch.org/whl/cpu", "drop"),
        ("find-links", "https://download.pytorch.org/whl/torch_stable.html", "drop"),
        ("find-links", "https://data.pyg.org/whl/torch-2.1.0+cu121.html", "drop"),
        ("extra-index-url", "https://pypi.nvidia.com", "drop"),
        ("extra-index-url", "https://download.pytorch.org/whl/rocm6.4", "keep"),
        ("index-url", "https://pypi.org/simple", "keep"),
        ("index-url", "https://mirror.example/cuisine/simple", "keep"),
        ("conda-channel", "nvidia", "drop"),
        ("conda-channel", "pytorch", "drop"),
        ("conda-channel", "conda-forge", "keep"),
        ("require-hashes", "", "drop"),
        ("pre", "", "keep"),
    ],
)
def test_index_lines(kind: str, value: str, action: str) -> None:
    assert decide_option(IndexOption(kind, value, "requirements.txt", 1)).action == action


def test_jax_and_torch_repository(repo: Repo) -> None:
    root = repo(
        {
            "pyproject.toml": "[project]\nname='x'\ndependencies=['jax[cuda12]==0.5.3','torch==2.7.1','jaxtyping']\n",
            "x/train_jax.py": "import jax\n",
            "x/both.py": "import torch\nimport flax.nnx as nnx\n",
            "x/guarded.py": "try:\n    import jax\nexcept ImportError:\n    jax = None\n",
            "x/late.py": "def f():\n    import jax\n",
            "x/clean.py": "import torch\n# import jax\ntext = 'import jax'\n",
            "third_party/y.py": "import jax\n",
        }
    )
    plan = plan_of(root)
    assert plan.torch_used and plan.jax is not None
    assert plan.jax.unconditional == ("x/both.py", "x/train_jax.py")
    assert plan.jax.both == ("x/both.py",)
    assert plan.jax.guarded == ("x/guarded.py", "x/late.py")
    assert plan.jax.torch_modules == 2
    assert [one.action for one in plan.decisions] == ["drop", "protected", "keep"]
    text = plan_text(plan)
    assert "x/both.py" in text and "PyTorch-only path" in text


def test_monorepo_projects_and_groups(repo: Repo) -> None:
    root = repo(
        {
            "pyproject.toml": "[project]\nname='top'\ndependencies=['numpy','inner']\n"
            "[project.optional-dependencies]\ndev=['pytest']\n",
            "inner/pyproject.toml": "[project]\nname='inner'\ndependencies=['torch==2.1']\n",
            "requirements-dev.txt": "-r requirements.txt\nruff\n",
            "requirements.txt": "scipy\n",
        }
    )
    plan = plan_of(root)
    assert [project.folder for project in plan.projects] == [".", "inner"]
    top = plan.projects[0]
    assert top.groups == ("dev",) and top.includes_main == ("dev",)
    assert {(d.requirement.name, d.requirement.group) for d in top.decisions} == {
        ("numpy", ""), ("inner", ""), ("pytest", "dev"), ("ruff", "dev"), ("scipy", "")
    }  # fmt: skip


def test_the_plan_serialises_and_a_clean_repository_has_no_findings(repo: Repo) -> None:
    plan = plan_of(repo({"requirements.txt": "numpy\ntorch>=2\n"}))
    assert json.loads(json.dumps(asdict(plan)))["schema"] == 1
    assert not plan.has_findings


def test_broken_files_are_listed_and_the_others_are_read(repo: Repo) -> None:
    plan = plan_of(repo({"pyproject.toml": "a = = 1", "requirements.txt": "numpy\n"}))
    assert [(one.path, one.line) for one in plan.broken] == [("pyproject.toml", 1)]
    assert [one.requirement.name for one in plan.decisions] == ["numpy"]


def test_pinned_twice_is_noted(repo: Repo) -> None:
    plan = plan_of(
        repo({"requirements.txt": "numpy==1.24\n", "environment.yml": "dependencies:\n  - pip:\n    - numpy==1.26\n"})
    )
    assert "numpy is pinned twice" in plan.projects[0].notes[0]


def test_an_env_file_of_another_tool_is_no_conda_environment(repo: Repo) -> None:
    plan = plan_of(repo({"env.yml": "services:\n  web: [\n", "requirements.txt": "numpy\n"}))
    assert plan.broken == () and len(plan.projects) == 1


def test_single_file_and_wrong_paths(repo: Repo, tmp_path: Path) -> None:
    root = repo({"requirements.txt": "torch==2.1\n", "pyproject.toml": "= broken", "readme.md": ""})
    plan = plan_of(root / "requirements.txt")
    assert [one.requirement.name for one in plan.decisions] == ["torch"] and not plan.broken
    with pytest.raises(UsageError, match="no such file"):
        plan_of(tmp_path / "missing")
    with pytest.raises(UsageError, match="not a dependency file"):
        plan_of(root / "readme.md")


def test_python_range_that_is_only_conservative(repo: Repo) -> None:
    root = repo({"a.py": "import os\n", "b.py": "x = [1]\n"})
    note = python_note(PythonRange(">=3.11", "pyproject.toml", 3), "3.12.1", root)
    assert note is not None and note.allowed and note.conservative and "2 files" in note.text
    below = python_note(PythonRange(">=3.12", "pyproject.toml", 3), "3.11.2", root)
    assert below is not None and not below.allowed and below.conservative
    above = python_note(PythonRange("<3.11", "pyproject.toml", 3), "3.12.1", root)
    assert above is not None and not above.allowed and above.conservative is None
    assert python_note(PythonRange(">=3.8", "p", 1), "3.12.1", root) is None


@pytest.mark.parametrize(
    "code",
    [
        "import tomllib\n",
        "from typing import Self\n",
        "import datetime\nnow = datetime.UTC\n",
        "try:\n    pass\nexcept* ValueError:\n    pass\n",
        "import enum\n\nclass Kind(enum.StrEnum):\n    A = 'a'\n",
    ],
)
def test_python_range_that_the_code_needs(repo: Repo, code: str) -> None:
    root = repo({"a.py": code})
    assert python_note(PythonRange(">=3.11", "pyproject.toml", 3), "3.12.1", root) is None
    below = python_note(PythonRange(">=3.11", "pyproject.toml", 3), "3.10.4", root)
    assert below is not None and below.conservative is False and "a.py:" in below.text


def test_a_jax_repository_with_a_little_torch_keeps_jax(repo: Repo) -> None:
    """One torch example does not make a PyTorch path: without JAX nothing would be left."""
    modules = {f"x/m{number}.py": "import jax\n" for number in range(5)}
    root = repo({"requirements.txt": "jax==0.4\nflax\n", "examples/loader.py": "import torch\n", **modules})
    plan = plan_of(root)
    assert [one.action for one in plan.decisions] == ["keep", "keep"]
    assert plan.jax is not None and not plan.jax.pytorch_only and "JAX first" in plan_text(plan)
    (root / "requirements.txt").write_text("jax[cuda12]==0.4\ntorch\n")
    assert [one.action for one in plan_of(root).decisions] == ["drop", "protected"]
    (root / "examples/loader.py").unlink()
    assert [one.action for one in plan_of(root).decisions] == ["person", "protected"]


def test_extras_that_name_the_project_itself_are_expanded(repo: Repo) -> None:
    text = (
        "[project]\nname='robot'\ndependencies=['numpy']\n[project.optional-dependencies]\n"
        "fast=['xformers']\nviz=['plotly']\nall=['robot[fast, viz]', 'robot[all]', 'rich']\n"
    )
    plan = plan_of(repo({"pyproject.toml": text}))
    assert [(d.requirement.name, d.requirement.group) for d in plan.decisions] == [
        ("numpy", ""), ("xformers", "fast"), ("plotly", "viz"),
        ("xformers", "all"), ("plotly", "all"), ("rich", "all"),
    ]  # fmt: skip


def test_lines_of_equal_strings_in_two_groups(repo: Repo) -> None:
    text = "[project]\nname='x'\n[project.optional-dependencies]\ngen=['diffusers']\ndev=[\n 'ruff',\n 'diffusers']\n"
    plan = plan_of(repo({"pyproject.toml": text}))
    assert [one.requirement.line for one in plan.decisions] == [4, 6, 7]


def test_code_that_this_python_cannot_parse_is_not_called_conservative(repo: Repo) -> None:
    root = repo({"a.py": "this is syntax of the future\n"})
    future = f">=3.{sys.version_info.minor + 1}"
    note = python_note(PythonRange(future, "pyproject.toml", 3), f"3.{sys.version_info.minor}.0", root)
    assert note is not None and note.conservative is False and "does not parse" in note.text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("bitsandbytes>=0.45.2,<0.50", "bitsandbytes<0.50,>=0.49"),
        ("bitsandbytes>=0.49.1", "bitsandbytes>=0.49.1"),
        ("bitsandbytes!=0.49.2", "bitsandbytes!=0.49.2,>=0.49"),
        ("bitsandbytes>=0.41,<0.43", "bitsandbytes>=0.49"),
    ],
)
def test_one_lower_limit_is_left_of_two(text: str, line: str) -> None:
    assert decision(text).line == line


@pytest.mark.parametrize(
    "marker", ["sys_platform == 'darwin'", "platform_system == 'Darwin' and python_version > '3.9'"]
)
def test_what_is_never_installed_where_rocm_is_stays_as_written(marker: str) -> None:
    made = decision(f"bitsandbytes<0.43,>=0.42; {marker}")
    assert (made.action, made.is_finding) == ("keep", False)
    assert made.line.startswith("bitsandbytes<0.43,>=0.42; ")
    assert decision(f"torch==2.1; {marker}").action == "protected"


@pytest.mark.parametrize("marker", ["sys_platform == 'linux' or sys_platform == 'win32'", "sys_platform != 'darwin'"])
def test_a_marker_that_linux_meets_changes_nothing(marker: str) -> None:
    assert decision(f"bitsandbytes<0.43; {marker}").action == "substitute"
