from __future__ import annotations

from pathlib import Path

import pytest

from kernel_pytorch.port.deps.model import Declared, DependencyFileError, Reading
from kernel_pytorch.port.deps.read_requirements import read_requirements
from kernel_pytorch.port.deps.requirement_text import is_cuda_build, name_from_url, parse, without_cuda_tag


def read(tmp_path: Path, text: str | bytes, **others: str) -> Reading:
    path = tmp_path / "requirements.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    for name, content in others.items():
        (tmp_path / name).write_text(content)
    return read_requirements(path, tmp_path)


def names(reading: Reading) -> list[str]:
    return [requirement.name for requirement in reading.declared]


def test_lines_comments_continuations_hashes_and_markers(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        "# head\n\nnumpy >= 1.22 , < 2 # why\n"
        "torch==2.1.0+cu118 \\\n    --hash=sha256:aa \\\n    # between\n    --hash=sha256:bb\n"
        "Foo_Bar[x,y]~=1.0; python_version < '3.12' and sys_platform == 'linux'\n"
        "url#not-a-comment @ https://h/x.whl\n",
    )
    numpy, torch, foo = reading.declared[:3]
    assert (numpy.name, numpy.specifier, numpy.line) == ("numpy", "<2,>=1.22", 3)
    assert (torch.name, torch.specifier, torch.line) == ("torch", "==2.1.0+cu118", 4)
    assert (foo.name, foo.extras, foo.line) == ("foo-bar", ("x", "y"), 8)
    assert foo.marker == 'python_version < "3.12" and sys_platform == "linux"'
    assert [note.line for note in reading.not_read] == [9]


def test_options_are_kept_apart(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        "--extra-index-url https://download.pytorch.org/whl/cu121\n-f https://data.pyg.org/whl/torch-2.1.0+cu121.html\n"
        "--pre\n-i=https://pypi.org/simple\n--unheard-of 3\nnumpy\n",
    )
    assert [(option.kind, option.value) for option in reading.options] == [
        ("extra-index-url", "https://download.pytorch.org/whl/cu121"),
        ("find-links", "https://data.pyg.org/whl/torch-2.1.0+cu121.html"),
        ("pre", ""),
        ("index-url", "https://pypi.org/simple"),
    ]
    assert names(reading) == ["numpy"]
    assert "--unheard-of" in reading.not_read[0].reason


def test_addresses_and_folders(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        "-e .\n-e ./sub[dev]\n./wheels/flash_attn-2.5.0+cu122-cp310-linux_x86_64.whl\n"
        "git+https://github.com/NVlabs/tiny-cuda-nn/@v1#subdirectory=bindings/torch\n"
        "-e git+https://github.com/CompVis/taming-transformers.git@master#egg=taming-transformers\n"
        "torch @ https://download.pytorch.org/whl/cu118/torch-2.1.0%2Bcu118-cp310-none.whl ; python_version<'4'\n"
        "https://data.pyg.org/whl/torch_scatter-2.1.0%2Bpt112cu113-cp310-linux_x86_64.whl\n"
        "submodules/simple-knn\nplain[extra] @ git+ssh://git@host/o/plain.git\n",
    )
    assert names(reading) == [
        "", "sub", "flash-attn", "tiny-cuda-nn", "taming-transformers", "torch", "torch-scatter", "simple-knn", "plain"
    ]  # fmt: skip
    by_name = {requirement.name: requirement for requirement in reading.declared}
    assert by_name["sub"].local == "./sub" and by_name["sub"].editable and by_name["sub"].extras == ("dev",)
    assert by_name["torch"].url.endswith(".whl") and "python_version" in by_name["torch"].marker
    assert by_name["plain"].extras == ("extra",)
    assert by_name["taming-transformers"].editable
    assert not reading.not_read


def test_includes_constraints_circles_and_missing_files(tmp_path: Path) -> None:
    reading = read(
        tmp_path,
        "-r base.txt\n-c limits.txt\n--requirement=gone.txt\n-r https://host/r.txt\nscipy\n",
        **{"base.txt": "numpy\n-r requirements.txt\n", "limits.txt": "torch==2.1\nscipy<2\n"},
    )
    assert names(reading) == ["numpy", "torch", "scipy", "scipy"]
    assert [requirement.role for requirement in reading.declared] == ["runtime", "constraint", "constraint", "runtime"]
    assert reading.declared[0].path == "base.txt"
    reasons = " ".join(note.reason for note in reading.not_read)
    assert "circle" in reasons and "gone.txt" in reasons and "network" in reasons


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    assert names(read(tmp_path, "numpy\r\ntorch\r\n".encode(encoding))) == ["numpy", "torch"]


def test_coding_line_and_code_pages(tmp_path: Path) -> None:
    assert names(read(tmp_path, b"# -*- coding: latin-1 -*-\nnumpy # caf\xe9\n")) == ["numpy"]
    assert names(read(tmp_path, b"numpy # caf\xe9\n")) == ["numpy"]


def test_binary_content_is_named(tmp_path: Path) -> None:
    with pytest.raises(DependencyFileError, match=r"requirements.txt:1: binary"):
        read(tmp_path, b"\x7fELF\0\0\0")


def test_what_pip_refuses_is_reported_with_its_line(tmp_path: Path) -> None:
    reading = read(tmp_path, "numpy\nthis is no requirement\nfoo==\n")
    assert names(reading) == ["numpy"]
    assert [note.line for note in reading.not_read] == [2, 3]


def test_names_from_addresses() -> None:
    assert name_from_url("git+https://github.com/o/Some_Repo.git@abc") == "some-repo"
    assert name_from_url("https://x/y/onnxruntime_gpu-1.17.0-cp310-none-any.whl") == "onnxruntime-gpu"


def test_cuda_tags() -> None:
    assert is_cuda_build("==2.1.0+cu118") and is_cuda_build("torch_scatter-2.1.0%2Bpt112cu113-cp310.whl")
    assert not is_cuda_build("==2.9.0+rocm6.4") and not is_cuda_build("==2.1.0+cpu")
    assert without_cuda_tag("==0.6.18+pt20cu118,<1") == "==0.6.18,<1"


@pytest.mark.parametrize(
    "text", ["", "==1", "a b", "@", "[x]", "; python_version<'3'", "-", "né==1", "a@b@c", "x" * 5000 + " y"]
)
def test_nonsense_never_raises_anything_but_value_error(text: str) -> None:
    try:
        assert isinstance(parse(text, "r.txt", 1), Declared)
    except ValueError as error:
        assert str(error)
