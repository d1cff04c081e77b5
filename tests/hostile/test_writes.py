"""Links and leftovers in a tree that is not ours: nothing outside it is written, nothing unproven replaces a file."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from kernel_pytorch.cli.main import main
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.findings import Patch
from kernel_pytorch.core.whole_file import SUFFIX, unfinished, whole_file, write_whole
from kernel_pytorch.port.apply import apply_patches

SOURCE = "import torch\n\nstep = torch.compile(lambda x: x, mode='reduce-overhead')\n"
UNPROVEN = "import os; os.system('anything')\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "home" / "authorized_keys"
    path.parent.mkdir()
    path.write_text("the user's own\n")
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "model.py").write_text(SOURCE)
    return root


def test_links_under_the_names_of_earlier_versions(tree: Path, victim: Path) -> None:
    for name in (".model.py.kpt-staged", ".kpt-journal.json", ".kpt-journal.json.part", f".model.py.0{SUFFIX}"):
        (tree / name).symlink_to(victim)
    assert main(["port", str(tree), "--write", "-j", "1"]) in (0, 1)
    assert victim.read_text() == "the user's own\n"
    assert "IS_ROCM" in (tree / "model.py").read_text() and not (tree / "model.py").is_symlink()


def test_a_journal_in_the_tree_is_not_believed(tree: Path) -> None:
    """Neither the form of earlier versions nor our own: the journal that counts is in the user's own folder."""
    (tree / ".model.py.kpt-staged").write_text(UNPROVEN)
    (tree / ".kpt-journal.json").write_text(json.dumps({"staged": ["model.py"]}))
    assert main(["port", str(tree), "--write", "-j", "1"]) in (0, 1)
    written = (tree / "model.py").read_text()
    assert "os.system" not in written and "IS_ROCM" in written


