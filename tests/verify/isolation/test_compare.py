from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.verify.isolation import Isolation, compare_trees
from kernel_pytorch.verify.isolation.trees import FolderTree, GitTree

KERNEL = "__global__ void k(float* x) { x[0] = __shfl_sync(0xffffffff, x[0], 0); }\n"
PORTED = (
    "#if defined(USE_ROCM)\n__global__ void k(float* x) { x[0] = __shfl(x[0], 0, 32); }\n#else\n" + KERNEL + "#endif\n"
)


def write(root: Path, files: dict[str, str]) -> FolderTree:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return FolderTree(root)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    write(root, {"a.cu": KERNEL, "pkg/model.py": "import torch\nrun()\n", "data.json": "{}"})
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(root), *command], check=True)
    return root


def test_folders(tmp_path: Path) -> None:
    old = write(tmp_path / "old", {"a.cu": KERNEL, "b.py": "x = 1\n", "same.txt": "s"})
    new = write(tmp_path / "new", {"a.cu": PORTED, "b.py": "x = 2\n", "same.txt": "s", "Dockerfile.rocm": "FROM x"})
    report = compare_trees(old, new)
    verdicts = {item.path: item.verdict for item in report.files}
    assert verdicts == {"a.cu": Isolation.PROVEN, "b.py": Isolation.CHANGED, "Dockerfile.rocm": Isolation.PROVEN}
    assert report.identical == 1
    assert report.verdict is Isolation.CHANGED
    assert not report.proven


def test_a_new_module_must_be_out_of_reach(tmp_path: Path) -> None:
    old = write(tmp_path / "old", {"m.py": "import torch\nrun()\n"})
    gated = "import torch\nif torch.version.hip:\n    import amd_only\nrun()\n"
    report = compare_trees(old, write(tmp_path / "new", {"m.py": gated, "amd_only.py": "boom()\n"}))
    assert report.verdict is Isolation.PROVEN
    ungated = "import torch\nimport amd_only\nrun()\n"
    report = compare_trees(old, write(tmp_path / "other", {"m.py": ungated, "amd_only.py": "boom()\n"}))
    assert {item.path: item.verdict for item in report.files} == {
        "m.py": Isolation.CHANGED,
        "amd_only.py": Isolation.NOT_PROVEN,
    }


def test_a_new_header_must_be_out_of_reach(tmp_path: Path) -> None:
    old = write(tmp_path / "old", {"a.cu": KERNEL})
    gated = '#ifdef USE_ROCM\n#include "sub/compat.h"\n#endif\n' + KERNEL
    report = compare_trees(old, write(tmp_path / "new", {"a.cu": gated, "sub/compat.h": "int x;"}))
    assert report.verdict is Isolation.PROVEN
    ungated = '#include "sub/compat.h"\n' + KERNEL
    report = compare_trees(old, write(tmp_path / "other", {"a.cu": ungated, "sub/compat.h": "int x;"}))
    assert {item.verdict for item in report.files} == {Isolation.CHANGED, Isolation.NOT_PROVEN}


def test_a_new_header_of_a_known_name_must_lie_where_no_compiler_looks(tmp_path: Path) -> None:
    before = "add_library(k a.cu)\n"
    gated = before + "if(USE_HIP)\n  include_directories(BEFORE twins)\nendif()\n"
    source = "#include <cuda_runtime.h>\n" + KERNEL
    ported = f"#ifdef USE_ROCM\n#include <other.h>\n#endif\n{source}"
    old = write(tmp_path / "old", {"a.cu": source, "CMakeLists.txt": before})
    header = {"twins/cuda_runtime.h": "#include <hip/hip_runtime.h>\n#include <names.h>\n", "twins/names.h": ""}
    report = compare_trees(old, write(tmp_path / "new", {"a.cu": ported, "CMakeLists.txt": gated, **header}))
    assert report.verdict is Isolation.PROVEN
    assert {item.assumptions for item in report.files if item.path == "twins/cuda_runtime.h"} != {()}
    # Beside the source, or in a folder that the build searched before it was there, it takes the place of CUDA's.
    beside = compare_trees(
        old, write(tmp_path / "beside", {"a.cu": ported, "CMakeLists.txt": gated, "cuda_runtime.h": ""})
    )
    searched = "include_directories(twins)\n"
    known = write(tmp_path / "known", {"a.cu": source, "CMakeLists.txt": searched})
    there = compare_trees(known, write(tmp_path / "there", {"a.cu": ported, "CMakeLists.txt": searched, **header}))
    assert (beside.verdict, there.verdict) == (Isolation.NOT_PROVEN, Isolation.NOT_PROVEN)


