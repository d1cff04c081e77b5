"""A C, C++ or CUDA file: its tokens and its syntax tree, made when first asked for. Positions are byte offsets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from kernel_pytorch.port.cxx.lexer import Token, safe_cut, tokenize
from kernel_pytorch.port.source import SourceFile, language_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

# A tree takes about 25 times the bytes of its source: larger files are machine-made tables, and get names only.
MAX_PARSED_BYTES = 8_000_000
# The parser tries every reading of `a<b>::c<d>::`: its time grows with the third power of how long that goes on.
MAX_ANGLES = 300
PIECE_BYTES = 1_000_000


@dataclass(frozen=True)
class CxxFile(SourceFile):
    """A file that a C++ compiler reads."""

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The tokens, comments included."""
        return tokenize(self.data)

    @cached_property
    def code(self) -> tuple[Token, ...]:
        """The tokens without comments."""
        return tuple(token for token in self.tokens if token.kind != "comment")

    @cached_property
    def tree(self) -> Tree:
        """The tree-sitter tree, CUDA grammar. Broken code gives a tree with ERROR nodes, never an exception."""
        if not self.is_parsable:
            raise ValueError(f"{self.path}: {self.why_not_parsed}: not to be parsed")
        return _parser().parse(self.data)

    @property
    def is_parsable(self) -> bool:
        """Whether `tree` may be asked for."""
        return not self.why_not_parsed

    @cached_property
    def why_not_parsed(self) -> str:
        """Why `tree` must not be asked for; empty where it may."""
        if len(self.data) > MAX_PARSED_BYTES:
            return f"{len(self.data)} bytes"
        if self.data.count(b"<") > MAX_ANGLES and _most_angles(self) > MAX_ANGLES:
            return f"more than {MAX_ANGLES} template brackets in one statement"
        return ""

    def text(self, token: Token | Node) -> bytes:
        """The bytes of a token or tree node."""
        if isinstance(token, tuple):
            return self.data[token.start : token.end]
        return self.data[token.start_byte : token.end_byte]


def cxx_file(path: str, data: bytes) -> CxxFile:
    """A C, C++ or CUDA file of that path, which of them by its name and what it holds."""
    return CxxFile(path.replace(os.sep, "/"), data, language_of(path, data))


def pieces(src: CxxFile) -> Iterator[CxxFile]:
    """The file in parts that begin and end between two tokens; joined they are the file."""
    start = 0
    while start < len(src.data):
        end = safe_cut(src.data, start, start + PIECE_BYTES)
        yield CxxFile(src.path, src.data[start:end], src.language)
        start = end


def _most_angles(src: CxxFile) -> int:
    """The most `<` in one statement. A directive is none: a header may consist of includes."""
    most = count = 0
    for token in src.code:
        text = src.data[token.start : token.end]
        if text in (b";", b"{", b"}") or text.startswith(b"#"):
            most, count = max(most, count), 0
        elif text == b"<":
            count += 1
    return max(most, count)


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Imported on first use: a plain rename of one file must not pay for it.
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
