"""Golden vectors: a record equals its own replay, and every seeded fault is found in the right module."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from kernel_pytorch.cli.main import main  # noqa: E402
from kernel_pytorch.core.entry_point import Subject  # noqa: E402
from kernel_pytorch.core.errors import UsageError  # noqa: E402
from kernel_pytorch.verify.golden.archive import GoldenArchive  # noqa: E402
from kernel_pytorch.verify.golden.check import GoldenCheck, check  # noqa: E402
from kernel_pytorch.verify.golden.record import RecordOptions, record  # noqa: E402
from tests.verify.golden import golden_examples as models  # noqa: E402

FEW = RecordOptions(repeats=2)


def subject(make: Any) -> Subject:
    model, inputs = make()
    return Subject(make.__name__, model, inputs)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, GoldenArchive]:
    folders = {}
    for make in (models.decoder, models.conv_net, models.half_decoder):
        folder = tmp_path_factory.mktemp(make.__name__)
        record(subject(make), folder, FEW)
        folders[make.__name__] = GoldenArchive(folder)
    return folders


@pytest.mark.parametrize("name", ["decoder", "conv_net", "half_decoder"])
@pytest.mark.parametrize("mode", ["strict", "production"])
def test_a_replay_on_the_same_machine_is_the_same(recorded: dict[str, GoldenArchive], name: str, mode: str) -> None:
    result = check(subject(getattr(models, name)), recorded[name], mode)
    assert result.ok, result.culprits
    assert result.output is not None and result.output.error == 0.0
    assert {one.event.module for one in result.free} >= {"(model)"}


@pytest.mark.parametrize("fault", sorted(models.FAULTS))
def test_a_seeded_fault_is_found_in_its_module(recorded: dict[str, GoldenArchive], fault: str) -> None:
    make, module, kinds = models.FAULTS[fault]
    broken = subject(make)
    models.set_fault(broken.function, module if module != "(model)" else "", fault)
    result = check(broken, recorded[make.__name__], "strict")
    assert not result.ok
    assert [one.module for one in result.culprits] == [module], fault
    assert result.culprits[0].kind in kinds
    assert "the codes differ" in result.culprits[0].side


def test_a_weight_that_changed_is_named(recorded: dict[str, GoldenArchive]) -> None:
    broken = subject(models.decoder)
    with torch.no_grad():
        broken.function.blocks[1].up.weight[3, 4] += 1e-3
    with pytest.raises(UsageError, match=r"blocks\.1\.up\.weight: this weight is not the recorded one"):
        check(broken, recorded["decoder"], "strict")


def test_a_machine_that_computes_wrongly_is_the_side_that_is_off(
    recorded: dict[str, GoldenArchive], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = torch.nn.functional.layer_norm

    def coarse(x: Any, *args: Any) -> Any:
        out = right(x, *args)
        return out if x.dtype is torch.float64 else (out * 1.01)

    monkeypatch.setattr(torch.nn.functional, "layer_norm", coarse)
    result = check(subject(models.decoder), recorded["decoder"], "strict")
    assert {one.module for one in result.culprits} >= {"blocks.0.norm1", "norm"}
    assert all(one.kind == "scale" and "1.01" in one.text for one in result.culprits)
    assert all(one.side.startswith("this machine is off") for one in result.culprits)


def test_rounding_in_another_order_is_within_the_limits(recorded: dict[str, GoldenArchive]) -> None:
    """The same weights summed in blocks, as another vendor's GEMM would, must not be called a fault."""

    def blocked(module: Any, args: Any, output: Any) -> Any:
        x, weight = args[0], module.weight
        parts = [x[..., i : i + 16] @ weight[:, i : i + 16].T for i in range(0, weight.shape[1], 16)]
        return sum(reversed(parts)) + module.bias

    other = subject(models.decoder)
    for module in other.function.modules():
        if isinstance(module, torch.nn.Linear):
            module.register_forward_hook(blocked)
    result = check(other, recorded["decoder"], "strict")
    assert result.ok, [(one.module, one.text) for one in result.culprits]
    assert result.output is not None and 0 < result.output.error < result.output.limit


