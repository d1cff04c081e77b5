#!/usr/bin/env python3
"""JAX's ROCm plugin on an emulated GPU: XLA compiles each step, it runs there, and is compared with NumPy.

    python3.11 -m venv venv && venv/bin/pip install jax==0.10.2 jax-rocm7-pjrt==0.10.2 jax-rocm7-plugin==0.10.2
    JAX_PLATFORMS=rocm kpt emulate --gpu mi300x -- venv/bin/python benchmarks/jax_steps.py

Nothing of JAX is changed. Exit status 1 if a step fails. `--match` takes the steps whose name matches.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

RANDOM = np.random.RandomState(0)
A, B, X = (RANDOM.rand(*shape).astype(np.float32) for shape in ((64, 32), (32, 48), (1000,)))


def same(got: object, expected: object, tolerance: float = 1e-5) -> bool:
    """Whether a device array holds what NumPy gives."""
    return bool(np.allclose(np.asarray(got), expected, rtol=tolerance, atol=tolerance))


def product(precision: str, tolerance: float) -> bool:
    """A matrix product; by default XLA takes the matrix units' shorter floats."""
    run = jax.jit(lambda p, q: jnp.matmul(p, q, precision=precision))
    return same(run(A, B), A.astype(np.float64) @ B, tolerance)


def gradient() -> bool:
    """A derivative through a loss, compiled."""
    run = jax.jit(jax.grad(lambda w: jnp.sum(jnp.tanh(w) ** 2)))
    return same(run(A), 2 * np.tanh(A) * (1 - np.tanh(A) ** 2))


def softmax() -> bool:
    """Rows that sum to one."""
    shifted = np.exp(A - A.max(axis=1, keepdims=True))
    return same(jax.jit(jax.nn.softmax)(A), shifted / shifted.sum(axis=1, keepdims=True))


STEPS: dict[str, Callable[[], bool]] = {
    "devices": lambda: [one.platform for one in jax.devices()] == ["gpu"],
    "there and back": lambda: same(jax.device_put(X), X, 0),
    "elementwise": lambda: same(jax.jit(lambda x: jnp.sin(x) * 2 + x**2)(X), np.sin(X) * 2 + X**2),
    "reduction": lambda: same(jax.jit(jnp.sum)(A), A.sum(), 1e-4),
    "matmul, float32": lambda: product("highest", 1e-4),
    "matmul": lambda: product("default", 1e-2),
    "softmax": softmax,
    "gradient": gradient,
    "sort": lambda: same(jax.jit(jnp.sort)(X), np.sort(X), 0),
    "cumsum": lambda: same(jax.jit(jnp.cumsum)(X), np.cumsum(X), 1e-3),
    "indexing": lambda: same(jax.jit(lambda x: x[::-1].at[3].set(7.0))(X)[:4], [*X[::-1][:3], 7.0], 0),
}


def main() -> int:
    """Runs the steps and prints each with its outcome."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", default="", help="only steps whose name matches this regular expression")
    chosen = {name: step for name, step in STEPS.items() if re.search(parser.parse_args().match, name)}
    passed = 0
    for name, step in chosen.items():
        started = time.process_time()
        try:
            outcome = "ok" if step() else "WRONG"
        except Exception as problem:  # any failure of a step is its outcome, and the next one runs
            outcome = f"FAILED {type(problem).__name__}: {str(problem)[:200]}"
        passed += outcome == "ok"
        print(f"{name}: {outcome} ({time.process_time() - started:.1f} s)", flush=True)
    print(f"{passed} of {len(chosen)} steps agree with NumPy")
    return 0 if passed == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
