"""The optimizer as a whole: levels, proofs, undoing, and a summary that says what happened."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.backends.amd import AMDBackend, AMDOptimizer
from kernel_pytorch.backends.amd.rewrites import ALL_REWRITES, Change, Job, Rewrite
from kernel_pytorch.core.config import AMDArchitecture, AMDConfig
from kernel_pytorch.core.errors import AMDOptimizationError
from kernel_pytorch.models import in_place
from kernel_pytorch.models.clock.in_turns import Comparison
from kernel_pytorch.models.fx.forwards import RewrittenForward
from kernel_pytorch.models.fx.trace import TracedForward
from kernel_pytorch.models.inputs import Inputs

from .models import (
    Attention,
    ConvNet,
    DataDependent,
    GatedMLP,
    Remembering,
    TiedTransformer,
)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


def names(summary: dict[str, Any], key: str = "optimizations_applied") -> list[str]:
    return [item["name"] for item in summary[key]]


def optimized(model: nn.Module, example: Any, level: str = "balanced", **options: Any) -> tuple[Any, dict[str, Any]]:
    optimizer = AMDOptimizer()
    result = optimizer.optimize(model, level, example, **options)
    assert result is model
    return result, optimizer.get_optimization_summary()


def outputs(model: nn.Module, example: Any) -> torch.Tensor:
    with torch.no_grad():
        return model(example)


CASES = [
    (ConvNet, torch.randn(2, 3, 8, 8)),
    (lambda: Attention(style="buffer"), torch.randn(2, 5, 16)),
    (GatedMLP, torch.randn(2, 5, 16)),
    (TiedTransformer, torch.randint(32, (2, 6))),
]


@pytest.mark.parametrize(("make", "example"), CASES)
@pytest.mark.parametrize("level", ["conservative", "balanced", "aggressive"])
def test_every_level_agrees_with_fp64(make: Any, example: torch.Tensor, level: str) -> None:
    model = make().eval()
    exact = copy.deepcopy(model).double()
    expected = outputs(exact, example.double() if example.is_floating_point() else example)
    model, _ = optimized(model, example, level)
    torch.testing.assert_close(outputs(model, example).double(), expected, rtol=1e-5, atol=1e-5)


def test_conservative_changes_no_bit_and_fuses_nothing() -> None:
    model, example = ConvNet().eval(), torch.randn(2, 3, 8, 8)
    expected = outputs(model, example)
    model, summary = optimized(model, example, "conservative")
    assert names(summary) == ["dropout removal"] and summary["fused_operations"] == []
    assert torch.equal(outputs(model, example), expected)


def test_the_summary_says_what_where_and_to_what_effect() -> None:
    _, summary = optimized(TiedTransformer(0.1).eval(), torch.randint(32, (2, 6)))
    assert names(summary) == ["dropout removal", "projection fusion", "attention"]
    attention = summary["optimizations_applied"][2]
    assert attention["where"] == ["blocks.0.attention", "blocks.1.attention"]
    assert attention["effect_is"] == "expected" and attention["effect"] and attention["checked"] is True
    assert 0 <= attention["largest_difference"] < 1e-4
    assert "attention: blocks.0.attention" in summary["fused_operations"]
    assert summary["checked_with"] == "the given example_inputs" and summary["optimizations_undone"] == []


def test_summary_fields_follow_the_configuration() -> None:
    config = AMDConfig(architecture=AMDArchitecture.CDNA3, enable_operator_fusion=False, enable_matrix_cores=False)
    optimizer = AMDOptimizer(config)
    assert optimizer.get_optimization_summary()["optimizations_applied"] == []
    optimizer.optimize(GatedMLP().eval(), example_inputs=torch.randn(2, 16))
    summary = optimizer.get_optimization_summary()
    assert summary["architecture"] == "cdna3" and summary["optimization_level"] == "aggressive"
    assert summary["matrix_cores_enabled"] is False and summary["mixed_precision"] is False
    assert summary["operator_fusion"] is False and summary["fused_operations"] == []
    assert names(summary) == []
    reasons = {item["name"]: item["reason"] for item in summary["optimizations_not_applied"]}
    assert reasons["projection fusion"] == "enable_operator_fusion is False"


def test_what_cannot_be_applied_here_is_not_listed_as_applied() -> None:
    _, summary = optimized(TiedTransformer().eval(), torch.randint(32, (2, 6)), "aggressive")
    reasons = {item["name"]: item["reason"] for item in summary["optimizations_not_applied"]}
    assert "GPU" in reasons["fused RMS norm"] and "GPU" in reasons["gated activation"] and "GPU" in reasons["compile"]
    assert not set(reasons) & set(names(summary))


def negate(traced: TracedForward) -> list[Change]:
    """A wrong rewrite: the module's result with its sign turned."""
    output = next(iter(reversed(traced.graph.nodes)))
    with traced.graph.inserting_before(output):
        wrong = traced.graph.call_function(torch.neg, (output.args[0],))
    output.replace_input_with(output.args[0], wrong)
    return [Change(traced.where or "the model", "sign turned")]


