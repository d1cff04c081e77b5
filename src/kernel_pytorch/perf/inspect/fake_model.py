"""A model and its inputs as fake tensors on the GPU that is not here: shapes and types, no numbers, no memory.

Where the numbers are wanted later (`--run`), the real tensor behind each fake one is remembered by its storage.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.entry_point import Subject, TargetFailedError, load_subject

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch._subclasses.fake_tensor import FakeTensorMode


LONGEST_TABLE = 4096


@dataclass
class RealValues:
    """Real CPU storage behind fake storage. Grows while a graph is replayed."""

    flat: dict[int, Tensor] = field(default_factory=dict)  # fake storage -> one-dimensional CPU tensor over all of it
    keep: list[Tensor] = field(default_factory=list)  # fake tensors, so that no storage number is used twice

    def remember(self, fake: Tensor, real: Tensor) -> None:
        """`real` has the fake tensor's layout; its whole storage stands behind the fake one's."""
        import torch

        whole = torch.empty(0, dtype=real.dtype).set_(real.untyped_storage())
        self.flat[_storage(fake)] = whole
        self.keep.append(fake)

    def of(self, fake: Tensor) -> Tensor:
        """The real tensor of a fake one, or of a view of it."""
        found = self.flat.get(_storage(fake))
        if found is None:
            raise LookupError(f"no numbers are known for a tensor of shape {tuple(fake.shape)}")
        if found.dtype != fake.dtype:
            found = found.view(fake.dtype)
        return found.as_strided(tuple(fake.shape), tuple(fake.stride()), fake.storage_offset())


def _storage(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)


def load_fake(text: str, mode: FakeTensorMode) -> Subject:
    """The user's subject, built with fake tensors from the start: a model of any size fits.

    Some constructors read numbers of a short table, such as the rates of stochastic depth: `[x.item() for x in
    torch.linspace(0, rate, layers)]`. Then such tables are real.
    """
    import torch
    import torch._subclasses.fake_tensor as fakes

    # Module.half() and the like change a parameter's tensor in place, which torch refuses for fake tensors.
    torch.nn.Module._apply = _apply
    # It draws again what fell outside, until nothing does; the others only write.
    torch.nn.init._no_grad_trunc_normal_ = lambda tensor, *args, **kwargs: tensor
    try:
        with mode:
            return load_subject(text)
    except TargetFailedError as error:
        if not isinstance(error.__cause__, fakes.DataDependentOutputException):
            raise
    with mode, _real_tables(torch, fakes):
        return load_subject(text)


def _real_tables(torch: ModuleType, fakes: ModuleType) -> AbstractContextManager[object]:
    """Short tables are real, and so is what is made of nothing but them."""
    factories = {torch.linspace, torch.logspace, torch.arange}

    class RealTables(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(
            self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            given = [one for one in tree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
            if function in factories or (given and not any(isinstance(one, fakes.FakeTensor) for one in given)):
                with fakes.unset_fake_temporarily():
                    made = function(*args, **(kwargs or {}))
                if not isinstance(made, torch.Tensor) or made.numel() <= LONGEST_TABLE:
                    return made
            return function(*args, **(kwargs or {}))

    import torch.utils._pytree as tree

    return RealTables()


def _apply(self: nn.Module, function: Callable[[Tensor], Tensor], recurse: bool = True) -> nn.Module:
    """torch.nn.Module._apply with new parameters in the old ones' places; shared ones stay shared."""
    import torch

    made: dict[int, tuple[Tensor, Tensor]] = {}
    for module in self.modules() if recurse else [self]:
        for name, parameter in module._parameters.items():
            if parameter is None:
                continue
            if id(parameter) not in made:
                with torch.no_grad():
                    new = torch.nn.Parameter(function(parameter), requires_grad=parameter.requires_grad)
                made[id(parameter)] = (parameter, new)
            module._parameters[name] = made[id(parameter)][1]
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = function(buffer)
    return self


def on_device(subject: Subject, mode: FakeTensorMode, real: RealValues | None = None) -> Subject:
    """The same subject with every tensor a fake one on cuda:0. A module is changed in place."""
    import torch
    import torch.utils._pytree as tree

    memo: dict[int, tuple[Tensor, Tensor]] = {}

    def convert(tensor: Tensor) -> Tensor:
        if id(tensor) not in memo:
            memo[id(tensor)] = (tensor, _fake(torch, mode, tensor, real))  # the original is kept: its id stays taken
        return memo[id(tensor)][1]

    def anything(value: object) -> object:
        return convert(value) if isinstance(value, torch.Tensor) else value

    for module in _modules(torch, subject.function):
        _convert_module(torch, module, convert)
    args = tree.tree_map(anything, subject.args)
    kwargs = tree.tree_map(anything, subject.kwargs)
    return Subject(subject.name, subject.function, tuple(args), dict(kwargs))


def _modules(torch: ModuleType, function: object) -> list[nn.Module]:
    owner = getattr(function, "__self__", function)
    return list(owner.modules()) if isinstance(owner, torch.nn.Module) else []


def _convert_module(torch: ModuleType, module: nn.Module, convert: Callable[[Tensor], Tensor]) -> None:
    for name, parameter in module._parameters.items():
        if parameter is not None:
            made = convert(parameter)
            if not isinstance(made, torch.nn.Parameter):
                made = torch.nn.Parameter(made, requires_grad=parameter.requires_grad)
            module._parameters[name] = made
    for name, buffer in module._buffers.items():
        if buffer is not None:
            module._buffers[name] = convert(buffer)
    for name, value in list(vars(module).items()):  # a table kept as a plain attribute
        if isinstance(value, torch.Tensor):
            object.__setattr__(module, name, convert(value))


def _fake(torch: ModuleType, mode: FakeTensorMode, tensor: Tensor, real: RealValues | None) -> Tensor:
    import torch._subclasses.fake_tensor as fakes

    if isinstance(tensor, fakes.FakeTensor) and tensor.device.type == "cuda" and tensor.fake_mode is mode:
        return tensor
    plain = tensor.detach()
    if real is not None and not isinstance(tensor, fakes.FakeTensor):
        plain = plain.clone(memory_format=torch.preserve_format)
    inner = torch.empty_strided(tuple(plain.shape), tuple(plain.stride()), dtype=plain.dtype, device="meta")
    made = fakes.FakeTensor(mode, inner, torch.device("cuda:0"))
    if isinstance(tensor, torch.nn.Parameter):
        made = torch.nn.Parameter(made, requires_grad=tensor.requires_grad)
    if real is not None and not isinstance(tensor, fakes.FakeTensor):
        real.remember(made, plain)
    return made