def test_modules_that_work_in_place_leave_the_record_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    model = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU(inplace=True), torch.nn.Linear(16, 4))
    one = Subject("in place", model, (torch.randn(3, 16),))
    record(one, tmp_path, FEW)
    archive = GoldenArchive(tmp_path)
    for mode in ("strict", "production", "strict"):
        assert check(one, archive, mode, use_referee=False).ok


def test_weights_can_travel_with_the_record(tmp_path: Path) -> None:
    record(subject(models.decoder), tmp_path, RecordOptions(repeats=1, modes=("strict",), save_weights=True))
    torch.manual_seed(99)
    other = Subject("other", models.Decoder().eval(), (torch.zeros(2, 48, dtype=torch.long),))
    result: GoldenCheck = check(other, GoldenArchive(tmp_path), "strict")
    assert result.ok


def test_large_tensors_are_sampled_and_still_compared(tmp_path: Path) -> None:
    options = RecordOptions(repeats=1, modes=("strict",), max_tensor_mb=0.01)
    made = record(subject(models.decoder), tmp_path, options)
    assert any(not ref.whole for event in made.events["strict"] for ref in event.tensors)
    assert check(subject(models.decoder), GoldenArchive(tmp_path), "strict").ok
    broken = subject(models.decoder)
    models.set_fault(broken.function, "blocks.1", "constant")
    assert not check(broken, GoldenArchive(tmp_path), "strict").ok


def test_what_does_not_fit_is_said(tmp_path: Path) -> None:
    made = record(subject(models.decoder), tmp_path, RecordOptions(repeats=1, modes=("strict",), max_mb=0.2))
    assert made.dropped
    with pytest.raises(UsageError, match="raise --max-mb"):
        record(subject(models.conv_net), tmp_path, RecordOptions(repeats=1, max_mb=0.001))


def test_float8_and_complex_survive(tmp_path: Path) -> None:
    def make() -> tuple[Any, tuple[Any, ...]]:
        return (lambda x: (x.to(torch.float8_e4m3fnuz), torch.fft.fft(x))), (torch.linspace(-3, 3, 64),)

    one = Subject("f8", *make())
    record(one, tmp_path, RecordOptions(repeats=2, modes=("strict",)))
    assert check(one, GoldenArchive(tmp_path), "strict").ok


def test_other_vendors_float8_is_compared_by_value(tmp_path: Path) -> None:
    x = (torch.linspace(-3, 3, 64),)
    record(Subject("f8", lambda t: t.to(torch.float8_e4m3fn), x), tmp_path, RecordOptions(repeats=1, modes=("strict",)))
    assert check(Subject("f8", lambda t: t.to(torch.float8_e4m3fnuz), x), GoldenArchive(tmp_path), "strict").ok
    wrong = Subject("f8", lambda t: t.to(torch.float8_e4m3fn).view(torch.float8_e4m3fnuz), x)
    result = check(wrong, GoldenArchive(tmp_path), "strict")
    assert [one.kind for one in result.culprits] == ["scale"]
    assert "0.5 x reference" in result.culprits[0].text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    record(subject(models.conv_net), tmp_path / "golden", RecordOptions(repeats=1, modes=("strict",)))
    return tmp_path / "golden"


def _edited(folder: Path, **changes: Any) -> None:
    path = folder / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _first_event(folder: Path, **changes: Any) -> None:
    plain = json.loads((folder / "record.json").read_text())
    plain["events"]["strict"][0]["tensors"][0].update(changes)
    (folder / "record.json").write_text(json.dumps(plain))


