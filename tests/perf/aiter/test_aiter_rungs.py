"""Level 5 against a stand-in with aiter's documented signatures. Not run on AMD."""

from __future__ import annotations

import csv
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.cli.main import main
from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.aiter import installed, tuning
from kernel_pytorch.perf.aiter.tuning import GemmShape
from kernel_pytorch.perf.ladder.rung import Step
from kernel_pytorch.perf.ladder.rungs import aiter, hipblaslt
from kernel_pytorch.perf.ladder.rungs.compile import compiled

_spec = importlib.util.spec_from_file_location("aiter_stand_in", Path(__file__).parent / "stand_in.py")
assert _spec is not None and _spec.loader is not None
stand_in: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stand_in)

HEADER = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName\n"
BF16 = "torch.bfloat16"


def row(m: int, n: int, k: int, gfx: str = "gfx942", library: str = "asm", bias: bool = True) -> str:
    return f"{gfx},304,{m},{n},{k},{bias},{BF16},{BF16},False,False,{library},5,1,7.9,name\n"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """An MI300X with the stand-in on it, as far as the rungs can see."""
    seen: list[Any] = []
    monkeypatch.setattr(aiter, "vendor_of", lambda model: "amd")
    monkeypatch.setattr(aiter, "_served", lambda model: ("gfx942", 304))
    with stand_in.installed(seen):
        yield seen


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "tuned.csv"
    path.write_text(HEADER)
    monkeypatch.setenv(tuning.TABLE_VARIABLE, str(path))
    return path


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 640), nn.GELU(), nn.Linear(640, 64)).bfloat16().eval()


def inputs(rows: int = 32) -> Inputs:
    return Inputs((torch.randn(rows, 64, dtype=torch.bfloat16),))


def test_an_empty_table_is_diagnosed_not_measured(calls: list[Any], table: Path) -> None:
    with pytest.raises(NotApplicable, match=r"no kernel for 2 shapes \(M:32, N:64, K:640, bias.*F\.linear, silently"):
        aiter.AITER_GEMM.find(net(), inputs())
    table.write_text(HEADER + row(32, 640, 64, gfx="gfx950") + row(32, 64, 640, library="torch"))
    with pytest.raises(NotApplicable, match="2 shapes"):  # another GPU's, and one where torch won
        aiter.AITER_GEMM.find(net(), inputs())
    table.write_text(HEADER + row(32, 640, 64))
    assert aiter.AITER_GEMM.find(net(), inputs()).startswith("1 of 2 shapes")


def test_rows_decide_which_gemm_runs(calls: list[Any], table: Path) -> None:
    table.write_text(HEADER + row(32, 640, 64) + row(32, 64, 640))
    model = net()
    few, many = inputs(32), inputs(400)
    tree = aiter.AITER_GEMM.apply(model, few, {"least_rows": 1, "most_rows": 256})
    with torch.no_grad():
        torch.testing.assert_close(few.call(tree), few.call(model))
        assert [one[0] for one in calls] == ["gemm", "gemm"]
        calls.clear()
        torch.testing.assert_close(many.call(tree), many.call(model))
    assert calls == []
    assert list(tree.state_dict()) == list(model.state_dict())
    assert all(a is b for a, b in zip(tree.parameters(), model.parameters(), strict=True))
    assert type(model[0]) is nn.Linear  # type: ignore[index]


def test_ranges_of_rows_are_tried_where_a_call_has_both(calls: list[Any], table: Path) -> None:
    table.write_text(HEADER + row(32, 640, 64) + row(32, 64, 640))
    assert aiter.AITER_GEMM.choices(net(), inputs(), ()) == ({"least_rows": 1, "most_rows": 0},)

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(64, 640).bfloat16()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) + self.inner(x[:32]).sum()

    table.write_text(HEADER + row(32, 640, 64) + row(512, 640, 64))
    ranges = aiter.AITER_GEMM.choices(Both(), inputs(512), ())
    assert [(one["least_rows"], one["most_rows"]) for one in ranges] == [(1, 0), (1, 256), (257, 0)]


