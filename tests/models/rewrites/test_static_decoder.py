"""Decoders with a static cache, and batches without their padding."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.models.rewrites import projections
from kernel_pytorch.models.rewrites.static_decoder import static_decoder
from kernel_pytorch.models.tree import shallow_tree
from kernel_pytorch.perf.ladder.rungs.surgery import RUNGS

from .checks import compiled_calls, farthest, outputs, refereed
from .models import Buffered, Classifier, Decoder, Interleaved

CACHED = next(rung for rung in RUNGS if rung.name == "static_kv_cache")
SKIPPED = next(rung for rung in RUNGS if rung.name == "skipped_padding")


def tokens() -> Tensor:
    torch.manual_seed(1)
    return torch.randint(0, 50, (2, 20))


@pytest.mark.parametrize(
    "make",
    [lambda: Decoder("hand"), lambda: Decoder("torch"), Buffered, Interleaved, lambda: Interleaved(False)],
    ids=["takes a cache", "takes a cache, sdpa", "counts positions", "table and mask", "table, repeats"],
)
def test_token_by_token_is_all_at_once(make: Callable[[], nn.Module]) -> None:
    model, ids = make().eval(), tokens()
    decoder = static_decoder(model, ids, 32)
    expected = refereed(model, Inputs((ids,)))[0]
    assert [id(item) for item in decoder.parameters()] == [id(item) for item in model.parameters()]
    with torch.no_grad():
        assert (decoder.prefill(ids[:, :9]) - expected[:, :9]).abs().max() < 1e-4
        for place in range(9, 20):
            position = torch.tensor([place])
            logits = decoder(ids[:, place : place + 1], position)
            assert (logits[:, 0] - expected[:, place]).abs().max() < 1e-4
            # The same step again is the same step.
            assert torch.equal(decoder(ids[:, place : place + 1], position), logits)
    assert farthest(outputs(model, Inputs((ids,))), [expected]) < 1e-5


@pytest.mark.parametrize("make", [Decoder, Buffered])
def test_every_step_is_the_same_graph(make: Callable[[], nn.Module]) -> None:
    model, ids = make().eval(), tokens()
    decoder = static_decoder(model, ids, 32)
    expected = refereed(model, Inputs((ids,)))[0]
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    step = torch.compile(decoder, backend="eager", fullgraph=True)
    with torch.no_grad():
        decoder.prefill(ids[:, :9])
        for place in range(9, 14):
            logits = step(ids[:, place : place + 1], torch.tensor([place]))
            assert (logits[:, 0] - expected[:, place]).abs().max() < 1e-4
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == 1


def test_surgery_goes_on_on_a_decoder() -> None:
    model, ids = Decoder("hand").eval(), tokens()
    decoder = static_decoder(model, ids, 32)
    expected = refereed(model, Inputs((ids,)))[0]
    with torch.no_grad():
        decoder.prefill(ids[:, :9])
    inputs = Inputs((ids[:, 9:10], torch.tensor([9])))
    tree = shallow_tree(decoder)
    projections.join(tree, projections.find(decoder, inputs).groups)
    for rung in RUNGS:
        if rung.name in ("sdpa", "repeat_kv"):
            assert rung.find(tree, inputs)
            tree = rung.apply(tree, inputs, {})
    assert (outputs(tree, inputs)[0][:, 0] - expected[:, 9]).abs().max() < 1e-4
    assert "expand" not in compiled_calls(tree, inputs)[1]


def test_moving_a_decoder_empties_it() -> None:
    model, ids = Buffered().eval(), tokens()
    decoder = static_decoder(model, ids, 32)
    decoder.double()
    with torch.no_grad():
        logits = decoder.prefill(ids)
    assert logits.dtype == torch.double and decoder.store.keys[0].dtype == torch.double
    assert farthest([logits], refereed(model, Inputs((ids,)))) < 1e-9


class Reversed(nn.Module):
    """Attention that looks ahead."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.layer = nn.Embedding(50, 16), nn.Linear(16, 48)

    def forward(self, ids: Tensor) -> Tensor:
        q, k, v = (item[:, None] for item in self.layer(self.embed(ids)).split(16, dim=-1))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v)[:, 0]


def test_what_is_no_decoder_is_refused_with_the_reason() -> None:
    with pytest.raises(NotApplicable, match="not causal"):
        static_decoder(Reversed().eval(), tokens(), 32)
    with pytest.raises(NotApplicable, match="more than 11 tokens"):
        static_decoder(Buffered().eval(), tokens()[:, :8], 32)

    class Counts(Buffered):
        """Depends on how many tokens there are."""

        def forward(self, ids: Tensor) -> Tensor:
            return super().forward(ids) * ids.shape[1]

    with pytest.raises(NotApplicable, match="computes something else"):
        static_decoder(Counts().eval(), tokens(), 32)


