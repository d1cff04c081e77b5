"""How a whole decoder is cut into the programs of one kernel: plain numbers, known before anything is compiled.

Units: a box is 4 rows of a matrix, a line 64 values, a tile 16 rows of 8 lines. Every matrix is dealt out to programs
by boxes, and every program goes through its tiles in the same order, so the next weights are known long before they are
needed.
"""

from __future__ import annotations

from dataclasses import dataclass

BOX_ROWS, LINE, TILE_LINES = 4, 64, 8
HEAD_SIZES = (64, 128)  # one or two lines a head: the attention inside is written for them
KEYS = 128  # keys of one line that a program holds in its registers
STAGES = 6  # tiles, two by two, that fit into shared memory beside the rest
IN_FLIGHT = 2  # stages asked for and not there yet: more of them only queue before what others need sooner
PIECE_LINES = 128  # of what attention has left: with more, all programs reading all of it takes longer than it saves
LEAST_PARTS = 4  # with fewer, most programs would wait for attention
WARPS = 8
TABLE_COLUMNS = (
    16  # of each layer's tensors: q, k, v, o, gate, up, down, two norms, keys, values, the norms of heads; then room
)
SPACING = 64  # counters are as many numbers apart: each in a place of its own in the cache


def _pieces(whole: int, part: int) -> int:
    return -(-whole // part)


def _power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()


@dataclass(frozen=True)
class DecoderShape:
    """A decoder of `layers` equal layers, for `programs` programs that run at the same time."""

    layers: int
    hidden: int
    wide: int
    words: int
    heads: int
    shared: int
    length: int
    has_bias: bool
    programs: int
    stages: int = STAGES
    in_flight: int = IN_FLIGHT
    size: int = LINE  # of a head
    has_head_norms: bool = False

    @property
    def hidden_lines(self) -> int:
        return self.hidden // LINE

    @property
    def wide_lines(self) -> int:
        return self.wide // LINE

    @property
    def hidden_rows(self) -> int:
        """Lines of the row, as many as a block of Triton may have."""
        return _power_of_two(self.hidden_lines)

    @property
    def wide_rows(self) -> int:
        return _power_of_two(self.wide_lines)

    @property
    def longest_row(self) -> int:
        """Lines of shared memory for the row that is multiplied next; tiles are read two at a time."""
        return max(2 * TILE_LINES, self.hidden_rows, self.wide_rows, self.seen_rows)

    @property
    def head_lines(self) -> int:
        return self.size // LINE

    @property
    def head_words(self) -> int:
        """Two values to a word."""
        return self.size // 2

    @property
    def slots(self) -> int:
        """Heads, as many as a block of Triton may have."""
        return _power_of_two(self.heads)

    @property
    def seen_lines(self) -> int:
        """What attention gives: all heads beside each other."""
        return self.heads * self.head_lines

    @property
    def seen_rows(self) -> int:
        return self.slots * self.head_lines

    @property
    def group(self) -> int:
        return self.heads // self.shared

    @property
    def q_boxes(self) -> int:
        return self.heads * self.size // BOX_ROWS

    @property
    def k_boxes(self) -> int:
        return self.shared * self.size // BOX_ROWS

    @property
    def qkv_boxes(self) -> int:
        return self.q_boxes + 2 * self.k_boxes

    @property
    def hidden_boxes(self) -> int:
        return self.hidden // BOX_ROWS

    @property
    def wide_boxes(self) -> int:
        return self.wide // BOX_ROWS

    @property
    def word_boxes(self) -> int:
        return self.words // BOX_ROWS

    @property
    def qkv_each(self) -> int:
        """Boxes of a program."""
        return _pieces(self.qkv_boxes, self.programs)

    @property
    def hidden_each(self) -> int:
        return _pieces(self.hidden_boxes, self.programs)

    @property
    def wide_each(self) -> int:
        return _pieces(self.wide_boxes, self.programs)

    @property
    def words_each(self) -> int:
        return _pieces(self.word_boxes, self.programs)

    @property
    def parts(self) -> int:
        """Programs that share a head's keys."""
        as_many_as_there_are = _power_of_two(self.programs // self.heads + 1) // 2
        return min(as_many_as_there_are, max(LEAST_PARTS, PIECE_LINES // self.seen_rows))

    @property
    def keys_held(self) -> int:
        return KEYS // self.head_lines

    @property
    def chunks(self) -> int:
        """How often a program fetches keys."""
        return _pieces(self.length, self.parts * self.keys_held)

    @property
    def keys_each(self) -> int:
        return self.chunks * self.keys_held

    @property
    def pieces(self) -> int:
        """Slots times parts: what attention leaves to be put together."""
        return self.slots * self.parts

    # A thread has 232 registers. What does not fit goes to memory and back, at places where everybody waits: that took
    # 6 to 11 % of a layer's time. So a program holds fewer weights where rows or heads are long.

    @property
    def has_short_rows(self) -> bool:
        return self.hidden_rows <= 32

    @property
    def is_roomy(self) -> bool:
        """Short rows, and heads of one line."""
        return self.has_short_rows and self.head_lines == 1

    @property
    def parts_at_once(self) -> int:
        """Parts that are read together: as many as a thread has registers for."""
        lines = PIECE_LINES if self.is_roomy else PIECE_LINES // 2
        return max(1, min(self.parts, lines // self.seen_rows))

    @property
    def seen_held(self) -> int:
        """Stages of the output matrix that a program takes into its registers, if sixteen rows have as many."""
        most = 2 if self.is_roomy else 1 if self.head_lines == 1 else 0
        return min(most, _pieces(self.seen_lines, 2 * TILE_LINES))

    @property
    def gated_held(self) -> int:
        """The same of the gate's and the up matrix."""
        return min(2 if self.has_short_rows else 1, self.hidden_lines // TILE_LINES)

    # Where the words of each step are in the one buffer that all programs write to and read from.

    @property
    def at_pieces(self) -> int:
        return (self.qkv_boxes * BOX_ROWS) // 2

    @property
    def at_tops(self) -> int:
        return self.at_pieces + self.pieces * self.head_words

    @property
    def at_middle(self) -> int:
        return self.at_tops + max(16, self.pieces)

    @property
    def at_gated(self) -> int:
        return self.at_middle + self.hidden // 2

    @property
    def at_row(self) -> int:
        return self.at_gated + self.wide // 2

    @property
    def exchanged(self) -> int:
        return self.at_row + self.hidden // 2


def why_not(shape: DecoderShape) -> str | None:
    """What the kernel cannot do about a decoder; None where it can take it."""
    tile = LINE * TILE_LINES
    if shape.size not in HEAD_SIZES:
        return f"heads of {shape.size} are none of {HEAD_SIZES}"
    heads = f"heads x {shape.size}"
    for name, size in (("hidden size", shape.hidden), (heads, shape.heads * shape.size), ("MLP", shape.wide)):
        if size % tile:
            return f"the {name} ({size}) is not a multiple of {tile}"
    if shape.words % BOX_ROWS:
        return f"{shape.words} words are not a multiple of {BOX_ROWS}"
    if shape.heads % shape.shared:
        return f"{shape.heads} query heads over {shape.shared} key-value heads"
    if shape.heads > shape.programs:
        return f"{shape.heads} heads are more than the GPU's {shape.programs} multiprocessors"
    if max(shape.longest_row, shape.pieces) > 256 or shape.hidden_rows > 64:
        return f"rows of {shape.hidden} and {shape.wide} values do not fit beside the weights"
    return None