def test_shuffled_weights_are_a_marked_copy_and_need_a_permission(calls: list[Any], table: Path) -> None:
    table.write_text(HEADER + row(32, 640, 64) + row(32, 64, 640))
    assert aiter.AITER_PRESHUFFLE.needs == {"freezing"}
    assert "shuffled copies" in aiter.AITER_PRESHUFFLE.find(net(), inputs())
    model, given = net(), inputs()
    (options,) = aiter.AITER_PRESHUFFLE.choices(model, given, ())
    tree = aiter.AITER_PRESHUFFLE.apply(model, given, options)
    with torch.no_grad():
        torch.testing.assert_close(given.call(tree), given.call(model))
    assert [one[2] for one in calls] == [True, True]
    assert list(tree.state_dict()) == list(model.state_dict())
    assert not torch.equal(tree[0].shuffled, model[0].weight)  # type: ignore[index]


def test_the_gemm_compiles_without_a_break(calls: list[Any], table: Path) -> None:
    tree = aiter.AITER_GEMM.apply(net(), inputs(), {})
    given = inputs()
    torch._dynamo.reset()
    with torch.no_grad():
        expected = given.call(tree)
        calls.clear()
        torch.testing.assert_close(given.call(torch.compile(tree, backend="aot_eager", fullgraph=True)), expected)
    assert len(calls) == 2