def scale_weights(model: nn.Module, job: Job) -> list[Change]:
    weight = next(model.parameters())
    before = weight.data
    weight.data = before * 1.01

    def undo() -> None:
        weight.data = before

    return [Change("the first weight", "scaled", undo)]


def crash(traced: TracedForward) -> list[Change]:
    raise ZeroDivisionError("a bug in a rewrite")


BROKEN = [
    Rewrite("broken forward", "conservative", "none", edit=negate),
    Rewrite("broken weights", "conservative", "none", apply=scale_weights),
    Rewrite("crashing", "conservative", "none", edit=crash),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda item: item.name)
@pytest.mark.parametrize("training", [False, True])
def test_a_wrong_rewrite_is_undone_and_the_right_ones_stay(broken: Rewrite, training: bool) -> None:
    model, example = TiedTransformer().train(training), torch.randint(32, (2, 6))
    expected = outputs(model, example)
    optimizer = AMDOptimizer(rewrites=[*ALL_REWRITES[:4], broken])
    optimizer.optimize(model, "balanced", example)
    summary = optimizer.get_optimization_summary()
    assert names(summary, "optimizations_undone") == [broken.name]
    assert names(summary) == [*([] if training else ["dropout removal"]), "projection fusion", "attention"]
    reason = summary["optimizations_undone"][0]["reason"]
    assert "differs by" in reason or "ZeroDivisionError: a bug in a rewrite" in reason
    torch.testing.assert_close(outputs(model, example), expected)


def test_a_wrong_rewrite_alone_leaves_nothing_on_the_model() -> None:
    model, example = Attention().eval(), torch.randn(2, 5, 16)
    expected, state = outputs(model, example), {name: dict(item.__dict__) for name, item in model.named_modules()}
    AMDOptimizer(rewrites=BROKEN).optimize(model, "balanced", example)
    assert torch.equal(outputs(model, example), expected)
    assert {name: set(item.__dict__) for name, item in model.named_modules()} == {
        name: set(table) for name, table in state.items()
    }


def test_a_rewrite_that_is_called_exact_must_be_exact() -> None:
    def nudge(traced: TracedForward) -> list[Change]:
        output = next(iter(reversed(traced.graph.nodes)))
        with traced.graph.inserting_before(output):
            near = traced.graph.call_function(torch.mul, (output.args[0], 1 + 1e-6))
        output.replace_input_with(output.args[0], near)
        return [Change(traced.where, "nudged")]

    for exact, kept in ((True, []), (False, ["nudge"])):
        optimizer = AMDOptimizer(rewrites=[Rewrite("nudge", "conservative", "none", edit=nudge, is_exact=exact)])
        optimizer.optimize(GatedMLP().eval(), "conservative", torch.randn(2, 16))
        assert names(optimizer.get_optimization_summary()) == kept


def test_a_model_that_cannot_be_traced_is_unharmed_and_its_blocks_are_still_rewritten() -> None:
    model, low, high = DataDependent().eval(), torch.randn(2, 5, 16) - 5, torch.randn(2, 5, 16) + 5
    expected = outputs(model, low), outputs(model, high)
    model, summary = optimized(model, low)
    assert "attention" in names(summary)
    reasons = [item for item in summary["optimizations_not_applied"] if item["name"] == "tracing"]
    assert len(reasons) == 1 and "control flow" in reasons[0]["reason"] and reasons[0]["where"] == "the model"
    torch.testing.assert_close(outputs(model, low), expected[0])
    assert torch.equal(outputs(model, high), expected[1])  # the branch that the example did not take


def test_a_forward_that_keeps_state_is_left_alone() -> None:
    model, example = Remembering().eval(), torch.randn(2, 16)
    model, summary = optimized(model, example)
    # Joined layers are no matter of the forward, which stays the model's own.
    assert names(summary) == ["projection fusion"] and "forward" not in model.__dict__
    assert "'last'" in summary["optimizations_not_applied"][0]["reason"]
    assert model.last is None  # neither the trace nor the checks left theirs
    outputs(model, example)
    assert isinstance(model.last, torch.Tensor)


