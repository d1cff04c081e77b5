"""Two kernel records compared: names across vendors, types of buffers, how a buffer is wrong, hostile records."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from kernel_pytorch.core.errors import UsageError  # noqa: E402
from kernel_pytorch.verify.kernels.align import align  # noqa: E402
from kernel_pytorch.verify.kernels.contents import plausible_types  # noqa: E402
from kernel_pytorch.verify.kernels.names import base_key, element_type, full_key, parameter_types  # noqa: E402
from kernel_pytorch.verify.kernels.record import (  # noqa: E402
    BufferState,
    KernelArchive,
    KernelRecord,
    LaunchRecord,
    PointerArgument,
    is_kernel_record,
    write_kernel_record,
)
from kernel_pytorch.verify.kernels.record_comparison import BufferResult, compare_records  # noqa: E402

FLOATS = "_Z1fPfPKfi"  # f(float*, float const*, int)


def made(
    folder: Path,
    outputs: Sequence[bytes],
    symbol: str = FLOATS,
    before: bytes | None = None,
    base: int = 4096,
    noise: float = 0.0,
) -> KernelArchive:
    """A record whose launches each write one buffer."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}

    def keep(content: bytes) -> str:
        name = hashlib.sha256(content).hexdigest()[:32]
        files[name] = folder / f"{name}.bin"
        files[name].write_bytes(content)
        return name

    launches = []
    for number, content in enumerate(outputs):
        old = before if before is not None else bytes(len(content))
        state = BufferState("#1", len(content), len(content), base, keep(old), keep(content), True, True, noise)
        pointer = PointerArgument(0, 0, "#1", 0)
        grid, block = (4, 1, 1), (64, 1, 1)
        launches.append(LaunchRecord(number, symbol, grid, block, 0, False, (pointer,), (state,), 0, True))
    record = KernelRecord("program", (), {"device_name": "test"}, tuple(launches), len(launches), 0)
    write_kernel_record(folder, record, files)
    return KernelArchive(folder)


def floats(values: Any) -> bytes:
    return bytes(torch.as_tensor(values, dtype=torch.float32).numpy().tobytes())


def only_output(reference: KernelArchive, here: KernelArchive) -> BufferResult:
    (launch,) = compare_records(reference, here).launches
    (buffer,) = (one for one in launch.buffers if one.when == "after")
    return buffer


X = torch.linspace(-3, 5, 256) ** 3


def _lanes_off(x: Any) -> Any:
    x = x.clone().reshape(-1, 64)
    x[:, 32:] += 1
    return x


FAULTS: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "scale": (lambda x: 2 * x, "scale", "here = 2 x reference"),
    "constant": (lambda x: x + 3, "bias", "reference + 3"),
    "nan": (lambda x: torch.where(torch.arange(256) == 7, torch.nan, x), "nan", "1 NaN"),
    "lanes": (_lanes_off, "lanes", "lanes 32 to 63 of every 64"),
    "transposed": (lambda x: x.reshape(16, 16).T, "transposed", "16 x 16"),
    "wide transposed": (lambda x: x.reshape(4, 64).T, "transposed", "4 x 64"),
    "not written": (lambda x: torch.zeros(256), "stale", "elements still hold"),
    "half of the lanes not written": (lambda x: x * (torch.arange(256) % 64 < 32), "stale lanes", "of every 64"),
    "one element": (lambda x: x + (torch.arange(256) == 100) * 5, "part", "the first at 100"),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_how_a_buffer_is_wrong(fault: str, tmp_path: Path) -> None:
    change, kind, said = FAULTS[fault]
    wrong = only_output(made(tmp_path / "a", [floats(X)]), made(tmp_path / "b", [floats(change(X))]))
    assert not wrong.ok and wrong.kind == kind and said in wrong.text, wrong
    assert wrong.dtype == "float32" and wrong.assumed == "the kernel's signature"
    assert wrong.equal < wrong.elements == 256


def test_rounding_is_not_a_difference_and_is_counted(tmp_path: Path) -> None:
    rounded = torch.where(torch.arange(256) % 2 == 0, X, torch.nextafter(X, X + 1))
    result = only_output(made(tmp_path / "a", [floats(X)]), made(tmp_path / "b", [floats(rounded)]))
    assert result.ok and result.equal == 128 and 0 < result.error < result.limit


