"""A run of lane-wise instructions that becomes one loop over the lanes.

Within a run a register is a C variable of the loop's body: loaded from the register file once, stored once at the
end. Scalar operands are captured where their instruction stands, so scalar code between the run's instructions
stays where it is and the loop can be written after it.

A large kernel's runs become functions (`outline`). What such a run uses of its kernel is marked in its C, so that the
function can take it as a parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

RegisterKey = tuple[str, int]  # file "v" or "a", index
_FILES = {"v": "VG", "a": "AG"}
#: Stands before and after what a run uses of its kernel. No C has this character.
MARK = "\0"


@dataclass(frozen=True)
class Parameter:
    """How a function takes what its run uses: the C type, and the beginning of the parameter's name."""

    c_type: str
    prefix: str


ROW = Parameter("uint32_t *", "r")
WORD = Parameter("uint32_t ", "k")
WIDE = Parameter("uint64_t ", "k")
LANES_ON = Parameter("uint64_t ", "en")
MASK_READ = Parameter("const uint32_t *", "m")
MASK_WRITTEN = Parameter("uint32_t *", "c")
MOVED = Parameter("const uint32_t *", "dpp")


def row_of(key: RegisterKey) -> str:
    """The C expression of a register's lanes."""
    return f"{_FILES[key[0]]}({key[1]})"


@dataclass
class LaneRun:
    """The loop body so far, and which C variable holds which register in it."""

    inline: bool  # in the kernel itself, not as a function
    lanes_on: str = ""  # C variable of the lanes that may write, among those of EXEC
    parameters: dict[str, Parameter] = field(default_factory=dict)  # of the function: C in the kernel -> how
    rounding: int | None = None  # where MODE can change: the shift of its rounding field that the run uses
    alone: bool = False  # not for the vectoriser: one loop over active lanes
    body: list[str] = field(default_factory=list)
    values: dict[RegisterKey, str] = field(default_factory=dict)
    wide: dict[RegisterKey, str] = field(default_factory=dict)
    written: dict[RegisterKey, None] = field(default_factory=dict)
    masks: dict[int, str] = field(default_factory=dict)  # first SGPR -> C variable with this lane's 0 or 1
    mask_names: dict[int, str] = field(default_factory=dict)  # first SGPR -> its array, for the flush
    captured: dict[tuple[str, int], str] = field(default_factory=dict)
    numbers: int = 0

    def fresh(self) -> str:
        self.numbers += 1
        return f"x{self.numbers}"

    def outer(self, written: str, how: Parameter) -> str:
        """Something of the kernel, for the loop's C."""
        if self.inline:
            return written
        self.parameters[written] = how
        return f"{MARK}{written}{MARK}"

    def row(self, key: RegisterKey) -> str:
        """A register's lanes, for the loop's C."""
        return self.outer(row_of(key), ROW)

    def read(self, key: RegisterKey) -> str:
        """The variable that holds a register."""
        if key not in self.values:
            name = self.fresh()
            self.body.append(f"const uint32_t {name} = {self.row(key)}[l];")
            self.values[key] = name
        return self.values[key]

    def read_wide(self, key: RegisterKey) -> str:
        """The variable that holds a register pair as 64 bits."""
        if key not in self.wide:
            low, high = self.read(key), self.read((key[0], key[1] + 1))
            name = self.fresh()
            self.body.append(f"const uint64_t {name} = (uint64_t){high} << 32 | {low};")
            self.wide[key] = name
        return self.wide[key]

    def write(self, key: RegisterKey, expression: str) -> None:
        """Make a register the value of an expression."""
        name = self.fresh()
        self.body.append(f"const uint32_t {name} = {expression};")
        self._set(key, name)

    def write_wide(self, key: RegisterKey, name: str) -> None:
        """Make a register pair the value of a 64-bit variable."""
        self.write(key, f"(uint32_t){name}")
        self.write((key[0], key[1] + 1), f"(uint32_t)({name} >> 32)")
        self.wide[key] = name

    def write_pair(self, key: RegisterKey, low: str, high: str) -> None:
        """Make the registers of a pair the values of two variables."""
        self._set(key, low)
        self._set((key[0], key[1] + 1), high)

    def _set(self, key: RegisterKey, name: str) -> None:
        self.values[key] = name
        self.written[key] = None
        for first in (key[1], key[1] - 1):
            self.wide.pop((key[0], first), None)

    def forget_scalar(self, index: int) -> None:
        """A scalar register changed: later instructions capture it anew."""
        for key in [key for key in self.captured if key[1] in (index, index - 1)]:
            del self.captured[key]

    def mask_registers(self, wave: int) -> set[int]:
        """Scalar registers whose value only the finished loop will have."""
        found: set[int] = set()
        for first in self.mask_names:
            found |= {first, first + 1} if wave == 64 else {first}
        return found


def mask_arrays(run: LaneRun) -> list[str]:
    """The C arrays into which a run's loop writes the masks it makes."""
    return [f"uint32_t {name}[WAVE];" for name in run.mask_names.values()]


def loops(run: LaneRun, stored: list[RegisterKey]) -> list[str]:
    """The C of a finished run: one loop for all lanes on, one that keeps what lanes that are off had."""
    whole = [f"{run.row(key)}[l] = {run.values[key]};" for key in stored]
    made = {first: run.outer(name, MASK_WRITTEN) for first, name in run.mask_names.items()}
    tests = [f"{name}[l] = {run.masks[first]};" for first, name in made.items()]
    enabled = f"ex & {run.outer(run.lanes_on, LANES_ON)}" if run.lanes_on else "ex"
    if run.alone:
        zeroes = [f"{name}[l] = 0;" for name in made.values()]
        clear = [f"for (uint32_t l = 0; l < WAVE; l++) {{ {' '.join(zeroes)} }}"] if zeroes else []
        return [
            *clear,
            f"KPT_EACH_LANE(l, {enabled}) {{",
            *run.body,
            *whole,
            *tests,
            "}",
        ]
    masked = [f"{run.row(key)}[l] = kpt_select(on[l], {run.values[key]}, {run.row(key)}[l]);" for key in stored]
    if not stored:
        return ["KPT_LANES(l) {", *run.body, *tests, "}"]
    return [
        f"if (KPT_LIKELY(({enabled}) == KPT_FULL)) {{",
        "KPT_LANES(l) {",
        *run.body,
        *whole,
        *tests,
        "}",
        "} else {",
        f"uint32_t on[WAVE]; kpt_spread(on, {enabled});",
        f"KPT_ROWS_ON(kpt_row, {enabled}) KPT_ROW(kpt_k) {{",
        "const uint32_t l = kpt_row + kpt_k;",
        *run.body,
        *masked,
        *tests,
        "}",
        "}",
    ]
