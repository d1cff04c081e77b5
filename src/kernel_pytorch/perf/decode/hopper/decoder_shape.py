"""How a whole decoder is cut into the programs of one kernel: plain numbers, known before anything is compiled.

Units: a box is 4 rows of a matrix, a line 64 values, a tile 16 rows of 8 lines. Every matrix is dealt out to programs
by boxes, and every program goes through its tiles in the same order, so the next weights are known long before they are
needed.
"""

from __future__ import annotations

from dataclasses import dataclass

BOX_ROWS, LINE, TILE_LINES = 4, 64, 8
HEAD_SIZE = 64  # one line a head: the attention inside is written for it
KEYS = 128  # keys that a program holds in its registers
STAGES = 6  # tiles, two by two, that fit into shared memory beside the rest
IN_FLIGHT = 2  # stages asked for and not there yet: more of them only queue before what others need sooner
WARPS = 8
TABLE_COLUMNS = 16  # of each layer's tensors: q, k, v, o, gate, up, down, two norms, keys, values; the rest is room
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
        return max(2 * TILE_LINES, self.hidden_rows, self.wide_rows, self.heads)

    @property
    def group(self) -> int:
        return self.heads // self.shared

    @property
    def q_boxes(self) -> int:
        return self.heads * HEAD_SIZE // BOX_ROWS

    @property
    def k_boxes(self) -> int:
        return self.shared * HEAD_SIZE // BOX_ROWS

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
        return _power_of_two(self.programs // self.heads + 1) // 2

    @property
    def chunks(self) -> int:
        """How often a program fetches keys."""
        return _pieces(self.length, self.parts * KEYS)

    @property
    def keys_each(self) -> int:
        return self.chunks * KEYS

    @property
    def pieces(self) -> int:
        """Heads times parts: what attention leaves to be put together."""
        return self.heads * self.parts

    @property
    def seen_held(self) -> int:
        """Stages of the output matrix that a program takes into its registers: two, if sixteen rows have as many."""
        return min(2, _pieces(self.heads, 2 * TILE_LINES))

    @property
    def gated_held(self) -> int:
        return min(2, self.hidden_lines // TILE_LINES)

    # Where the words of each step are in the one buffer that all programs write to and read from.

    @property
    def at_pieces(self) -> int:
        return (self.qkv_boxes * BOX_ROWS) // 2

    @property
    def at_tops(self) -> int:
        return self.at_pieces + self.pieces * LINE // 2

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
    for name, size in (("hidden size", shape.hidden), ("heads x 64", shape.heads * HEAD_SIZE), ("MLP", shape.wide)):
        if size % tile:
            return f"the {name} ({size}) is not a multiple of {tile}"
    if shape.words % BOX_ROWS:
        return f"{shape.words} words are not a multiple of {BOX_ROWS}"
    if shape.heads & (shape.heads - 1) or shape.heads % shape.shared:
        return f"{shape.heads} query heads over {shape.shared} key-value heads"
    if shape.heads > shape.programs:
        return f"{shape.heads} heads are more than the GPU's {shape.programs} multiprocessors"
    if max(shape.longest_row, shape.pieces) > 256 or shape.hidden_rows > 64:
        return f"rows of {shape.hidden} and {shape.wide} values do not fit beside the weights"
    return None