@pytest.mark.parametrize(
    ("dtype", "values", "other"),
    [
        ("float32", X, X * (1 + 1e-7)),
        ("float64", X.double() / 3, X.double() / 3 * (1 + 1e-15)),
        ("float16", X.half(), X.half() * (1 + 2.0**-10)),
        ("int32", torch.arange(256) % 50, None),
    ],
)
def test_a_type_that_no_signature_tells_is_found_by_trying(dtype: str, values: Any, other: Any, tmp_path: Path) -> None:
    kind = getattr(torch, dtype)
    first = values.to(kind).numpy().tobytes()
    second = (values if other is None else other).to(kind).numpy().tobytes()
    if other is None:
        second = struct.pack("<i", 7) + second[4:]
    result = only_output(made(tmp_path / "a", [first], "f"), made(tmp_path / "b", [second], "f"))
    assert (result.dtype, result.assumed) == (dtype, "its values")
    assert result.ok == (other is not None)


def test_unlikely_types_are_not_tried() -> None:
    assert plausible_types(floats(X))[0] == "float32" and "float16" not in plausible_types(floats(X / 3))
    assert plausible_types(bytes(range(1, 255)))[-1] == "uint8"
    assert plausible_types(b"abc") == ("uint8",) or "float16" in plausible_types(b"abc")


def test_what_varies_from_run_to_run_is_allowed_to(tmp_path: Path) -> None:
    worse = made(tmp_path / "b", [floats(X * 1.001)])
    assert not compare_records(made(tmp_path / "a", [floats(X)]), worse).ok
    assert compare_records(made(tmp_path / "c", [floats(X)], noise=1e-3), worse).ok
    numbers = [torch.arange(64).int().numpy().tobytes(), torch.arange(64).flip(0).int().numpy().tobytes()]
    result = compare_records(
        made(tmp_path / "d", numbers[:1], "_Z1fPi", noise=1.0), made(tmp_path / "e", numbers[1:], "_Z1fPi")
    )
    assert result.ok and "not judged" in result.launches[0].buffers[-1].text


def test_tables_of_addresses_name_the_same_buffers(tmp_path: Path) -> None:
    def table(base: int, at: int) -> bytes:
        return struct.pack("<3Q", base + at, 0, base + 16)

    first = made(tmp_path / "a", [table(0x7F0000000000, 8)], "f", base=0x7F0000000000)
    assert compare_records(first, made(tmp_path / "b", [table(0x550000001000, 8)], "f", base=0x550000001000)).ok
    assert not compare_records(first, made(tmp_path / "c", [table(0x550000001000, 0)], "f", base=0x550000001000)).ok


def test_other_vendors_float8_is_compared_by_value(tmp_path: Path) -> None:
    values = torch.linspace(-3, 3, 64)

    def stored(kind: Any) -> bytes:
        return bytes(values.to(kind).view(torch.uint8).numpy().tobytes())

    nvidia = made(tmp_path / "a", [stored(torch.float8_e4m3fn)], "_Z1fP13__nv_fp8_e4m3")
    port = "_Z1fP19__hip_fp8_e4m3_fnuz"
    right = only_output(nvidia, made(tmp_path / "b", [stored(torch.float8_e4m3fnuz)], port))
    assert right.ok and right.equal == 64
    wrong = only_output(nvidia, made(tmp_path / "c", [stored(torch.float8_e4m3fn)], port))
    assert not wrong.ok and wrong.kind == "scale"


def test_names_across_vendors() -> None:
    assert full_key("_Z3addI6__halfLi256EEvPT_") == full_key("_Z3addIDF16_Lj256EEvPT_")
    assert full_key("cuda_sum") == full_key("hip_sum") != full_key("cuda_sum2")
    assert full_key("_Z9cudaScalePf") == full_key("_Z8hipScalePf")
    assert base_key("_ZN2ns5scaleIfLi4EEEvPT_") == base_key("_Z5scaleIdEvPT_") == "scale"
    assert parameter_types("_Z1fPfPKdi4dim3") == ("float*", "double const*", "int", "dim3")
    assert parameter_types("plain_c") == ()
    types = ["float*", "double const*", "float4*", "__half2 const*", "unsigned int*", "void*", "State*", "float"]
    assert [element_type(one) for one in types] == [
        "float32", "float64", "float32", "float16", "int32", None, None, None,
    ]  # fmt: skip


