"""`--run`: the wrapper replayed once more, with numbers. Kernels run on the emulated GPU, library calls on the CPU."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.entry_point import Subject
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.hardware import GPU
from kernel_pytorch.emulate.device import EmulatedDevice
from kernel_pytorch.perf.inspect.capture import Capture, GeneratedKernel, compile_and_replay
from kernel_pytorch.perf.inspect.compile_kernel import BuiltConfiguration, build_all, choose
from kernel_pytorch.perf.inspect.describe import argument_names, launch_grid
from kernel_pytorch.perf.inspect.fake_model import RealValues
from kernel_pytorch.perf.inspect.view import EmulatedRun

if TYPE_CHECKING:
    from torch import Tensor
    from torch._ops import OpOverload
    from torch._subclasses.fake_tensor import FakeTensorMode

# Differences allowed, relative to the largest output: rounding of the type, summed in another order.
ALLOWED = {"torch.float64": 1e-9, "torch.float32": 1e-4, "torch.float16": 2e-2, "torch.bfloat16": 5e-2}

ATTENTION = tuple(f"_scaled_dot_product_{kind}_attention" for kind in ("flash", "efficient", "cudnn"))


def eager_result(subject: Subject) -> list[Tensor]:
    """The subject's own result on the CPU, as a flat list of tensors."""
    import torch
    import torch.utils._pytree as tree

    with torch.no_grad():
        leaves = tree.tree_leaves(subject())
    return [leaf.clone() for leaf in leaves if isinstance(leaf, torch.Tensor)]


