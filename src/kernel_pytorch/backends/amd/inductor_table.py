"""What ROCm wants of torch.compile's settings: the one list, for `kpt doctor` and for our own compiles.

It is a public list of ROCm settings (KP160 names it), corrected by what stock torch does: most are the defaults since
torch 2.x, and `cache_size_limit` became `recompile_limit`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """One setting ROCm wants. `harm`: "red", "warn" or "info" when it differs; `at_least` compares as a minimum.

    `per_compile`: goes along as an option of our own compiles where it differs. The others help or hurt by the model.
    """

    key: str
    wanted: object
    harm: str
    why: str
    at_least: bool = False
    per_compile: bool = False

    @property
    def module(self) -> str:
        """ "inductor" or "dynamo"."""
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """The key without its module, as torch.compile's options have it."""
        return self.key.partition(".")[2]


def _of_every_compile(key: str, wanted: object, harm: str, why: str) -> Setting:
    return Setting(key, wanted, harm, why, per_compile=True)


RECOMPILE_LIMIT = 128

SETTINGS = (
    _of_every_compile(
        "inductor.max_autotune", False, "red", "turns mode='default' into a search that takes minutes or hangs"
    ),
    _of_every_compile("inductor.max_autotune_gemm", False, "warn", "searches GEMM kernels at every new shape"),
    _of_every_compile(
        "inductor.max_autotune_pointwise", False, "warn", "searches launch configurations of every fused kernel"
    ),
    _of_every_compile(
        "inductor.triton.cudagraphs", False, "warn", "Inductor's own graph capture is unreliable on ROCm"
    ),
    _of_every_compile("inductor.memory_planning", False, "warn", "deep recursion on large graphs"),
    _of_every_compile("inductor.coordinate_descent_tuning", False, "warn", "a second search after autotuning"),
    _of_every_compile("inductor.triton.cudagraph_trees", False, "info", "no effect while triton.cudagraphs is off"),
    Setting("inductor.aggressive_fusion", False, "info", "may help or hurt: measure before keeping it"),
    Setting("inductor.epilogue_fusion", True, "info", "fuses elementwise work into the kernel before it"),
    Setting("inductor.pattern_matcher", True, "info", "finds attention and fused-norm patterns"),
    Setting("inductor.reorder_for_locality", True, "info", "helps caches"),
    Setting("inductor.max_autotune_gemm_backends", "ATEN", "info", "no effect while max_autotune is off"),
    Setting(
        "dynamo.recompile_limit",
        RECOMPILE_LIMIT,
        "info",
        "models with changing shapes fall back to eager beyond it",
        at_least=True,
    ),
    Setting("dynamo.cache_size_limit", RECOMPILE_LIMIT, "info", "the old name of recompile_limit", at_least=True),
)


def keys_of(module: str) -> tuple[str, ...]:
    """The names of one module's settings: "inductor" or "dynamo"."""
    return tuple(setting.name for setting in SETTINGS if setting.module == module)