def launch(symbol: str, captured: bool = False) -> LaunchRecord:
    return LaunchRecord(0, symbol, (1, 1, 1), (1, 1, 1), 0, captured, ())


def test_launches_are_aligned_by_name_then_by_place() -> None:
    left = [launch("a"), launch("b"), launch("c"), launch("a")]
    right = [launch("a"), launch("extra"), launch("b"), launch("renamed"), launch("a"), launch("late", True)]
    pairs = align(left, right)
    assert [(one.reference and one.reference.symbol, one.here and one.here.symbol, one.by) for one in pairs] == [
        ("a", "a", "name"), (None, "extra", ""), ("b", "b", "name"), ("c", "renamed", "place"), ("a", "a", "name"),
    ]  # fmt: skip


def test_a_kernel_that_is_missing_is_a_difference(tmp_path: Path) -> None:
    result = compare_records(made(tmp_path / "a", [floats(X), floats(X)]), made(tmp_path / "b", [floats(X)]))
    assert [one.status for one in result.launches] == ["same", "missing"] and not result.ok


def _edited(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    plain = json.loads((folder / "record.json").read_text())
    change(plain)
    (folder / "record.json").write_text(json.dumps(plain))


def _state(folder: Path, **changes: Any) -> None:
    _edited(folder, lambda plain: plain["launches"][0]["buffers"][0].update(changes))


def _header(folder: Path, header: Any) -> None:
    text = json.dumps(header).encode()
    (folder / "tensors.safetensors").write_bytes(len(text).to_bytes(8, "little") + text)


HOSTILE: dict[str, Callable[[Path], object]] = {
    "nothing there": lambda f: (f / "record.json").unlink(),
    "not JSON": lambda f: (f / "record.json").write_text("{"),
    "deeply nested": lambda f: (f / "record.json").write_text("[" * 200_000),
    "a record of a model": lambda f: _edited(f, lambda plain: plain.pop("kind")),
    "another schema": lambda f: _edited(f, lambda plain: plain.update(schema=9)),
    "an unknown field": lambda f: _edited(f, lambda plain: plain.update(run="rm")),
    "launches of the wrong type": lambda f: _edited(f, lambda plain: plain.update(launches=[3])),
    "a grid of one size": lambda f: _edited(f, lambda plain: plain["launches"][0].update(grid=[1])),
    "a path as content": lambda f: _state(f, after="../../../etc/passwd"),
    "a content that is not there": lambda f: _state(f, after="0" * 32),
    "more bytes than there are": lambda f: _state(f, kept=1 << 60, bytes=1 << 60),
    "negative bytes": lambda f: _state(f, bytes=-1),
    "a header that lies": lambda f: (f / "tensors.safetensors").write_bytes(b"\xff" * 32),
    "a header that is a list": lambda f: _header(f, []),
    "contents outside the file": lambda f: _header(f, {"a": {"dtype": "U8", "shape": [9], "data_offsets": [0, 9]}}),
    "contents that end before they start": lambda f: _header(
        f, {"a": {"dtype": "U8", "shape": [-1], "data_offsets": [1, 0]}}
    ),
    "contents of floats": lambda f: _header(f, {"a": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}}),
    "tensors cut off": lambda f: (f / "tensors.safetensors").write_bytes(b"\0" * 5),
}


@pytest.mark.parametrize("case", sorted(HOSTILE))
def test_hostile_records_are_refused(case: str, tmp_path: Path) -> None:
    made(tmp_path, [floats(X)])
    HOSTILE[case](tmp_path)
    with pytest.raises(UsageError) as refused:
        KernelArchive(tmp_path)
    assert str(tmp_path) in str(refused.value)


def test_links_are_refused(tmp_path: Path) -> None:
    made(tmp_path / "golden", [floats(X)])
    (tmp_path / "golden/record.json").rename(tmp_path / "elsewhere")
    (tmp_path / "golden/record.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="not a plain file"):
        is_kernel_record(tmp_path / "golden")


def test_the_tensor_file_is_safetensors(tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    archive = made(tmp_path, [floats(X)])
    read = safetensors.load_file(tmp_path / "tensors.safetensors")
    name = archive.record.launches[0].buffers[0].after
    assert bytes(read[name].numpy().tobytes()) == archive.content(name) == floats(X)