@pytest.mark.parametrize(
    ("path", "is_proven"),
    [
        ("include/cuda_runtime.h", False),  # the build searches include
        ("src/cuda_runtime.h", False),  # some compilers look beside the source for <...> too
        ("twins/cuda_runtime.h", True),  # a new folder that nothing names
        ("include/other.h", True),
        ("src/names.h", False),  # beside the file that includes "names.h", before include/names.h
        ("include/deep.h", True),  # src/deep.h is found first
    ],
)
def test_a_new_header_must_not_take_the_place_of_what_an_unchanged_file_includes(
    tmp_path: Path, path: str, is_proven: bool
) -> None:
    source = '#include <cuda_runtime.h>\n#include "names.h"\n#include "deep.h"\n'
    files = {
        "src/a.cu": source,
        "include/names.h": "",
        "src/deep.h": "",
        "CMakeLists.txt": "include_directories(include)\n",
    }
    old = write(tmp_path / "old", files)
    report = compare_trees(old, write(tmp_path / "new", {**files, path: "// empty\n"}))
    assert report.proven is is_proven
    if not is_proven:
        assert "src/a.cu includes" in report.files[0].reason


@pytest.mark.parametrize(
    ("path", "is_proven"),
    [
        ("tools/yaml.py", False),  # beside the script
        ("yaml.py", False),
        ("src/yaml/__init__.py", False),
        ("pkg/yaml.py", True),  # pkg.yaml
        ("tools/toml.py", True),
    ],
)
def test_a_new_module_must_not_take_the_place_of_one_that_an_unchanged_file_imports(
    tmp_path: Path, path: str, is_proven: bool
) -> None:
    files = {"tools/run.py": "import os, yaml\nfrom . import toml\n", "pkg/__init__.py": ""}
    old = write(tmp_path / "old", files)
    report = compare_trees(old, write(tmp_path / "new", {**files, path: "load = print\n"}))
    assert report.proven is is_proven


def test_a_file_of_rocm_alone_may_change(tmp_path: Path) -> None:
    gated = "import torch\nif torch.version.hip:\n    from ops import rocm_attention\nrun()\n"
    old = write(tmp_path / "old", {"m.py": gated, "ops/rocm_attention.py": "a = 1\n"})
    new = write(tmp_path / "new", {"m.py": gated, "ops/rocm_attention.py": "a = 2\n"})
    report = compare_trees(old, new)
    assert report.verdict is Isolation.PROVEN
    assert report.files[0].assumptions
    ungated = "import torch\nfrom ops import rocm_attention\nrun()\n"
    old = write(tmp_path / "old2", {"m.py": ungated, "ops/rocm_attention.py": "a = 1\n"})
    new = write(tmp_path / "new2", {"m.py": ungated, "ops/rocm_attention.py": "a = 2\n"})
    assert compare_trees(old, new).verdict is Isolation.CHANGED
    # another name is no excuse, gated or not
    old = write(tmp_path / "old3", {"m.py": "run()\n", "ops/attention.py": "a = 1\n"})
    new = write(tmp_path / "new3", {"m.py": "run()\n", "ops/attention.py": "a = 2\n"})
    assert compare_trees(old, new).verdict is Isolation.CHANGED


def test_a_kernel_of_rocm_alone_may_change(tmp_path: Path) -> None:
    build = "if(USE_HIP)\n  add_library(k csrc/rocm/skinny.cu)\nendif()\n"
    old = write(tmp_path / "old", {"CMakeLists.txt": build, "csrc/rocm/skinny.cu": "int a;"})
    new = write(tmp_path / "new", {"CMakeLists.txt": build, "csrc/rocm/skinny.cu": "int b;"})
    assert compare_trees(old, new).verdict is Isolation.PROVEN
    open_build = "add_library(k csrc/rocm/skinny.cu)\n"
    old = write(tmp_path / "old2", {"CMakeLists.txt": open_build, "csrc/rocm/skinny.cu": "int a;"})
    new = write(tmp_path / "new2", {"CMakeLists.txt": open_build, "csrc/rocm/skinny.cu": "int b;"})
    assert compare_trees(old, new).verdict is Isolation.CHANGED