def test_a_forward_that_writes_into_its_input_is_left_alone() -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.mul_(2.0)
            return self.left(x) + self.right(x)

    model, example = InPlace().eval(), torch.ones(2, 4)
    model, summary = optimized(model, example)
    assert names(summary) == ["projection fusion"] and "forward" not in model.__dict__
    assert torch.equal(example, torch.ones(2, 4))
    assert any("writes into its inputs" in item["reason"] for item in summary["optimizations_not_applied"])
    outputs(model, example)
    assert torch.equal(example, torch.full((2, 4), 2.0))


@pytest.mark.parametrize("training", [False, True])
def test_random_state_buffers_modes_and_gradients_are_left_as_they_were(training: bool) -> None:
    model, example = ConvNet().train(training), torch.randn(4, 3, 8, 8)
    model.dropout.train()  # not the mode of its parent
    buffers = {name: item.clone() for name, item in model.named_buffers()}
    modes = {name: item.training for name, item in model.named_modules()}
    state, given = torch.get_rng_state(), example.clone()
    optimized(model, example, "aggressive")
    assert torch.equal(torch.get_rng_state(), state) and torch.equal(example, given)
    assert all(torch.equal(item, buffers[name]) for name, item in model.named_buffers())
    assert {name: item.training for name, item in model.named_modules()} == modes
    assert all(item.grad is None for item in model.parameters())


@pytest.mark.parametrize(("make", "example"), CASES)
def test_state_dict_parameters_and_class_stay(make: Any, example: torch.Tensor) -> None:
    model = make().eval()
    kind, keys, ids = type(model), list(model.state_dict()), [id(item) for item in model.parameters()]
    values = {name: item.clone() for name, item in model.state_dict().items()}
    model, _ = optimized(model, example)
    assert type(model) is kind and list(model.state_dict()) == keys
    assert [id(item) for item in model.parameters()] == ids
    assert all(torch.equal(item, values[name]) for name, item in model.state_dict().items())

    other = make().eval()  # other weights, saved from the optimised and loaded into a fresh one, and back
    file = io.BytesIO()
    torch.save(other.state_dict(), file)
    file.seek(0)
    model.load_state_dict(torch.load(file))
    torch.testing.assert_close(outputs(model, example), outputs(other, example))
    fresh = make().eval()
    fresh.load_state_dict(model.state_dict())
    torch.testing.assert_close(outputs(fresh, example), outputs(other, example))


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "double", "assign"])
@pytest.mark.parametrize(("make", "example"), CASES)
def test_copies_moves_and_assigned_weights_compute_the_same(make: Any, example: torch.Tensor, how: str) -> None:
    model = make().eval()
    expected = outputs(model, example)
    model, _ = optimized(model, example)
    if how == "deepcopy":
        copied = copy.deepcopy(model)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()  # the copy must not depend on the original
        model = copied
    elif how == "pickle":
        model = pickle.loads(pickle.dumps(model))
    elif how == "double":
        model.double().float()
    elif how == "assign":
        model.load_state_dict({name: item.clone() for name, item in model.state_dict().items()}, assign=True)
    torch.testing.assert_close(outputs(model, example), expected)


def test_train_and_eval_may_be_switched_after_optimisation() -> None:
    model, example = ConvNet().eval(), torch.randn(4, 3, 8, 8)
    twin = copy.deepcopy(model)
    model, _ = optimized(model, example)
    for item in (model, twin):
        item.train()
    model.dropout.p = twin.dropout.p = 0.0
    torch.testing.assert_close(model(example), twin(example))
    for item in (model, twin):
        item.eval()
    torch.testing.assert_close(outputs(model, example), outputs(twin, example))  # with the new running averages


def test_a_dropout_switched_on_alone_drops_again() -> None:
    model = nn.Sequential(nn.Linear(64, 64), nn.Dropout(0.5)).eval()
    model, summary = optimized(model, torch.randn(4, 64))
    assert names(summary) == ["dropout removal"]
    model[1].train()
    assert (outputs(model, torch.randn(4, 64)) == 0).any()


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_training_after_optimisation_follows_the_plain_loop(dropout: float) -> None:
    plain, example = TiedTransformer(dropout).train(), torch.randint(32, (4, 6))
    model, summary = optimized(copy.deepcopy(plain), example, "aggressive", gradient_checkpointing=True)
    assert names(summary) == ["projection fusion", "attention", "gradient checkpointing"]
    losses: dict[str, list[float]] = {"plain": [], "optimized": []}
    for name, item in (("plain", plain), ("optimized", model)):
        stepper = torch.optim.AdamW(item.parameters(), lr=1e-2)
        for _ in range(8):
            loss = nn.functional.cross_entropy(item(example).flatten(0, 1), example.flatten())
            stepper.zero_grad()
            loss.backward()
            assert all(parameter.grad is not None for parameter in item.parameters())
            stepper.step()
            losses[name].append(loss.item())
    assert losses["optimized"][-1] < 0.7 * losses["optimized"][0]
    if dropout == 0.0:
        torch.testing.assert_close(losses["optimized"], losses["plain"], rtol=1e-3, atol=1e-3)


