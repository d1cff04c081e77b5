"""Which file of a project an #include names."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.port.cxx.includes import Include, IncludeSearch, search_folders


@pytest.mark.parametrize(
    ("name", "quoted", "expected"),
    [
        ("own.h", True, "src/own.h"),
        ("own.h", False, "src/own.h"),
        ("both.h", True, "src/both.h"),
        ("both.h", False, "include/both.h"),
        ("sub/deep.h", True, "include/sub/deep.h"),
        ("../src/own.h", True, "src/own.h"),
        ("./own.h", True, "src/own.h"),
        ("gr\xf6\xdfe.h", True, "src/gr\xf6\xdfe.h"),
        ("back\\slash.h", True, "src/back\\slash.h"),
        ("sub", True, None),  # a folder
        ("sub/other.h", True, None),
        ("stdio.h", False, None),
        ("OWN2.h", True, None),
    ],
)
def test_the_file_that_an_include_names(name: str, quoted: bool, expected: str | None, tmp_path: Path) -> None:
    for path in ("src/own.h", "src/both.h", "src/gr\xf6\xdfe.h", "src/back\\slash.h", "include/both.h",
                 "include/sub/deep.h"):  # fmt: skip
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(b"")
    (tmp_path / "src/a.cu").write_bytes(b"")
    found = IncludeSearch(search_folders(tmp_path)).resolved(Include(name, quoted, 0, 0), tmp_path / "src/a.cu")
    assert found == (None if expected is None else tmp_path / expected)


def test_a_folder_that_does_not_show_its_files_still_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.h").write_bytes(b"")

    def refused(folder: str) -> list[str]:
        raise PermissionError(folder)

    monkeypatch.setattr("os.listdir", refused)
    assert IncludeSearch([tmp_path]).path(Include("own.h", False, 0, 0), Path("/elsewhere/a.cu")) is not None


def test_a_name_in_other_letters_is_left_to_the_file_system(tmp_path: Path) -> None:
    (tmp_path / "Own.h").write_bytes(b"")
    expected = (tmp_path / "OWN.H").is_file()  # some systems do not tell small letters from capitals
    assert (IncludeSearch([tmp_path]).path(Include("OWN.H", True, 0, 0), tmp_path / "a.cu") is not None) is expected
