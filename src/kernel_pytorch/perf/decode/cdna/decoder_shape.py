"""How a whole decoder is cut into the programs of one HIP kernel: plain numbers, known before anything is compiled.

Every matrix is dealt out to programs by rows. Inside a program eight waves share the columns: `lanes` lanes of 8
columns have a row, so a load of 16 bytes a lane covers 64 // lanes rows. The kernel's text is in `native/`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from kernel_pytorch.perf.decode.form import GATES, PLAIN, Form

WAVES = 8  # that multiply; a ninth talks to the other programs
WAVE = 64
THREADS = (WAVES + 1) * WAVE
TABLE_COLUMNS = 24  # of each layer: 11 tensors that all have, 7 that some have, what it sees; the rest is room
FLAGS = 4
HELD = 16  # loads of 16 bytes a lane that a wave has under way: 128 KB of a compute unit's 512 KB of registers
MOST_STEPS, FEW_STEPS = 8, 4  # of a row in a lane's registers, 8 values each: at most, and where it can be had
MOST_BYTES = 2**31  # of a matrix: as far as an offset goes
RESERVED_LDS = 4096


def _pieces(whole: int, part: int) -> int:
    return -(-whole // part)


def _power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()


def lanes_for(columns: int, rows: int) -> int:
    """Lanes that have a row of `columns`, where a program has `rows` such rows: as few loads as can be, then as long
    stretches of memory as can be."""

    def loads(lanes: int) -> int:
        return _pieces(rows, WAVE // lanes) * _pieces(columns, WAVES * lanes * 8)

    choices = [lanes for lanes in (64, 32, 16, 8, 4) if _pieces(columns, WAVES * lanes * 8) <= FEW_STEPS]
    return min(choices or [64], key=loads)


def takes_heads(size: int) -> bool:
    """Whether heads of this size are taken."""
    return size % 8 == 0 and 16 <= size <= 256


@dataclass(frozen=True)
class DecoderShape:
    """A decoder of `layers` equal layers, for `programs` programs that run at the same time."""

    layers: int
    hidden: int
    wide: int
    words: int
    heads: int
    shared: int
    size: int
    length: int
    programs: int
    has_bias: bool = False
    bias_is_float: bool = False
    is_half: bool = False
    held: int = HELD
    turned: int = 0  # rotated elements of a head; 0: all of them
    has_qkv_biases: bool = False
    has_head_norms: bool = False
    has_after_norms: bool = False
    kinds: int = 1  # sets of mask and angles, of which each layer has one
    form: Form = PLAIN

    @property
    def group(self) -> int:
        return self.heads // self.shared

    @property
    def qkv_rows(self) -> int:
        return (self.heads + 2 * self.shared) * self.size

    @property
    def lanes_hidden(self) -> int:
        return lanes_for(self.hidden, _pieces(self.qkv_rows, self.programs))

    @property
    def lanes_seen(self) -> int:
        return lanes_for(self.heads * self.size, _pieces(self.hidden, self.programs))

    @property
    def lanes_wide(self) -> int:
        return lanes_for(self.wide, _pieces(self.hidden, self.programs))

    @property
    def lanes_key(self) -> int:
        return _power_of_two(_pieces(self.size, 8))

    def _each(self, rows: int, *lanes: int) -> int:
        """Rows of a program: whole loads, and in pairs, because two results share a word."""
        return _pieces(_pieces(rows, self.programs), step := lcm(2, *(WAVE // one for one in lanes))) * step

    @property
    def qkv_each(self) -> int:
        """Rows of one of the three matrices: no program has rows of two."""
        step = lcm(2, WAVE // self.lanes_hidden)
        each = self._each(self.qkv_rows, self.lanes_hidden)
        while self._qkv_blocks(each) > self.programs and each < self.qkv_rows:
            each += step
        return each

    def _qkv_blocks(self, each: int) -> int:
        return _pieces(self.heads * self.size, each) + 2 * _pieces(self.shared * self.size, each)

    @property
    def hidden_each(self) -> int:
        return self._each(self.hidden, self.lanes_seen, self.lanes_wide)

    @property
    def wide_each(self) -> int:
        return self._each(self.wide, self.lanes_hidden)

    @property
    def words_each(self) -> int:
        return self._each(self.words, self.lanes_hidden)

    @property
    def most_rows(self) -> int:
        """Sums that a program keeps in LDS at a time."""
        return max(self.qkv_each, self.hidden_each, 2 * self.wide_each, self.words_each)

    @property
    def keys_at_once(self) -> int:
        return WAVES * WAVE // self.lanes_key

    @property
    def chunk(self) -> int:
        """Keys of a program: those of a head over as many programs as there are for it."""
        each = _pieces(self.length, max(1, self.programs // self.heads))
        return _pieces(each, self.keys_at_once) * self.keys_at_once

    @property
    def parts(self) -> int:
        """Programs that share a head's keys; none is without."""
        return _pieces(self.length, self.chunk)

    @property
    def exchanged(self) -> int:
        """Words of the buffer that all programs write to and read from; after them come flags and the past calls."""
        pieces = self.heads * self.parts * (self.size + 2) if self.parts > 1 else 0
        return (self.qkv_rows + self.heads * self.size + 2 * self.hidden + self.wide) // 2 + pieces

    @property
    def buffer_words(self) -> int:
        """All of that buffer, in words of 64 bits."""
        return self.exchanged + _pieces(FLAGS * self.programs + 1, 2)

    @property
    def lds_bytes(self) -> int:
        row = self.hidden // 2 if self.has_after_norms else 0
        return 4 * (WAVES * self.most_rows + self.hidden_each + (3 + WAVES) * self.size + row) + RESERVED_LDS

    @property
    def weight_bytes(self) -> int:
        """What one token reads of the weights."""
        layer = (self.qkv_rows + self.heads * self.size + 3 * self.wide) * self.hidden
        return 2 * (self.layers * layer + self.words * self.hidden)

    def constants(self) -> str:
        """The head of the kernel's source."""
        whole = {
            "LAYERS": self.layers,
            "HIDDEN": self.hidden,
            "WIDE": self.wide,
            "WORDS": self.words,
            "HEADS": self.heads,
            "SHARED_HEADS": self.shared,
            "GROUP": self.group,
            "SIZE": self.size,
            "LENGTH": self.length,
            "PROGRAMS": self.programs,
            "PARTS": self.parts,
            "CHUNK": self.chunk,
            "HELD": self.held,
            "LANES_HIDDEN": self.lanes_hidden,
            "LANES_SEEN": self.lanes_seen,
            "LANES_WIDE": self.lanes_wide,
            "LANES_KEY": self.lanes_key,
            "QKV_EACH": self.qkv_each,
            "HIDDEN_EACH": self.hidden_each,
            "WIDE_EACH": self.wide_each,
            "WORDS_EACH": self.words_each,
            "MOST_ROWS": self.most_rows,
            "TURNED": self.turned or self.size,
            "KINDS": self.kinds,
            "ACTIVATION": GATES.index(self.form.gate),
        }
        macros = {"IS_HALF": self.is_half, "BIAS_IS_FLOAT": self.bias_is_float}
        lines = [f"#define {name} {int(value)}" for name, value in macros.items()]
        known = {
            "HAS_BIAS": self.has_bias,
            "HAS_QKV_BIASES": self.has_qkv_biases,
            "HAS_HEAD_NORMS": self.has_head_norms,
            "HAS_AFTER_NORMS": self.has_after_norms,
            "ARE_NEIGHBOURS": self.form.neighbours,
        }
        numbers = {"CAP": self.form.cap, "NORM_PLUS": self.form.norm_plus}
        lines += [f"constexpr bool {name} = {str(value).lower()};" for name, value in known.items()]
        lines += [f"constexpr float {name} = {float(value)!r}f;" for name, value in numbers.items()]
        return "\n".join([*lines, *(f"constexpr int {name} = {value};" for name, value in whole.items())]) + "\n"