def run_emulated(
    subject: Subject, mode: FakeTensorMode, real: RealValues, eager: list[Tensor], seen: Capture, gpu: GPU
) -> EmulatedRun:
    """Compile, replay with numbers, compare with `eager`."""
    import torch
    import torch._subclasses.fake_tensor as fakes
    import torch.utils._pytree as tree

    with EmulatedDevice(gpu) as device:
        runner = _Runner(torch, fakes, device, real, gpu)
        seen.on_launch, seen.on_call = runner.launch, runner.call
        result = compile_and_replay(subject, mode)
        outputs = [leaf for leaf in tree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        with fakes.unset_fake_temporarily():
            got = [real.of(leaf).clone() for leaf in outputs]
    if len(got) != len(eager):
        raise UsageError(f"--run: {counted(len(got), 'output')}, eager has {len(eager)}")
    largest, allowed, matches = 0.0, 0.0, True
    with fakes.unset_fake_temporarily():
        for one, other in zip(got, eager, strict=True):
            limit = ALLOWED.get(str(other.dtype), 0.0) * max(float(other.abs().max()), 1.0)
            difference = float((one.double() - other.double()).abs().max())
            matches = matches and difference <= limit  # false for NaN as well
            largest, allowed = max(largest, difference), max(allowed, limit)
    return EmulatedRun(gpu.name, runner.launches, runner.calls, len(got), largest, allowed, matches)


class _Runner:
    """Carries out launches and calls of a replay on the real tensors behind the fake ones."""

    def __init__(
        self, torch: ModuleType, fakes: ModuleType, device: EmulatedDevice, real: RealValues, gpu: GPU
    ) -> None:
        self.torch, self.fakes, self.device, self.real, self.gpu = torch, fakes, device, real, gpu
        self.built: dict[str, tuple[BuiltConfiguration, Any]] = {}
        self.launches = self.calls = 0

    def launch(self, kernel: GeneratedKernel, args: tuple[Any, ...]) -> None:
        """A generated kernel, on the emulated GPU."""
        built, loaded = self._loaded(kernel)
        grid = launch_grid(kernel, built.config, args)
        signature = built.binary.src.signature
        names = argument_names(kernel, built.config)
        with self.fakes.unset_fake_temporarily(), _no_modes():
            values: list[object] = []
            pointers: dict[int, Tensor] = {}
            for name, value in zip(names, args, strict=False):
                if signature.get(name, "constexpr") == "constexpr":
                    continue
                values.append(self._memory(value, pointers) if isinstance(value, self.torch.Tensor) else value)
            spare = [None] * (len(loaded.parameters) - len(values))
            missing = max(int(built.binary.metadata.shared) - loaded.resources.lds_bytes, 0)
            threads = int(built.binary.metadata.num_warps) * self.gpu.target.wave_size
            loaded.launch(grid, threads, *values, *spare, shared_bytes=missing)
        self.launches += 1

    def call(self, operator: OpOverload, args: tuple[object, ...], kwargs: dict[str, object], result: object) -> None:
        """A library call (or an allocation or view), by ATen on the CPU."""
        import torch.utils._pytree as tree

        fake_results = [leaf for leaf in tree.tree_leaves(result) if isinstance(leaf, self.torch.Tensor)]
        known = all(self._known(leaf) for leaf in fake_results)
        name = operator._schema.name.partition("::")[2]
        if known and (operator.is_view or name in ("as_strided", "device")):
            return  # a view of numbers that are there

        def real_of(value: object) -> object:
            if isinstance(value, self.torch.Tensor):
                return self.real.of(value)
            if isinstance(value, self.torch.device):
                return self.torch.device("cpu")
            return value

        with self.fakes.unset_fake_temporarily(), _no_modes():
            real_args, real_kwargs = tree.tree_map(real_of, (args, kwargs))
            if name in ATTENTION:
                real_results = self._attention(operator, real_args, real_kwargs, fake_results)
            else:
                made = operator(*real_args, **real_kwargs)
                real_results = [leaf for leaf in tree.tree_leaves(made) if isinstance(leaf, self.torch.Tensor)]
            for fake, value in zip(fake_results, real_results, strict=True):
                if not self._known(fake):
                    self._remember(fake, value)
        self.calls += 0 if name in ("empty_strided", "empty") else 1

    def _attention(
        self, operator: OpOverload, args: tuple[Tensor, ...], kwargs: dict[str, object], fakes: list[Tensor]
    ) -> list[Tensor]:
        """Attention of a GPU library has no CPU kernel: plain attention gives the first result."""
        names = [one.name for one in operator._schema.arguments]
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        result = self.torch.nn.functional.scaled_dot_product_attention(
            given["query"],
            given["key"],
            given["value"],
            attn_mask=given.get("attn_bias"),
            is_causal=bool(given.get("is_causal", False)),
            scale=given.get("scale"),
        )
        rest = [self.torch.zeros(tuple(one.shape), dtype=one.dtype) for one in fakes[1:]]
        return [result, *rest]

    def _known(self, fake: Tensor) -> bool:
        return int(fake.untyped_storage()._cdata) in self.real.flat

    def _remember(self, fake: Tensor, value: Tensor) -> None:
        laid_out = value
        if tuple(value.stride()) != tuple(fake.stride()) or value.dtype != fake.dtype:
            laid_out = self.torch.empty_strided(tuple(fake.shape), tuple(fake.stride()), dtype=fake.dtype)
            laid_out.copy_(value)
        self.real.remember(fake, laid_out)

    def _loaded(self, kernel: GeneratedKernel) -> tuple[BuiltConfiguration, Any]:
        if kernel.name not in self.built:
            options = build_all(kernel.tuner, self.gpu)
            number = choose(options, self.gpu)
            if number is None:
                raise UsageError(f"--run: {kernel.name} has no configuration that compiles and fits")
            chosen = options[number]
            binary = chosen.binary
            with self.fakes.unset_fake_temporarily(), _no_modes():
                loaded = self.device.load(binary.asm["hsaco"], binary.metadata.name, binary.asm["amdgcn"])
            self.built[kernel.name] = (chosen, loaded)
        return self.built[kernel.name]

    def _memory(self, fake: Tensor, pointers: dict[int, Tensor]) -> Tensor:
        """All memory from the tensor's first element on, as a flat tensor of integers NumPy knows."""
        flat = self.real.of(fake)
        storage = int(flat.untyped_storage().data_ptr())
        if storage in pointers:
            raise UsageError("--run: a kernel takes two views of one tensor, which the emulated launch copies apart")
        pointers[storage] = flat
        length = flat.untyped_storage().nbytes() // flat.element_size() - flat.storage_offset()
        whole = flat.as_strided((length,), (1,), flat.storage_offset())
        sizes = {1: self.torch.uint8, 2: self.torch.int16, 4: self.torch.int32, 8: self.torch.int64}
        return whole.view(sizes[flat.element_size()])


def _no_modes() -> Any:
    import torch.utils._python_dispatch as dispatch

    return dispatch._disable_current_modes()