def test_wrong_gradients_are_found_even_where_outputs_agree() -> None:
    def detach(traced: TracedForward) -> list[Change]:
        output = next(iter(reversed(traced.graph.nodes)))
        with traced.graph.inserting_before(output):
            cut = traced.graph.call_method("detach", (output.args[0],))
        output.replace_input_with(output.args[0], cut)
        return [Change(traced.where, "detached")]

    optimizer = AMDOptimizer(rewrites=[Rewrite("detach", "conservative", "none", edit=detach)])
    model = TiedTransformer().train()
    optimizer.optimize(model, "conservative", torch.randint(32, (2, 6)))
    undone = optimizer.get_optimization_summary()["optimizations_undone"]
    assert len(undone) == 1 and "gradient" in undone[0]["reason"]


def test_an_example_is_made_where_the_first_layer_leaves_no_choice() -> None:
    for model in (nn.Linear(8, 4), nn.Sequential(nn.Sequential(nn.Embedding(9, 4)), nn.Linear(4, 4)).eval()):
        _, summary = optimized(model, None)
        assert summary["checked_with"] == "an input made from the first layer"


@pytest.mark.parametrize("example", [{"x": torch.ones(2, 5, 16)}, (torch.ones(2, 5, 16),), [torch.ones(2, 5, 16)]])
def test_examples_may_be_positional_or_by_name(example: Any) -> None:
    _, summary = optimized(Attention().eval(), example)
    assert "attention" in names(summary)


