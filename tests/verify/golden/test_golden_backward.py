"""The backward pass of golden records: replays agree, and a fault that only gradients show is found in its module."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from kernel_pytorch.cli.main import main  # noqa: E402
from kernel_pytorch.core.entry_point import Subject  # noqa: E402
from kernel_pytorch.verify.golden.archive import GoldenArchive  # noqa: E402
from kernel_pytorch.verify.golden.backward import NoBackward, loss_of, run_backward  # noqa: E402
from kernel_pytorch.verify.golden.check import GoldenCheck, check  # noqa: E402
from kernel_pytorch.verify.golden.record import RecordOptions, record  # noqa: E402

FEW = RecordOptions(repeats=2, modes=("strict",))


class Skewed(torch.autograd.Function):  # type: ignore[misc]
    """Gives its input, and changes the gradient: no forward pass can show it."""

    @staticmethod
    def forward(ctx: Any, x: Any, change: Any) -> Any:
        ctx.change = change
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return ctx.change(gradient), None


def half_of_the_rows(gradient: Any) -> Any:
    gradient = gradient.clone()
    gradient[: gradient.shape[0] // 4] = 0
    return gradient


FAULTS: dict[str, Callable[[Any], Any]] = {
    "scale": lambda gradient: gradient * 1.02,
    "missing": torch.zeros_like,
    "nan": lambda gradient: gradient * float("nan"),
    "part": half_of_the_rows,
}


class Layer(torch.nn.Module):  # type: ignore[misc]
    """A linear map with a place for a fault before it, and one in its weight."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, width) / width**0.5)
        self.bias = torch.nn.Parameter(torch.zeros(width))
        self.in_input: Any = None
        self.in_weight: Any = None

    def forward(self, x: Any) -> Any:
        weight = self.weight if self.in_weight is None else Skewed.apply(self.weight, self.in_weight)
        x = x if self.in_input is None else Skewed.apply(x, self.in_input)
        return torch.nn.functional.linear(x, weight, self.bias)


class Block(torch.nn.Module):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(width), Layer(width), Layer(width)
        self.between: Any = None

    def forward(self, x: Any) -> Any:
        hidden = torch.nn.functional.gelu(self.up(self.norm(x)))
        hidden = hidden if self.between is None else Skewed.apply(hidden, self.between)
        return x + self.down(hidden)


def made(dtype: Any = torch.float32) -> Subject:
    torch.manual_seed(3)
    model = torch.nn.Sequential(*(Block(32) for _ in range(3))).to(dtype)
    return Subject("blocks", model, (torch.randn(16, 32).to(dtype),))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> GoldenArchive:
    folder = tmp_path_factory.mktemp("backward")
    record(made(), folder, FEW)
    return GoldenArchive(folder)


def checked(subject: Subject, archive: GoldenArchive) -> GoldenCheck:
    return check(subject, archive, "strict", use_referee=False)


def test_a_replay_agrees_and_holds_loss_and_gradients(recorded: GoldenArchive) -> None:
    result = checked(made(), recorded)
    assert result.ok and result.backward.loss is not None and result.backward.loss.error == 0.0
    phases = {(one.event.module, one.event.phase) for one in result.backward.free}
    assert {("(model)", "loss"), ("(model)", "gradients of inputs"), ("1.up", "gradients of parameters")} <= phases
    assert ("1.norm", "gradient in 0") in phases and ("1.norm", "gradient out 0") in phases


@pytest.mark.parametrize("fault", sorted(FAULTS))
@pytest.mark.parametrize(
    ("module", "place", "blamed"),
    [("1.up", "in_input", "1.up"), ("2.down", "in_weight", "2.down"), ("1", "between", "1")],
)
def test_a_fault_of_the_backward_pass_alone_is_found(
    recorded: GoldenArchive, fault: str, module: str, place: str, blamed: str
) -> None:
    broken = made()
    setattr(broken.function.get_submodule(module), place, FAULTS[fault])  # type: ignore[attr-defined]
    result = checked(broken, recorded)
    assert result.output is not None and result.output.ok, "the forward pass shows nothing"
    assert not result.ok
    assert [one.module for one in result.culprits] == [blamed]
    assert "backward pass" in result.culprits[0].where
    if fault in ("scale", "nan"):
        assert result.culprits[0].kind == fault