def why_not(shape: DecoderShape, lds_bytes: int) -> str | None:
    """What the kernel cannot do about a decoder on a GPU with so much LDS; None where it can take it."""
    seen = shape.heads * shape.size
    for name, size in (("hidden size", shape.hidden), ("heads x their size", seen), ("MLP", shape.wide)):
        if size % 8:
            return f"the {name} ({size}) is not a multiple of 8"
        if _pieces(size, WAVES * WAVE * 8) > MOST_STEPS:
            return f"the {name} ({size}) is more than {WAVES * WAVE * 8 * MOST_STEPS}"
    if not takes_heads(shape.size):
        return f"heads of {shape.size}: multiples of 8 from 16 to 256 are taken"
    if shape.turned % 2 or shape.turned > shape.size:
        return f"{shape.turned} rotated elements of heads of {shape.size}: an even number of them can be"
    if shape.words % 2:
        return f"{shape.words} words are an odd number"
    if shape.shared < 1 or shape.heads % shape.shared:
        return f"{shape.heads} query heads over {shape.shared} key-value heads"
    if shape.programs < 3:
        return f"{shape.programs} programs: query, key and value need one each"
    if shape.heads > shape.programs:
        return f"{shape.heads} heads are more than the {shape.programs} programs that the GPU runs at once"
    largest = max(shape.words, shape.wide) * shape.hidden * 2
    if max(largest, shape.length * shape.size * 2) >= MOST_BYTES:
        return f"a matrix has {largest} bytes: offsets go to {MOST_BYTES}"
    if shape.lds_bytes > lds_bytes:
        return (
            f"{shape.lds_bytes} bytes of LDS are needed for the sums of {shape.most_rows} rows; there are {lds_bytes}"
        )
    return None