def test_other_arguments_than_the_examples_take_the_original_path() -> None:
    model, x, mask = Attention().eval(), torch.randn(2, 5, 16), torch.randn(5, 5)
    with torch.no_grad():
        expected = model(x, mask)
        model, summary = optimized(model, x)
        assert "attention" in names(summary)
        torch.testing.assert_close(model(x, mask), expected)
        torch.testing.assert_close(model(x, mask=mask), expected)
        assert model(torch.randn(3, 9, 16)).shape == (3, 9, 16)  # other sizes are the same kind of call


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("not a model", {}, "takes a torch.nn.Module"),
        (nn.Linear(2, 2), {"level": "extreme"}, "conservative, balanced, aggressive"),
        (nn.Linear(2, 2), {"example_inputs": torch.ones(3, 5)}, "does not run on example_inputs"),
        (nn.Linear(2, 2), {"example_inputs": 3}, "pass a tensor"),
        (nn.Linear(2, 2), {"level": "balanced", "gradient_checkpointing": True}, "aggressive"),
        (nn.Linear(2, 2), {"level": "aggressive", "gradient_checkpointing": "yes"}, "True, False or 'auto'"),
    ],
)
def test_impossible_requests_are_refused(model: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(AMDOptimizationError, match=message):
        AMDOptimizer().optimize(model, **options)


def test_a_model_that_differs_from_itself_cannot_be_checked() -> None:
    class Counting(nn.Module):
        calls: list[int] = []  # noqa: RUF012

        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls.append(1)
            return (self.left(x) + self.right(x)) * len(self.calls)

    _, summary = optimized(Counting().eval(), torch.randn(2, 4))
    assert names(summary) == [] and "differs from itself" in summary["checked_with"]


def test_a_prepared_model_keeps_its_precision_boundary() -> None:
    config = AMDConfig(default_precision="bf16")
    example = torch.randn(2, 5, 16)
    for training in (False, True):
        model = Attention().train(training)
        expected = model(example).detach()
        prepared = AMDBackend(config).prepare_model(model)
        prepared, summary = optimized(prepared, example)
        assert {"projection fusion", "attention"} <= set(names(summary))
        assert summary["mixed_precision"] is training
        result = prepared(example)
        assert result.dtype == torch.float32
        torch.testing.assert_close(result.detach(), expected, rtol=0.05, atol=0.05)
        again = AMDBackend(AMDConfig(default_precision="fp32")).prepare_model(prepared)
        assert again(example).shape == expected.shape


def test_a_model_that_is_compiled_already_is_left_alone() -> None:
    model = GatedMLP().eval()
    model.compile(backend="eager")
    _, summary = optimized(model, torch.randn(2, 16))
    assert names(summary) == [] and "compiled already" in summary["optimizations_not_applied"][0]["reason"]


def test_optimising_twice_changes_nothing_more() -> None:
    model, example = TiedTransformer(0.1).eval(), torch.randint(32, (2, 6))
    model, _ = optimized(model, example)
    expected = outputs(model, example)
    model, summary = optimized(model, example)
    assert names(summary) == [] and torch.equal(outputs(model, example), expected)


@pytest.mark.parametrize(
    ("milliseconds", "verdict", "only_if_faster", "outcome"),
    [
        ((2.0, 1.0), "faster", False, "measured: 2 -> 1 ms, x0.500 on cpu"),
        ((1.0, 2.0), "slower", False, "undone: slower: 1 -> 2 ms, x2.000 on cpu"),
        ((1.0, 1.1), "undecided", False, "measured: 1 -> 1.1 ms, x1.100 on cpu"),  # within the noise
        ((1.0, 0.99), "same", True, "undone: not faster by more than the noise: 1 -> 0.99 ms, x0.990 on cpu"),
    ],
)
def test_a_measured_step_stays_only_if_it_is_not_slower(
    milliseconds: tuple[float, float],
    verdict: str,
    only_if_faster: bool,
    outcome: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def clone(traced: TracedForward) -> list[Change]:
        output = next(iter(reversed(traced.graph.nodes)))
        with traced.graph.inserting_before(output):
            copied = traced.graph.call_method("clone", (output.args[0],))
        output.replace_input_with(output.args[0], copied)
        return [Change("here", "cloned")]

    calls: list[bool] = []

    def timed(model: nn.Module, inputs: Inputs, switch: Any) -> Comparison:
        for state in (False, True):
            switch(state)
            inputs.call(model)
            calls.append(isinstance(model.__dict__.get("forward"), RewrittenForward))
        return Comparison(*milliseconds, milliseconds[1] / milliseconds[0], None, None, verdict, 10)

    monkeypatch.setattr(in_place, "compare_states", timed)
    rewrite = Rewrite("clone", "conservative", "none", edit=clone, only_if_faster=only_if_faster)
    optimizer, model = AMDOptimizer(rewrites=[rewrite]), GatedMLP().eval()
    optimizer.optimize(model, "conservative", torch.randn(2, 16), measure=True)
    summary = optimizer.get_optimization_summary()
    applied, undone = summary["optimizations_applied"], summary["optimizations_undone"]
    got = f"{applied[0]['effect_is']}: {applied[0]['effect']}" if applied else f"undone: {undone[0]['reason']}"
    assert got == outcome and len(applied) + len(undone) == 1
    assert calls == [False, True]  # both were run, off first
    assert ("forward" in model.__dict__) is bool(applied)


def test_timing_alternates_and_leaves_the_change_on() -> None:
    states: list[bool] = []
    runs: list[bool] = []

    class Noted(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            runs.append(states[-1])
            return super().forward(x)

    found = in_place.compare_states(Noted(4, 4).eval(), Inputs((torch.randn(2, 4),)), states.append)
    rounds = states[-2 * found.rounds - 1 : -1]
    assert sorted(rounds[:2]) == [False, True] and states[-1] is True
    assert all(rounds[place : place + 4] == [rounds[0], rounds[1], rounds[1], rounds[0]] for place in range(0, 16, 4))
    assert min(runs.count(True), runs.count(False)) >= 10 and found.before_ms > 0 and found.after_ms > 0


def test_without_measuring_channels_last_is_not_applied() -> None:
    model, summary = optimized(ConvNet().eval(), torch.randn(2, 3, 8, 8))
    reasons = {item["name"]: item["reason"] for item in summary["optimizations_not_applied"]}
    assert "measure=True" in reasons["channels_last"] and model.conv.weight.is_contiguous()


@pytest.mark.parametrize("pays", [True, False])
def test_channels_last_where_it_pays(pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Comparison(2.0, 1.0 if pays else 2.0, 0.5 if pays else 1.0, None, None, "faster" if pays else "same", 10)
    monkeypatch.setattr(in_place, "compare_states", lambda model, inputs, switch: found)
    model, example = ConvNet().eval(), torch.randn(2, 3, 8, 8)
    expected, address = outputs(model, example), model.conv.weight.data_ptr()
    model, summary = optimized(model, example, measure=True)
    assert ("channels_last" in names(summary)) is pays
    assert model.conv.weight.is_contiguous(memory_format=torch.channels_last) is pays
    assert (model.conv.weight.data_ptr() == address) is not pays
    torch.testing.assert_close(outputs(model, example), expected)
