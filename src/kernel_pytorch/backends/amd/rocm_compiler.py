"""ROCmCompiler: HIP source to AMD code objects, with a cache in memory and on disk.

Every binary was written by a compiler, here or in the process that filled the cache. What does not compile
raises HIPCompilationError with the compiler's words.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from kernel_pytorch.backends.amd.compiled_kernel import CompiledKernel
from kernel_pytorch.backends.amd.stored_kernel import StoredKernel, stored_kernel
from kernel_pytorch.backends.amd.target_choice import TargetChoice, choose_target
from kernel_pytorch.core.config import AMDConfig
from kernel_pytorch.core.errors import AMDConfigurationError, HIPCompilationError
from kernel_pytorch.toolchain.cache import KernelCache
from kernel_pytorch.toolchain.identity import (
    COMPILER_VARIABLES,
    ToolchainIdentity,
    identity_of,
    remember_identity,
    remembered_identity,
)
from kernel_pytorch.version import VERSION

if TYPE_CHECKING:
    from kernel_pytorch.backends.amd.hiprtc import Hiprtc
    from kernel_pytorch.toolchain.find import Toolchain

LEVEL_FLAGS = {
    # Without fusing a*b+c every operation rounds by itself, as plain C on a CPU does.
    "conservative": ("-O2", "-ffp-contract=off"),
    "balanced": ("-O3",),
    # float division and square root within 2.5 and 3 ulp instead of correctly rounded, as nvcc's
    # -prec-div=false -prec-sqrt=false.
    "aggressive": ("-O3", "-fno-hip-fp32-correctly-rounded-divide-sqrt"),
}
COMPILERS = ("auto", "toolchain", "hiprtc")
_O_LEVEL = re.compile(r"-?(O[0-3s])\Z")
_TOOLCHAINS_REMEMBERED = 16
_STRIPES = 256


def optimization_flags(level: str) -> tuple[str, ...]:
    """The compiler flags of "conservative", "balanced", "aggressive", or of "O0" to "O3" and "Os"."""
    if level in LEVEL_FLAGS:
        return LEVEL_FLAGS[level]
    match = _O_LEVEL.match(level)
    if match is None:
        allowed = f"one of {', '.join(LEVEL_FLAGS)}, O0, O1, O2, O3, Os"
        raise AMDConfigurationError("optimization_level", level, allowed)
    return (f"-{match.group(1)}",)


class ROCmCompiler:
    """Compiles HIP kernels for the configured AMD GPU; safe to share between threads.

    `target` overrides the configuration's architecture ("gfx90a"). The configuration's hip_kernel_cache_enabled,
    hip_compiler_cache_size (kernels, in memory and on disk) and hip_compiler_cache_dir govern the cache;
    `max_cache_bytes` bounds it on disk. `compiler` is "toolchain" (what `kpt build --toolchain` lists), "hiprtc"
    (ROCm's compiler as a library), or "auto": the first, and the second where there is none.
    """

    def __init__(
        self,
        config: AMDConfig | None = None,
        *,
        target: str | None = None,
        max_cache_bytes: int = 1 << 30,
        compiler: str = "auto",
    ) -> None:
        if compiler not in COMPILERS:
            raise AMDConfigurationError("compiler", compiler, f"one of {', '.join(COMPILERS)}")
        self.config = config if config is not None else AMDConfig()
        self._wanted = compiler
        self._hiprtc: Hiprtc | None = None
        self.cache: KernelCache | None = None
        self._toolchains: KernelCache | None = None
        if self.config.hip_kernel_cache_enabled:
            directory = self.config.hip_compiler_cache_dir
            self.cache = KernelCache(directory, self.config.hip_compiler_cache_size, max_cache_bytes)
            self._toolchains = KernelCache(directory, _TOOLCHAINS_REMEMBERED, kind="toolchains")
        self._explicit_target = target
        self._choice: TargetChoice | None = None
        self._toolchain: Toolchain | None = None
        self._identity: ToolchainIdentity | None = None
        self._memory: OrderedDict[str, StoredKernel] = OrderedDict()
        self._counts = dict.fromkeys(("compilations", "hits", "misses", "errors"), 0)
        self._lock = threading.RLock()
        # Threads that want the same kernel wait for one compile; keys that share a stripe merely queue.
        self._stripes = [threading.Lock() for _ in range(_STRIPES)]

    def compile_kernel(
        self,
        source: str,
        name: str,
        optimization_level: str | None = None,
        *,
        target: str | None = None,
        keep_assembly: bool = False,
    ) -> CompiledKernel:
        """Compile HIP `source`; `name` is a label for messages and finds the kernel to launch.

        `optimization_level` is conservative, balanced, aggressive or O0 to O3 (the configuration's if None),
        `target` a gfx name for this kernel only. `hip/hip_runtime.h` need not be included. `keep_assembly` also
        keeps the compiler's assembly: with it an emulated GPU runs the kernel where there is no disassembler.
        Raises HIPCompilationError with the compiler's words, or saying how to get a compiler.
        """
        if not isinstance(source, str) or not isinstance(name, str):
            raise TypeError("compile_kernel(source, name): both are text")
        choice = self._target_choice(target)
        flags = optimization_flags(optimization_level or choice.config.optimization_level)
        try:
            _check_texts(source, name)
            stored, cache_hit = self._stored(source, name, choice.target, flags, keep_assembly)
        except HIPCompilationError:
            self._count("errors")
            raise
        return CompiledKernel(
            name=name,
            source_hash=hashlib.sha256(source.encode(errors="surrogatepass")).hexdigest(),
            binary=stored.binary,
            architecture=choice.target,
            optimization_flags=flags,
            compile_time_ms=stored.compile_time_ms,
            cache_hit=cache_hit,
            architecture_reason=choice.reason,
            toolchain=stored.toolchain,
            assembly=stored.assembly,
        )

    def get_compilation_stats(self) -> dict[str, int | float]:
        """Counts of this compiler.

        `total_compilations` are runs of the compiler, failed ones included; `cache_size` is the number of kernels
        held in memory (`compiler.cache.stats()` tells what is on disk).
        """
        with self._lock:
            asked = self._counts["hits"] + self._counts["misses"]
            return {
                "total_compilations": self._counts["compilations"],
                "cache_hits": self._counts["hits"],
                "cache_misses": self._counts["misses"],
                "compilation_errors": self._counts["errors"],
                "cache_size": len(self._memory),
                "cache_hit_rate_percent": 100.0 * self._counts["hits"] / asked if asked else 0.0,
            }

    def clear_cache(self) -> None:
        """Forget every kernel, in memory and on disk. Files that are not this cache's stay."""
        with self._lock:
            self._memory.clear()
        for cache in (self.cache, self._toolchains):
            if cache is not None:
                cache.clear()

    def target(self) -> TargetChoice:
        """The gfx target that kernels are built for, and why that one."""
        return self._target_choice(None)

    def _target_choice(self, explicit: str | None) -> TargetChoice:
        if explicit is not None:
            return choose_target(self.config, explicit)
        with self._lock:
            if self._choice is None:
                self._choice = choose_target(self.config, self._explicit_target)
            return self._choice

    def _stored(
        self, source: str, name: str, target: str, flags: tuple[str, ...], keep_assembly: bool
    ) -> tuple[StoredKernel, bool]:
        if self.cache is None:
            self._count("misses")
            return self._build(source, name, target, flags, keep_assembly), False
        key = self._key(source, name, target, (*flags, "assembly") if keep_assembly else flags)
        with self._stripes[int(key[:8], 16) % _STRIPES]:
            found = self._from_memory(key) or self._from_disk(self.cache, key)
            if found is not None:
                self._count("hits")
                return found, True
            with self.cache.making(key):
                made_meanwhile = self._from_disk(self.cache, key)
                if made_meanwhile is not None:
                    self._count("hits")
                    return made_meanwhile, True
                self._count("misses")
                built = self._build(source, name, target, flags, keep_assembly)
                self.cache.put(key, built.to_bytes())
            self._keep(key, built)
            return built, False

    def _build(self, source: str, name: str, target: str, flags: tuple[str, ...], keep_assembly: bool) -> StoredKernel:
        # Imported here: a hit needs none of the compiler's machinery, and loading it costs more than the hit.
        from kernel_pytorch.backends.amd.hip_build import build_kernel
        from kernel_pytorch.backends.amd.hiprtc_build import build_with_hiprtc

        toolchain = self._found_toolchain(name)
        self._count("compilations")
        if toolchain is None:
            assert self._hiprtc is not None
            if keep_assembly:
                raise HIPCompilationError(
                    name, "hiprtc gives no assembly: keep_assembly needs a compiler that writes it"
                )
            return build_with_hiprtc(source, name, target, flags, self._hiprtc)
        return build_kernel(source, name, target, flags, toolchain, keep_assembly)

    def _key(self, source: str, name: str, target: str, flags: tuple[str, ...]) -> str:
        """A digest of everything that decides the binary, except the headers a source includes by itself.

        Those are known only after a compile; their stamps are stored with the kernel and checked on every hit.
        """
        variables = (f"{variable}={os.environ.get(variable, '')}" for variable in COMPILER_VARIABLES)
        fingerprint = self._toolchain_identity(name).fingerprint
        digest = hashlib.sha256()
        for part in (VERSION, fingerprint, target, name, *flags, *variables, source):
            encoded = part.encode(errors="surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
        return digest.hexdigest()

    def _toolchain_identity(self, name: str) -> ToolchainIdentity:
        with self._lock:
            if self._identity is None and self._toolchains is not None and self._wanted != "hiprtc":
                self._identity = remembered_identity(self._toolchains)
            if self._identity is None:
                toolchain = self._found_toolchain(name)
                self._identity = identity_of(toolchain) if toolchain is not None else self._hiprtc_identity()
            return self._identity

    def _hiprtc_identity(self) -> ToolchainIdentity:
        assert self._hiprtc is not None
        return self._hiprtc.identity

    def _found_toolchain(self, name: str) -> Toolchain | None:
        """The toolchain; None where hiprtc is what there is, or what was asked for."""
        from kernel_pytorch.toolchain.find import ToolchainNotFoundError, find_toolchain

        with self._lock:
            if self._toolchain is None and self._hiprtc is None:
                if self._wanted == "hiprtc":
                    self._hiprtc = _hiprtc_or_error(name, None)
                    return None
                try:
                    self._toolchain = find_toolchain()
                except ToolchainNotFoundError as error:
                    if self._wanted == "toolchain":
                        raise HIPCompilationError(name, str(error)) from error
                    self._hiprtc = _hiprtc_or_error(name, error)
                    return None
                if self._toolchains is not None:
                    remember_identity(self._toolchains, self._toolchain)
            return self._toolchain

    def _from_memory(self, key: str) -> StoredKernel | None:
        with self._lock:
            found = self._memory.get(key)
            if found is None or not found.is_current:
                return None
            self._memory.move_to_end(key)
            return found

    def _from_disk(self, cache: KernelCache, key: str) -> StoredKernel | None:
        payload = cache.get(key)
        if payload is None:
            return None
        found = stored_kernel(payload)
        if not found.is_current:
            return None
        self._keep(key, found)
        return found

    def _keep(self, key: str, kernel: StoredKernel) -> None:
        with self._lock:
            self._memory[key] = kernel
            self._memory.move_to_end(key)
            while len(self._memory) > self.config.hip_compiler_cache_size:
                self._memory.popitem(last=False)

    def _count(self, what: str) -> None:
        with self._lock:
            self._counts[what] += 1


def _check_texts(source: str, name: str) -> None:
    if not name.strip():
        raise HIPCompilationError(name, "the kernel has no name")
    if not source.strip():
        raise HIPCompilationError(name, "the source is empty")


def _hiprtc_or_error(name: str, no_toolchain: Exception | None) -> Hiprtc:
    from kernel_pytorch.backends.amd.hiprtc import HiprtcNotFoundError, find_hiprtc

    try:
        return find_hiprtc()
    except HiprtcNotFoundError as error:
        cause = no_toolchain or error
        raise HIPCompilationError(name, str(cause)) from cause