HOSTILE = {
    "no folder": lambda f: [p.unlink() for p in f.iterdir()],
    "not JSON": lambda f: (f / "record.json").write_text("{"),
    "a list": lambda f: (f / "record.json").write_text("[]"),
    "another schema": lambda f: _edited(f, schema=99),
    "events of the wrong type": lambda f: _edited(f, events=[1, 2]),
    "deeply nested": lambda f: (f / "record.json").write_text("[" * 200_000),
    "a path as tensor name": lambda f: _first_event(f, id="../../etc/passwd"),
    "a tensor that is not there": lambda f: _first_event(f, id="0" * 32),
    "a shape that is not the tensor's": lambda f: _first_event(f, shape=[1 << 40, 1 << 20]),
    "a negative shape": lambda f: _first_event(f, shape=[-1]),
    "a stride of zero": lambda f: _first_event(f, stride=0),
    "tensors cut off": lambda f: (f / "tensors.safetensors").write_bytes((f / "tensors.safetensors").read_bytes()[:40]),
    "tensors with a huge header": lambda f: (f / "tensors.safetensors").write_bytes(b"\xff" * 64),
    "tensors that are a pickle": lambda f: torch.save({"a": torch.ones(1)}, f / "tensors.safetensors"),
}


@pytest.mark.parametrize("case", sorted(HOSTILE))
def test_hostile_records_are_refused(folder: Path, case: str) -> None:
    HOSTILE[case](folder)
    with pytest.raises(UsageError) as refused:
        GoldenArchive(folder)
    assert str(folder) in str(refused.value)


def test_links_are_refused(folder: Path, tmp_path: Path) -> None:
    (folder / "tensors.safetensors").rename(tmp_path / "elsewhere")
    (folder / "tensors.safetensors").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="not a plain file"):
        GoldenArchive(folder)


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{Path(models.__file__)}:decoder"
    golden, plot = str(tmp_path / "golden"), tmp_path / "error.svg"
    assert main(["golden", "record", target, "--out", golden, "--repeats", "2"]) == 0
    assert main(["golden", "show", golden]) == 0
    assert "strict" in capsys.readouterr().out
    assert main(["golden", "check", target, golden, "--plot", str(plot)]) == 0
    assert capsys.readouterr().out.count("same") == 2
    assert plot.read_text().startswith("<svg") and "blocks.1.attention" in plot.read_text()
    broken = tmp_path / "broken.py"
    broken.write_text(
        f"import sys; sys.path.insert(0, {str(Path(models.__file__).parent)!r})\nimport golden_examples as models\n"
        "def make():\n    model, inputs = models.decoder()\n"
        "    models.set_fault(model, 'blocks.1.attention', 'swapped-heads')\n    return model, inputs\n"
    )
    assert main(["golden", "check", f"{broken}:make", golden, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found[0]["culprits"][0]["module"] == "blocks.1.attention"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["record", "nowhere", "--out", "x"], "names no function"),
        (["record", "no_such_module_here:f", "--out", "x"], "no module 'no_such_module_here'"),
        (["record", f"{Path(models.__file__)}:nothing", "--out", "x"], "it defines these:"),
        (["record", f"{Path(models.__file__)}:no_tensor", "--out", "x"], "holds no tensor"),
        (["record", f"{Path(models.__file__)}:raises", "--out", "x"], "golden_examples.py:"),
        (["check", f"{Path(models.__file__)}:decoder", "nowhere"], "golden record"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["golden", *arguments]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_without_torch_there_is_one_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["bench", f"{Path(models.__file__)}:no_tensor"]) == 2
    assert "torch is not installed" in capsys.readouterr().err


def test_the_page_names_what_differs(
    recorded: dict[str, GoldenArchive], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{Path(models.__file__)}:decoder"
    page = tmp_path / "check.html"
    assert (
        main(["golden", "check", target, str(recorded["decoder"].folder), "--mode", "strict", "--html", str(page)]) == 0
    )
    text = page.read_text(encoding="utf-8")
    assert "golden check" in text and "<svg" in text and ">same<" in text
    capsys.readouterr()
