"""Which files a source reaches by #include, and that a copy of them finds every one again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernel_pytorch.core.project_folder import project_folder
from kernel_pytorch.port.builds.hipified_tree import hipified_tree
from kernel_pytorch.port.cxx.includes import includes_of
from kernel_pytorch.port.cxx.reached_files import reached_files

KERNEL = "__global__ void k(int *p) { p[threadIdx.x] = VALUE; }\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with its sources three folders down, and a neighbour."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "samples" / "first" / "src").mkdir(parents=True)
    (tmp_path / "secret.h").write_text("#define VALUE 7\n")
    return root


def write(root: Path, files: dict[str, str]) -> Path:
    """Writes files; gives the first."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root / next(iter(files))


def found_by_a_compiler(path: Path) -> set[str]:
    """The names of the files that a source's quoted includes lead to, as a compiler opens them, one after another."""
    reached: set[str] = set()
    pending = [path]
    while pending:
        at = pending.pop()
        for include in includes_of(at.read_bytes()):
            if include.quoted:
                one = Path(os.path.join(at.parent, include.name))  # noqa: PTH118 - as written, `..` and all
                assert one.is_file(), f"{at}: {include.name}"
                reached.add(one.name)
                pending.append(one)
    return reached


def test_includes_that_climb_through_several_headers(project: Path) -> None:
    path = write(project, {
        "samples/first/src/k.cu": '#include "../../../common/a.h"\n' + KERNEL,
        "common/a.h": '#include "../base/detail/b.h"\n',
        "base/detail/b.h": '#include "../../samples/../top.h"\n',
        "top.h": "#define VALUE 1\n",
    })  # fmt: skip
    reached = reached_files(path)
    assert reached.root == project.resolve()
    assert [one.name for one in reached.files] == ["k.cu", "a.h", "b.h", "top.h"]
    with hipified_tree(path) as tree:
        assert found_by_a_compiler(tree.main) == {"a.h", "b.h", "top.h"}
        assert b"hip/hip_runtime.h" in tree.main.read_bytes()
        assert not tree.findings


def test_the_root_is_no_higher_than_needed(project: Path) -> None:
    path = write(project, {
        "samples/first/src/k.cu": '#include "../a.h"\n' + KERNEL,
        "samples/first/a.h": "#define VALUE 1\n",
    })  # fmt: skip
    assert reached_files(path).root == (project / "samples" / "first").resolve()


def test_a_folder_that_is_only_passed_on_the_way(project: Path) -> None:
    path = write(project, {
        "samples/first/src/k.cu": '#include "detail/../../src/../a.h"\n' + KERNEL,
        "samples/first/a.h": "#define VALUE 1\n",
        "samples/first/src/detail/other.h": "",
    })  # fmt: skip
    with hipified_tree(path) as tree:
        assert found_by_a_compiler(tree.main) == {"a.h"}


def test_links_to_a_folder_a_header_and_the_source(project: Path) -> None:
    write(project, {
        "shared/k.cu": '#include "inc/a.h"\n#include "beside.h"\n' + KERNEL,
        "shared/headers/a.h": '#include "../b.h"\n',
        "shared/b.h": '#include "headers/c.h"\n',
        "shared/d.h": "#define VALUE 1\n",
        "samples/first/src/beside.h": "",
    })  # fmt: skip
    source = project / "samples" / "first" / "src" / "k.cu"
    source.symlink_to("../../../shared/k.cu")
    (source.parent / "inc").symlink_to("../../../shared/headers")
    (project / "shared" / "headers" / "c.h").symlink_to("../d.h")
    with hipified_tree(source) as tree:
        # What a link's name says stands beside the link; what it leads to is one file.
        assert found_by_a_compiler(tree.main) == {"a.h", "b.h", "c.h", "beside.h"}
        assert tree.origins[tree.main.resolve()] == source
    assert not list(project.rglob("*.hip"))


@pytest.mark.parametrize("name", ["../../../../secret.h", "mine.h", "inc/secret.h"], ids=["..", "link", "folder link"])
def test_a_header_outside_the_project_is_not_read(name: str, project: Path) -> None:
    path = write(project, {"samples/first/src/k.cu": f'int first;\n#include "{name}"\n' + KERNEL})
    (path.parent / "mine.h").symlink_to(project.parent / "secret.h")
    (path.parent / "inc").symlink_to(project.parent)
    reached = reached_files(path)
    assert [one.name for one in reached.files] == ["k.cu"]
    with hipified_tree(path) as tree:
        (finding,) = tree.findings
        assert (finding.code, finding.path, finding.line) == ("KP001", str(path), 2)
        assert "outside the project" in finding.message
        assert "-I" in finding.message
        assert not list(tree.top.rglob("secret.h"))


def test_who_names_a_folder_lets_kpt_read_it(project: Path) -> None:
    path = write(project, {"samples/first/src/k.cu": '#include "../../../../secret.h"\n' + KERNEL})
    with hipified_tree(path, (project.parent,)) as tree:
        assert found_by_a_compiler(tree.main) == {"secret.h"}
        assert not tree.findings


def test_a_given_project_is_the_limit(project: Path) -> None:
    path = write(project, {"samples/first/src/k.cu": '#include "../../../a.h"\n' + KERNEL, "a.h": "#define VALUE 1\n"})
    assert len(reached_files(path).files) == 2
    assert len(reached_files(path, project=project / "samples").files) == 1


def test_code_of_others_is_found_and_left_as_it_is(project: Path) -> None:
    path = write(project, {
        "samples/first/src/k.cu": '#include "../../../third_party/x/a.h"\n' + KERNEL,
        "third_party/x/a.h": '#include "b.h"\n',
        "third_party/x/b.h": "#define VALUE 1\n",
    })  # fmt: skip
    with hipified_tree(path) as tree:
        assert found_by_a_compiler(tree.main) == {"a.h", "b.h"}
        assert len(tree.origins) == 2  # the source and its twin under HIP's suffix


def test_a_source_of_others_takes_its_neighbours_along(project: Path) -> None:
    path = write(project, {
        "third_party/x/src/k.cu": '#include "../a.h"\n' + KERNEL,
        "third_party/x/a.h": "#define VALUE 1\n",
    })  # fmt: skip
    assert [one.name for one in reached_files(path).files] == ["k.cu", "a.h"]


def test_the_project_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a" / "b" / "c" / "k.cu"
    file.parent.mkdir(parents=True)
    monkeypatch.setattr("kernel_pytorch.core.project_folder.repository_of", lambda folder: None)
    monkeypatch.chdir(tmp_path / "a")
    assert project_folder(file) == tmp_path / "a"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert project_folder(file) == file.parent
    (tmp_path / "pyproject.toml").write_text("")
    assert project_folder(file) == tmp_path
    monkeypatch.setattr("kernel_pytorch.core.project_folder.repository_of", lambda folder: tmp_path / "a")
    assert project_folder(file) == tmp_path / "a"
    monkeypatch.setenv("KPT_ROOT", str(tmp_path / "a" / "b"))
    assert project_folder(file) == tmp_path / "a" / "b"
