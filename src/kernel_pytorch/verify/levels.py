"""The levels of verification, and what each one came to. Not run is never passed."""

from __future__ import annotations

from dataclasses import dataclass

from kernel_pytorch.core.findings import CheckResult, Status

NOTHING_TO_CHECK = "nothing to check"  # the name of the one check of a level that has nothing to do in this project
LEVELS = ("isolation", "static", "install", "build", "run", "numerical")
# The build level runs it for Triton kernels only, and leaves them out if asked.
RUNS_PROJECT_CODE = ("install", "run", "numerical")
NEEDS_PROJECT_CODE = "leave --no-run out: this level runs the project's own code"

MEANING = {
    "isolation": "the NVIDIA path is unchanged",
    "static": "nothing CUDA-only is left on the ROCm path",
    "install": "setup.py builds on ROCm what it builds on CUDA",
    "build": "every kernel compiles for the wanted GPUs",
    "run": "kernels and entry points run, with finite results",
    "numerical": "results equal the reference machine's",
}


@dataclass(frozen=True)
class LevelResult:
    """One level: its checks, and what it would take to run it where it did not."""

    level: str
    checks: tuple[CheckResult, ...] = ()
    needs: str = ""

    @property
    def meaning(self) -> str:
        """What the level shows. One that did not pass, or had nothing to do, does not claim it."""
        if [check.check for check in self.checks] == [NOTHING_TO_CHECK]:
            return f"{NOTHING_TO_CHECK}: {self.checks[0].detail}"
        return MEANING[self.level] if self.status is Status.PASS else f"checks whether {MEANING[self.level]}"

    @property
    def status(self) -> Status:
        """Passed only when every check passed; a check that was not run leaves the level at a warning."""
        seen = {check.status for check in self.checks}
        if not seen or seen == {Status.NOT_RUN}:
            return Status.NOT_RUN
        if Status.FAIL in seen:
            return Status.FAIL
        return Status.PASS if seen == {Status.PASS} else Status.WARN


@dataclass(frozen=True)
class Pyramid:
    """All levels of one project, lowest first, and where they were run."""

    project: str
    targets: tuple[str, ...]
    levels: tuple[LevelResult, ...]
    environment: dict[str, str]

    def level(self, name: str) -> LevelResult:
        return next(one for one in self.levels if one.level == name)

    def fulfils(self, required: str) -> bool:
        """True when every level up to the required one passed. A level that was not run did not pass."""
        upto = LEVELS[: LEVELS.index(required) + 1]
        return all(self.level(name).status is Status.PASS for name in upto)

    @property
    def failed(self) -> bool:
        return any(one.status is Status.FAIL for one in self.levels)