def test_sums_in_another_order_agree(recorded: GoldenArchive) -> None:
    def blocked(module: Any, args: Any, output: Any) -> Any:
        parts = [args[0][..., i : i + 8] @ module.weight[:, i : i + 8].T for i in range(0, 32, 8)]
        return sum(reversed(parts)) + module.bias

    other = made()
    for module in other.function.modules():  # type: ignore[attr-defined]
        if isinstance(module, Layer):
            module.register_forward_hook(blocked)
    result = checked(other, recorded)
    assert result.ok, [(one.module, one.where, one.text) for one in result.culprits]
    assert any(one.error > 0 for one in result.backward.ends)


def test_half_precision_keeps_its_gradients_near_float32s(tmp_path: Path) -> None:
    """The record's gradients are the type's own rounding away from the same weights' in float32."""
    half, exact = made(torch.bfloat16), made(torch.bfloat16).function.float()  # type: ignore[attr-defined]
    record(half, tmp_path, FEW)
    archive = GoldenArchive(tmp_path)
    assert checked(half, archive).ok
    found: dict[str, Any] = {}
    run_backward(exact, Subject("exact", exact, (half.args[0].float(),)), lambda e, g: found.update({e.key: g}), 0)
    known = next(event for event in archive.record.backward["strict"] if event.phase == "gradients of inputs")
    (truth,) = found[known.key]
    error = float((archive.tensor(known.tensors[0]).float() - truth).norm() / truth.norm())
    assert 1e-4 < error < 3e-2


def test_a_record_of_the_first_schema_is_still_read(tmp_path: Path, recorded: GoldenArchive) -> None:
    record(made(), tmp_path, FEW)
    path = tmp_path / "record.json"
    plain = json.loads(path.read_text())
    assert plain["schema"] == 2
    del plain["backward"], plain["backward_note"]
    path.write_text(json.dumps({**plain, "schema": 1}))
    result = checked(made(), GoldenArchive(tmp_path))
    assert result.ok and not result.backward.free and result.backward.loss is None


def test_a_model_without_a_backward_pass_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rounds = Subject("rounds", lambda x: (x > 0).long(), (torch.randn(8),))
    made_record = record(rounds, tmp_path, FEW)
    assert not made_record.backward and "no output of the model has a gradient" in made_record.backward_note
    assert checked(rounds, GoldenArchive(tmp_path)).ok
    assert main(["golden", "show", str(tmp_path)]) == 0
    with pytest.raises(NoBackward):
        run_backward(torch.nn.Identity(), Subject("i", lambda x: x, (torch.arange(3),)), lambda e, g: None, None)


def test_a_backward_pass_that_is_gone_is_a_difference(recorded: GoldenArchive) -> None:
    broken = made()
    broken.function[1].register_forward_hook(lambda module, args, output: output.detach())  # type: ignore[index]
    broken.function[2].requires_grad_(False)  # type: ignore[index]
    result = checked(broken, recorded)
    assert not result.ok and result.culprits[0].kind == "missing"


def test_the_loss_is_the_models_own_where_it_has_one() -> None:
    x = torch.ones(3, requires_grad=True)
    assert loss_of({"loss": (x * 2).sum(), "logits": x}).item() == 6.0
    assert loss_of((x * 2).sum()).item() == 6.0
    weighted = loss_of((x, torch.tensor([1, 2])))
    (gradient,) = torch.autograd.grad(weighted, x)
    assert len(set(gradient.tolist())) == 3, "no two elements count the same"


def test_the_verb_leaves_it_out_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{Path(__file__).with_name('golden_examples.py')}:conv_net"
    words = ["golden", "record", target, "--out", str(tmp_path), "--repeats", "1", "--mode", "strict"]
    assert main([*words, "--forward-only"]) == 0
    assert not GoldenArchive(tmp_path).record.backward
    assert main(words) == 0 and "gradients strict" in capsys.readouterr().err
    main(["golden", "record", "--help"])
    assert "gradients of parameters" in " ".join(capsys.readouterr().out.split())