def test_staged_names_cannot_be_foreseen(tree: Path, victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {unfinished(tree / "model.py").name for _ in range(100)}
    assert len(names) == 100 and all(re.fullmatch(rf"\.model\.py\.[0-9a-f]{{16}}{SUFFIX}", name) for name in names)
    # And if one were: what is there is not opened.
    monkeypatch.setattr(os, "urandom", lambda count: bytes(count))
    unfinished(tree / "model.py").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(tree / "model.py", b"new")
    with pytest.raises(UsageError, match=r"File exists.*nothing was changed"):
        apply_patches(tree, [Patch("model.py", SOURCE.encode(), b"new")])
    assert victim.read_text() == "the user's own\n" and (tree / "model.py").read_text() == SOURCE


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
def test_a_file_to_write_that_is_a_link_is_refused(tree: Path, victim: Path, inside: bool) -> None:
    """Also one that stays inside: the file it points to has a place of its own, and its own patch."""
    target = tree / "other.py" if inside else victim
    target.write_text("the user's own\n")
    (tree / "_rocm.py").symlink_to(target)
    for before in (None, b"the user's own\n"):
        with pytest.raises(UsageError, match=r"_rocm\.py: a symbolic link; nothing was changed"):
            apply_patches(tree, [Patch("model.py", SOURCE.encode(), b"new"), Patch("_rocm.py", before, b"gate")])
    assert target.read_text() == "the user's own\n" and (tree / "model.py").read_text() == SOURCE


def test_a_folder_that_is_a_link_out_of_the_tree_is_refused(tree: Path, victim: Path) -> None:
    (tree / "cmake").symlink_to(victim.parent)
    with pytest.raises(UsageError, match=r"leads out of .*; nothing was changed"):
        apply_patches(tree, [Patch("cmake/FindCUDA.cmake", None, b"text")])
    assert [path.name for path in victim.parent.iterdir()] == [victim.name]


def test_a_copy_does_not_write_through_links_that_it_copied(tree: Path, victim: Path, tmp_path: Path) -> None:
    (tree / "_rocm.py").symlink_to(victim)
    (tree / "sub").symlink_to(victim.parent)
    assert main(["port", str(tree), "--out", str(tmp_path / "out"), "-j", "1"]) in (0, 1, 2)
    assert victim.read_text() == "the user's own\n"
    assert [path.name for path in victim.parent.iterdir()] == [victim.name]


@pytest.mark.parametrize(
    "words",
    [
        ("port", ".", "--html", "report.html", "--no-build", "-j", "1"),
        ("scan", ".", "--html", "report.html", "-j", "1"),
        ("hipify", "a.cu", "-o", "report.html"),
        ("hipify", ".", "-o", "linked"),
        ("deps", ".", "--write", "--force"),
    ],
    ids=lambda words: f"{words[0]} {words[-1]}",
)
def test_reports_and_lists_replace_a_link(
    tree: Path, victim: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the user names a file that the tree made a link, the link goes and not what it points to."""
    (tree / "a.cu").write_text("#include <cuda_runtime.h>\nvoid f() { cudaDeviceSynchronize(); }\n")
    (tree / "requirements.txt").write_text("torch==2.5.0\nnvidia-ml-py\n")
    for name in ("report.html", "requirements-rocm.txt", "constraints-rocm.txt"):
        (tree / name).symlink_to(victim)
    (tree / "linked").mkdir()
    (tree / "linked/a.hip").symlink_to(victim)
    monkeypatch.chdir(tree)
    assert main(list(words)) in (0, 1)
    assert victim.read_text() == "the user's own\n"
    assert [path.name for path in victim.parent.iterdir()] == [victim.name]


def test_a_folder_of_results_that_holds_a_link(tree: Path, victim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "sub").mkdir()
    (tree / "sub/a.cu").write_text("#include <cuda_runtime.h>\nvoid f() { cudaDeviceSynchronize(); }\n")
    (tree / "out").mkdir()
    (tree / "out/sub").symlink_to(victim.parent)
    monkeypatch.chdir(tree)
    assert main(["hipify", ".", "-o", "out"]) == 2
    assert [path.name for path in victim.parent.iterdir()] == [victim.name]


def test_records_and_ledgers(tmp_path: Path, victim: Path) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("safetensors")
    from kernel_pytorch.perf.ladder.ledger import FILE, Ledger, save
    from kernel_pytorch.verify.golden.archive import GoldenRecord, write_record
    from kernel_pytorch.verify.kernels.record import KernelRecord, write_kernel_record

    for name in ("golden", "kernels", "ladder"):
        folder = tmp_path / name
        folder.mkdir()
        # The names that earlier versions wrote to first, and the final ones.
        for file in ("record.json", "tensors.safetensors", FILE):
            (folder / file).symlink_to(victim)
            (folder / f"{file}.part").symlink_to(victim)
            (folder / f"{file}.{os.getpid()}.part").symlink_to(victim)
    write_record(tmp_path / "golden", GoldenRecord("t", {}, {}, (), {}, {}), {"ab12ab12": torch.zeros(2)}, None)
    write_kernel_record(tmp_path / "kernels", KernelRecord("p", (), {}, (), 0, 0), {})
    save(Ledger("t", {}, {}), tmp_path / "ladder" / FILE)
    assert victim.read_text() == "the user's own\n"
    assert json.loads((tmp_path / "golden/record.json").read_text())["target"] == "t"
    assert json.loads((tmp_path / "kernels/record.json").read_text())["program"] == "p"
    assert json.loads((tmp_path / "ladder" / FILE).read_text())["target"] == "t"


def test_devices_and_pipes_are_not_replaced(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, message in (("pipe", "not a plain file"), ("folder", "a folder is in the way")):
        with pytest.raises(OSError, match=message), whole_file(tmp_path / name):
            pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]
    write_whole(Path("/dev/null"), b"gone")
    write_whole(Path("/dev/stdout"), b"shown\n")
    assert capfd.readouterr().out == "shown\n" and Path("/dev/null").is_char_device()
