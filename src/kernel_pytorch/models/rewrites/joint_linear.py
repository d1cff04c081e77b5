"""Linear layers that are called with the same tensor, as one matrix product, also under torch.compile.

The layers stay where they are with the parameters they had, which become views of one joint tensor. The first layer
of a group that is called with a tensor computes the product for all; the others hand out their part of it. A layer
that is called with another tensor, or after its weight was replaced, computes by itself: the same function always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, compiler, is_grad_enabled, nn, no_grad, zeros
from torch.nn import functional

from kernel_pytorch.models.rewrites.joined_weights import joint_function, joint_view


class JointWeights:
    """The weights of a group of layers as one tensor, and the parts of a product that are not yet handed out."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        self.layers = tuple(layers)
        self.sizes = [layer.out_features for layer in layers]
        self.weight: Tensor | None = None
        self.bias: Tensor | None = None
        self.addresses: tuple[int, ...] = ()
        self.pending: tuple[Tensor, int, bool, tuple[Tensor, ...]] | None = None

    def join(self) -> None:
        """Lay the parameters side by side, if they are not. Without effect where they cannot be."""
        self.weight = self.bias = self.pending = None
        weights = [layer._parameters.get("weight") for layer in self.layers]
        biases = [layer._parameters.get("bias") for layer in self.layers]
        if None in map(_state, weights) or len(set(map(_state, self._parameters()))) != 1:
            return
        with no_grad():
            self.weight = _joined(weights, self.sizes)
            if any(item is not None for item in biases):
                self.bias = _joined(biases, self.sizes)
        self.addresses = self.current_addresses()
        for joint in (self.weight, self.bias):
            if joint is not None and joint.is_cuda:
                # Not copied at every replay of a graph that Inductor records.
                import torch._dynamo

                torch._dynamo.mark_static_address(joint, guard=False)

    def project(self, x: Tensor, place: int) -> Tensor | None:
        """The part of layer `place`; None where it has to compute it by itself."""
        if place > 0:
            pending = self.pending
            if pending is None or pending[0] is not x or pending[1:3] != (_version(x), is_grad_enabled()):
                return None
            if place == len(self.layers) - 1:
                self.pending = None
            return pending[3][place]
        joint = self._product(x)
        if joint is None:
            return None
        parts = tuple(joint.split(self.sizes, dim=-1))
        self.pending = (x, _version(x), is_grad_enabled(), parts)
        return parts[0]

    def _product(self, x: Tensor) -> Tensor | None:
        needs_gradient = is_grad_enabled() and (
            x.requires_grad or any(item.requires_grad for item in self._parameters())
        )
        if compiler.is_compiling():
            if needs_gradient or self.weight is None:
                return None
            return functional.linear(x, self.weight, self.bias)
        if self.weight is None or self.addresses != self.current_addresses():
            self.join()
            if self.weight is None:
                return None
        if not needs_gradient:
            return functional.linear(x, self.weight, self.bias)
        weights = [layer.weight for layer in self.layers]
        biases = [layer.bias for layer in self.layers if layer.bias is not None]
        if biases and len(biases) != len(weights):
            return None
        result: Tensor = joint_function().apply(x, self.weight, self.bias, len(weights), *weights, *biases)
        return result

    def current_addresses(self) -> tuple[int, ...]:
        return tuple(item.data_ptr() for item in self._parameters())

    def _parameters(self) -> list[Any]:
        return [item for layer in self.layers for item in layer._parameters.values() if item is not None]

    def __getstate__(self) -> dict[str, Any]:
        return {"layers": self.layers, "sizes": self.sizes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, weight=None, bias=None, addresses=(), pending=None)


class JointLinear(nn.Linear):  # type: ignore[misc]
    """An nn.Linear that may get its result from a product over a group of layers."""

    joint: JointWeights
    place: int

    def forward(self, input: Tensor) -> Tensor:
        """The layer's output."""
        part = self.joint.project(input, self.place)
        return functional.linear(input, self.weight, self.bias) if part is None else part

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        result = super()._apply(fn, recurse)
        self.renew_joint()
        return result

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self.renew_joint()

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.renew_joint()

    def renew_joint(self) -> None:
        """A compiled call cannot see that the weights lie elsewhere: they are joined again as soon as all are there."""
        joint = self.__dict__.get("joint")
        # A copy is made piece by piece: the last layer to be complete joins.
        layers = getattr(joint, "layers", ())
        if (
            joint is not None
            and layers
            and all("_parameters" in layer.__dict__ for layer in layers)
            and (joint.weight is None or joint.addresses != joint.current_addresses())
        ):
            joint.join()


class Siblings(nn.Module):  # type: ignore[misc]
    """Layers that read one tensor."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.training = False

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """What each of them gives."""
        return tuple(layer(x) for layer in self.layers)


def let_join(layers: Sequence[nn.Linear]) -> None:
    """Let layers compute together, in place. The parameters become views of one tensor."""
    group = JointWeights(layers)
    for place, layer in enumerate(layers):
        layer.__dict__.update(joint=group, place=place)
    switch_to(layers, True)
    group.join()


def switch_to(layers: Sequence[nn.Linear], together: bool) -> None:
    """Together or one by one; the weights stay where they are."""
    for layer in layers:
        layer.__class__ = JointLinear if together else nn.Linear


def take_apart(layers: Sequence[nn.Linear]) -> None:
    """The layers as they were, each with weights of its own."""
    switch_to(layers, False)
    for layer in layers:
        del layer.__dict__["joint"], layer.__dict__["place"]
        for item in layer.parameters():
            item.data = item.detach().clone()


def _joined(parameters: Sequence[Any], sizes: Sequence[int]) -> Tensor:
    """One tensor of which the parameters are slices; zeros stand for a bias that is not there."""
    from torch import cat

    if None not in map(_state, parameters):
        known: Tensor | None = joint_view(parameters)
        if known is not None:
            return known
    like = next(item for item in parameters if item is not None)
    parts = [
        item.detach() if item is not None else zeros(size, *like.shape[1:], dtype=like.dtype, device=like.device)
        for item, size in zip(parameters, sizes, strict=True)
    ]
    joint = cat(parts)
    for item, part in zip(parameters, joint.split(list(sizes)), strict=True):
        if item is not None:
            item.data = part
    return joint


def _state(item: Any) -> Any:
    return None if item is None else (item.dtype, item.device, type(item))


def _version(x: Tensor) -> int:
    return 0 if compiler.is_compiling() or x.is_inference() else x._version