def test_gone_files_and_unknown_kinds(tmp_path: Path) -> None:
    old = write(tmp_path / "old", {"a.py": "", "conf.json": "{}", "README.md": "a"})
    new = write(tmp_path / "new", {"conf.json": "[]", "README.md": "b"})
    verdicts = {item.path: item.verdict for item in compare_trees(old, new).files}
    assert verdicts == {"a.py": Isolation.CHANGED, "conf.json": Isolation.CHANGED, "README.md": Isolation.PROVEN}


def test_revisions_and_work_tree(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(repository), "--isolation"]) == 0
    (repository / "a.cu").write_text(PORTED)
    assert main(["verify", str(repository), "--isolation", "--base", "HEAD", "-v"]) == 0
    assert "a.cu: proven" in capsys.readouterr().out
    (repository / "pkg/model.py").write_text("import torch\nrun(1)\n")
    assert main(["verify", str(repository), "--isolation", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "changed"
    assert [item["path"] for item in document["files"]] == ["a.cu", "pkg/model.py"]
    # from a folder inside the repository the paths are relative to it
    assert GitTree(repository / "pkg", "HEAD").paths() == {"model.py"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--isolation", "--base", "no-such-rev"], "is not a revision"),
        (["--isolation", "--base=--upload-pack=x"], "is not a revision"),
        (["--isolation", "--old", "absent-folder"], "no such folder"),
        (["--isolation", "--old", ".", "--base", "HEAD"], "one or the other"),
    ],
)
def test_bad_arguments(
    repository: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(repository), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_missing_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path / "absent"), "--isolation"]) == 2
    assert "no such folder" in capsys.readouterr().err


def test_outside_git(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not a revision"):
        GitTree(tmp_path, "HEAD")


PROJECT = '[project]\nname = "thing"\n\n[tool.ruff]\nline-length = 100\n'


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (PROJECT, PROJECT + '\n[tool.kernel_pytorch.verify]\nentry_points = ["a:b"]\n', Isolation.PROVEN),
        ('[project]\nname = "x"\n', '# port\n[project]\nname = "x"\n[tool.kernel_pytorch]\n', Isolation.PROVEN),
        (PROJECT + "[tool.kernel_pytorch]\n", PROJECT, Isolation.PROVEN),
        (PROJECT, PROJECT.replace("100", "true"), Isolation.CHANGED),
        (PROJECT, PROJECT + 'dependencies = ["torch"]\n', Isolation.CHANGED),
        (PROJECT, PROJECT + "[[[\n", Isolation.NOT_PROVEN),
    ],
)
def test_this_tools_own_table_is_no_change_on_the_nvidia_path(
    tmp_path: Path, before: str, after: str, verdict: Isolation
) -> None:
    old, new = write(tmp_path / "old", {"pyproject.toml": before}), write(tmp_path / "new", {"pyproject.toml": after})
    (item,) = compare_trees(old, new).files
    assert item.verdict is verdict, item


def test_links_and_their_copies_are_the_same(tmp_path: Path, repository: Path) -> None:
    (repository / "linked.cu").symlink_to("a.cu")
    (repository / "folder").symlink_to("pkg")
    (repository / "dangling.py").symlink_to("nowhere.py")
    for command in (["add", "-A"], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "links"]):
        subprocess.run(["git", "-C", str(repository), *command], check=True)
    committed = GitTree(repository, "HEAD")
    assert compare_trees(committed, FolderTree(repository)).files == ()
    copied = write(
        tmp_path / "copied",
        {
            "a.cu": PORTED,
            "linked.cu": PORTED,
            "pkg/model.py": "import torch\nrun()\n",
            "folder/model.py": "import torch\nrun()\n",
            "dangling.py": "run()\n",
            "data.json": "{}",
        },
    )
    verdicts = {item.path: item.verdict for item in compare_trees(committed, copied).files}
    assert verdicts.pop("dangling.py") in (Isolation.CHANGED, Isolation.NOT_PROVEN)
    assert verdicts == {"a.cu": Isolation.PROVEN, "linked.cu": Isolation.PROVEN}


def test_caches_that_somebody_committed_are_no_part_of_a_comparison(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    files = {"model.py": "x = 1\n", "__pycache__/model.cpython-310.pyc": "bytes"}
    write(old, files)
    subprocess.run(["git", "init", "-q", str(old)], check=True)
    subprocess.run(["git", "-C", str(old), "add", "-f", "."], check=True)
    subprocess.run(
        ["git", "-C", str(old), "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"], check=True
    )
    write(new, {"model.py": "x = 1\n"})
    for before in (FolderTree(old), GitTree(old, "HEAD")):
        assert compare_trees(before, FolderTree(new)).files == ()