class Attends(nn.Module):
    def __init__(self, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.q, self.kv = nn.Linear(32, 64), nn.Linear(32, 64)

    def forward(self, x: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        q = self.q(x).view(2, -1, 4, 16).transpose(1, 2)
        k, v = self.kv(memory).view(2, -1, 2, 2, 16).unbind(2)
        k, v = (one.transpose(1, 2)[:, :, None].expand(-1, -1, 2, -1, -1).reshape(2, 4, -1, 16) for one in (k, v))
        return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2)


@pytest.mark.parametrize("causal", [pytest.param(False, marks=pytest.mark.slow), True])
def test_attention_goes_to_aiter_without_repeated_heads(calls: list[Any], causal: bool) -> None:
    torch._dynamo.reset()
    model = Attends(causal).bfloat16().eval()
    given = Inputs(tuple(torch.randn(2, 24, 32, dtype=torch.bfloat16) for _ in range(2)))
    assert "mha_fwd" in aiter.AITER_ATTENTION.find(model, given)
    (options,) = aiter.AITER_ATTENTION.choices(model, given, (Step("compile"),))
    with torch.no_grad():
        found = given.call(compiled(model, options))
        torch.testing.assert_close(found, given.call(model), rtol=2e-2, atol=2e-2)
    assert calls == [("attention", (2, 24, 4, 16), (2, 24, 2, 16), causal)]


def test_a_causal_mask_that_is_not_square_stays_with_torch(calls: list[Any]) -> None:
    torch._dynamo.reset()
    model = Attends(True).bfloat16().eval()
    given = Inputs(tuple(torch.randn(2, length, 32, dtype=torch.bfloat16) for length in (8, 24)))
    with torch.no_grad():
        found = given.call(compiled(model, {"passes": ["aiter attention"]}))
        torch.testing.assert_close(found, given.call(model), rtol=2e-2, atol=2e-2)
    assert calls == []


def test_another_signature_is_refused_by_name() -> None:
    library = torch.library.Library("aiter", "FRAGMENT")
    library.define("gemm_other(Tensor A, Tensor B, int split) -> Tensor")
    try:
        with pytest.raises(installed.AiterMissing, match="other arguments: bias"):
            installed.operator("gemm_other", installed.GEMM_ARGUMENTS)
        with pytest.raises(installed.AiterMissing, match="other arguments: split"):
            installed.operator("gemm_other", ("A", "B"))
        with pytest.raises(installed.AiterMissing, match="no operator absent"):
            installed.operator("absent", ())
    finally:
        library._destroy()


def test_off_amd_nothing_applies() -> None:
    for rung in (*aiter.RUNGS, *hipblaslt.RUNGS):
        with pytest.raises(NotApplicable):
            rung.find(net(), inputs())


def test_hipblaslt_is_preferred_only_during_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    now = ["cublas"]
    said: list[str] = []

    def preferred(library: str | None = None) -> str:
        before = now[0]
        if library is not None:
            now[0] = library
            said.append(library)
        return before if library is None else library

    monkeypatch.setattr(torch.backends.cuda, "preferred_blas_library", preferred)
    monkeypatch.setattr(hipblaslt, "vendor_of", lambda model: "amd")
    monkeypatch.setattr(torch, "compile", lambda module, **arguments: module)
    model, given = net(), inputs()
    assert "hipBLASLt" in hipblaslt.HIPBLASLT.find(model, given)
    (options,) = hipblaslt.HIPBLASLT.choices(model, given, (Step("compile", {"dynamo": {}}),))
    given.call(hipblaslt.HIPBLASLT.wrap(model, given, options))
    assert said == ["hipblaslt", "cublas"]


# -- tables and the command


def test_shapes_are_those_of_one_call() -> None:
    model = net()
    assert tuning.linear_shapes(model, inputs()) == (
        GemmShape(32, 64, 640, True, BF16),
        GemmShape(32, 640, 64, True, BF16),
    )
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not a tuning table"):
        tuning.tuned_shapes([path], "gfx942", 304)
    assert tuning.tuned_shapes([tmp_path / "absent.csv"], "gfx942", 304) == frozenset()


@pytest.mark.parametrize(
    ("shape", "skinny"),
    [
        ((1, 600, 4096), True),
        ((1, 700, 4096), False),
        ((4, 304, 4096), True),
        ((32, 64, 640), False),
        ((1, 8, 7), False),
    ],
)
def test_few_rows_need_no_table(shape: tuple[int, int, int], skinny: bool) -> None:
    assert tuning.is_skinny(GemmShape(*shape, False, BF16), 304) is skinny


TARGET = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(64, 640).bfloat16(), torch.nn.Linear(640, 8)
    def forward(self, x):
        return self.second(self.first(x).float())
def make():
    return Net(), (torch.randn(32, 64, dtype=torch.bfloat16),)
"""


def test_the_command_writes_what_the_tuner_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], table: Path
) -> None:
    target = tmp_path / "aiter_target.py"
    target.write_text(TARGET)
    sources = tmp_path / "sources"
    (sources / tuning.TUNER).parent.mkdir(parents=True)
    (sources / tuning.TUNER).write_text("import pathlib, sys\npathlib.Path(sys.argv[4]).write_text('tuned')\n")
    folder = tmp_path / "out"
    arguments = ["aiter", f"{target}:make", "--out", str(folder), "--arch", "gfx942", "--compute-units", "304"]
    assert main(arguments) == 1
    told = capsys.readouterr()
    assert "missing  M:32, N:640, K:64, bias" in told.out
    assert "not for aiter  M:32, N:8, K:640, bias  torch.float32" in told.out
    assert "gemm_a16w16_tune.py" in told.err and f"export {tuning.TABLE_VARIABLE}=" in told.err
    with (folder / tuning.UNTUNED).open() as file:
        (line,) = csv.DictReader(file)
    assert tuple(line) == tuning.COLUMNS
    assert (line["M"], line["N"], line["K"], line["bias"], line["dtype"]) == ("32", "640", "64", "True", BF16)
    assert main([*arguments, "--run"]) == 2
    assert main([*arguments, "--aiter", str(tmp_path / "nowhere")]) == 2
    assert main([*arguments, "--aiter", str(sources), "--run"]) == 0
    assert (folder / tuning.TUNED).read_text() == "tuned"
    table.write_text(HEADER + row(32, 640, 64))
    assert main(arguments) == 0
    assert main(arguments[:4]) == 2  # no AMD GPU here, and none named
    sys.modules.pop("aiter_target", None)