class Generates(nn.Module):
    """A loop that sees all tokens again for every new one."""

    def __init__(self) -> None:
        super().__init__()
        self.decoder = Buffered()

    def forward(self, ids: Tensor) -> Tensor:
        for _ in range(6):
            ids = torch.cat((ids, self.decoder(ids)[:, -1:].argmax(-1)), dim=1)
        return ids


def test_a_loop_that_generates_gets_a_cache() -> None:
    model, inputs = Generates().eval(), Inputs((tokens()[:, :10],))
    assert CACHED.find(model, inputs) == "decoder is called 6 times with one token more: a static cache for 15"
    tree = CACHED.apply(model, inputs, {})
    widths: list[int] = []
    decoder = tree.decoder.__dict__["forward"].decoder
    decoder.model.tokens.register_forward_hook(lambda module, args, output: widths.append(output.shape[1]))
    fresh = torch.randint(0, 50, (2, 10))
    with torch.no_grad():
        for ids in (inputs.args[0], fresh, fresh[:1], inputs.args[0][:, :4], torch.randint(0, 50, (2, 14))):
            assert torch.equal(tree(ids), model(ids))
        # A prompt that begins like the last one, and one that is shorter.
        assert torch.equal(tree(fresh), model(fresh)) and torch.equal(tree(fresh[:, :7]), model(fresh[:, :7]))
    assert widths[:6] == [10, 1, 1, 1, 1, 1]
    assert list(tree.state_dict()) == list(model.state_dict())
    assert [id(item) for item in tree.parameters()] == [id(item) for item in model.parameters()]
    buffer = io.BytesIO()
    torch.save(tree, buffer)
    buffer.seek(0)
    for twin in (copy.deepcopy(tree), torch.load(buffer, weights_only=False), shallow_tree(tree)):
        with torch.no_grad():
            assert torch.equal(twin(fresh), model(fresh))
    model.load_state_dict({name: value.flip(0) for name, value in model.state_dict().items()})
    with torch.no_grad():
        tree.decoder(fresh)
        tree.decoder.tokens.weight.mul_(0.5)
        longer = torch.cat((fresh, fresh[:, :1]), dim=1)
        assert torch.allclose(tree.decoder(longer), model.decoder(longer), atol=1e-5)


def test_a_loop_over_something_else_gets_none() -> None:
    with pytest.raises(NotApplicable, match="no decoder is called again"):
        CACHED.find(Buffered().eval(), Inputs((tokens(),)))


def test_a_decoder_that_was_saved_says_that_it_must_be_made_anew() -> None:
    decoder = static_decoder(Buffered().eval(), tokens(), 32)
    buffer = io.BytesIO()
    torch.save(decoder, buffer)
    buffer.seek(0)
    with pytest.raises(RuntimeError, match="call static_decoder again"):
        torch.load(buffer, weights_only=False).prefill(tokens())


def batch(longest: int = 10, columns: int = 40) -> Inputs:
    torch.manual_seed(5)
    mask = torch.zeros(3, columns, dtype=torch.long)
    for row, length in enumerate((longest, 4, 7)):
        mask[row, :length] = 1
    return Inputs((), {"input_ids": torch.randint(0, 50, (3, columns)), "attention_mask": mask})


def test_padding_is_cut_where_the_result_does_not_have_it() -> None:
    model, inputs = Classifier().eval(), batch()
    assert SKIPPED.find(model, inputs) == "30 of 40 columns are padding in every row of the batch"
    tree = SKIPPED.apply(model, inputs, {})
    widths: list[int] = []
    tree.embed.register_forward_hook(lambda module, args, output: widths.append(output.shape[1]))
    for longest in (10, 30, 40):
        fresh = batch(longest)
        assert farthest(outputs(tree, fresh), refereed(model, fresh)) < 1e-6
    assert widths == [16, 32, 40]
    assert list(tree.state_dict()) == list(model.state_dict())
    assert farthest(compiled_calls(tree, inputs)[0], refereed(model, inputs)) < 1e-6


@pytest.mark.parametrize(
    ("model", "inputs", "reason"),
    [
        (Classifier(per_token=True), batch(), "has values for padding"),
        (Classifier(leaks=True), batch(), "depends on padding"),
        (Classifier(), batch(40), "no mask among the inputs"),
    ],
)
def test_padding_that_matters_stays(model: nn.Module, inputs: Inputs, reason: str) -> None:
    with pytest.raises(NotApplicable, match=reason):
        SKIPPED.find(model.eval(), inputs)
