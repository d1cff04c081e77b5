"""The pass that makes one operator of a whole decoder, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from kernel_pytorch.models.fx.rewrite import NotApplicable
from kernel_pytorch.models.inputs import Inputs
from kernel_pytorch.perf.decode.form import Form, extras_of
from kernel_pytorch.perf.ladder.rung import Step
from kernel_pytorch.perf.ladder.rungs import one_row
from tests.perf.decode.small_decoder import SIZE, Decoder, Layer, ours, passed

BOTH = ("one row", "one kernel")
TOKENS = ((7, 9), (31, 10), (2, 3))


def compared(model: nn.Module) -> Any:
    """The graph of the model after both passes; its results and what it writes to the caches are those of the model."""
    graphs: list[Any] = []
    model = model.eval().requires_grad_(False)
    layers = [one for one in model.modules() if isinstance(one, Layer)]
    call = passed(model, graphs, BOTH)
    with torch.no_grad():
        for token, at in TOKENS:
            given = (torch.tensor([[token]]), torch.tensor([at]))
            caches = [(one.keys.clone(), one.values.clone()) for one in layers]
            expected = model(*given)
            written = [(one.keys.clone(), one.values.clone()) for one in layers]
            for one, (keys, values) in zip(layers, caches, strict=True):
                one.keys.copy_(keys)
                one.values.copy_(values)
            torch.testing.assert_close(call(*given), expected, rtol=1e-4, atol=1e-5)
            for one, (keys, values) in zip(layers, written, strict=True):
                torch.testing.assert_close(one.keys, keys)
                torch.testing.assert_close(one.values, values)
    (graph,) = graphs
    return graph


@pytest.mark.parametrize("joined", [False, True], ids=["plain", "joined gate"])
def test_a_decoder_becomes_one_operator(joined: bool) -> None:
    torch.manual_seed(0)
    graph = compared(Decoder(joined=joined))
    assert ours(graph) == ["decoder"]
    (made,) = [node for node in graph.nodes if "kpt_decode" in str(node.target)]
    weights, norms, caches = made.args[1:4]
    assert (len(weights), len(norms), len(caches)) == (14, 5, 4)


FORMS: dict[str, tuple[dict[str, Any], Form]] = {
    "Qwen2": ({"bias": True}, Form()),
    "Qwen3": ({"head_norms": True}, Form()),
    "Phi": ({"part": 8}, Form()),
    "GLM": ({"part": 8, "neighbours": True, "bias": True, "joined": True}, Form(neighbours=True)),
    "GPT-J": ({"neighbours": True}, Form(neighbours=True)),
    "Mistral": ({"window": 7}, Form()),
    "Gemma": ({"gate": "gelu_tanh", "plus": 1.0}, Form("gelu_tanh", norm_plus=1.0)),
    "GELU with erf": ({"gate": "gelu_erf"}, Form("gelu_erf")),
    "Gemma 2": (
        {"gate": "gelu_tanh", "plus": 1.0, "cap": 3.0, "after_norms": True, "local": 7, "layers": 3},
        Form("gelu_tanh", 3.0, 1.0),
    ),
    "Gemma 3": (
        {"gate": "gelu_tanh", "plus": 1.0, "head_norms": True, "after_norms": True, "local": 7, "layers": 3},
        Form("gelu_tanh", 0.0, 1.0),
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_decoders(name: str) -> None:
    options, form = FORMS[name]
    torch.manual_seed(0)
    graph = compared(Decoder(**options))
    assert ours(graph) == ["decoder"]
    (made,) = [node for node in graph.nodes if "kpt_decode" in str(node.target)]
    extras = extras_of(*made.args[11:])
    layers = options.get("layers", 2)
    assert extras.form == form
    assert len(extras.biases) == (3 * layers if options.get("bias") else 0)
    assert len(extras.head_norms) == (2 * layers if options.get("head_norms") else 0)
    assert len(extras.after_norms) == (2 * layers if options.get("after_norms") else 0)
    assert len(extras.local) == (1 if options.get("local") else 0)  # the one of three that sees all
    assert made.args[7].meta["val"].numel() == options.get("part", SIZE)


class ShowsBetween(Decoder):
    """Gives the row after the first layer as well."""

    def forward(self, token: torch.Tensor, at: torch.Tensor) -> Any:
        seen: list[torch.Tensor] = []
        handle = self.layers[0].register_forward_hook(lambda module, args, out: seen.append(out))
        result = super().forward(token, at)
        handle.remove()
        return result, seen[0]


class OtherEpsilon(Decoder):
    """The norm before the words has an epsilon of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = LooseNorm()


class ThreeWindows(Decoder):
    """The kernel has two masks at most."""

    def __init__(self) -> None:
        super().__init__(layers=3)
        for layer, window in zip(self.layers, (5, 9, 24), strict=True):
            layer.window = window


class LooseNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(64) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3))


class ShowsAProduct(Decoder):
    """Gives what attention adds to the row, before its norm."""

    def __init__(self) -> None:
        super().__init__(after_norms=True)

    def forward(self, token: torch.Tensor, at: torch.Tensor) -> Any:
        seen: list[torch.Tensor] = []
        handle = self.layers[1].seen_norm.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
        result = super().forward(token, at)
        handle.remove()
        return result, seen[0]


class WithoutWords(Decoder):
    """Ends with the last norm."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Identity()  # type: ignore[assignment]


@pytest.mark.parametrize(
    "model",
    [lambda: Decoder(gate="nearly gelu"), ShowsBetween, ShowsAProduct, OtherEpsilon, WithoutWords, ThreeWindows],
    ids=["its gate", "a row is wanted outside", "a product is wanted", "two epsilons", "no words", "three windows"],
)
def test_what_the_kernel_does_not_do_stays_in_steps(model: Any) -> None:
    torch.manual_seed(0)
    graph = compared(model())
    assert "decoder" not in ours(graph)
    assert len(ours(graph)) >= 9


def test_without_the_steps_there_is_nothing_to_join() -> None:
    graphs: list[Any] = []
    model = Decoder().eval().requires_grad_(False)
    with torch.no_grad():
        passed(model, graphs, ("one kernel",))(torch.tensor([[7]]), torch.tensor([9]))
    assert ours(graphs[0]) == []


# -- the rung


def test_the_rung_stands_on_the_decoding_kernels() -> None:
    model = Decoder().eval()
    inputs = Inputs((torch.tensor([[7]]), torch.tensor([9])), {})
    with pytest.raises(NotApplicable, match="not on a GPU"):
        one_row.ONE_KERNEL.find(model, inputs)
    kept = (Step("graph_capture", {}), Step("one_row_kernels", {"passes": ["one row"]}))
    for before in (kept, (Step("compile", {}),), ()):  # what it stands on comes with it
        (options,) = one_row.ONE_KERNEL.choices(model, inputs, before)
        assert options["passes"] == ["one row", "one kernel"]
    with pytest.raises(NotApplicable, match="one kernel already"):
        one_row.ONE_KERNEL.choices(model, inputs, (Step("one_kernel_decoder", options),))
