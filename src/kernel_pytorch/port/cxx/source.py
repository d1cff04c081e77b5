"""A C, C++ or CUDA file: its tokens and its syntax tree, made when first asked for. Positions are byte offsets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, wraps
from typing import TYPE_CHECKING, TypeVar

from kernel_pytorch.port.cxx.lexer import Split, Token, Tokens, safe_cut, split
from kernel_pytorch.port.source import SourceFile, language_of

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser, Tree

T = TypeVar("T")

# A tree takes about 25 times the bytes of its source: larger files are machine-made tables, and get names only.
MAX_PARSED_BYTES = 8_000_000
# The parser tries every reading of `a<b>::c<d>::`: its time grows with the third power of how long that goes on.
MAX_ANGLES = 300
PIECE_BYTES = 1_000_000
_ERROR_KIND = 0xFFFF  # tree-sitter's number for text that it could not read


@dataclass(frozen=True)
class CxxFile(SourceFile):
    """A file that a C++ compiler reads."""

    def __hash__(self) -> int:
        # Files are keys of many caches. Those of one path and size are told apart when they are compared.
        return hash((self.path, len(self.data)))

    @cached_property
    def vocabulary(self) -> frozenset[bytes]:
        """The different words of the file, those in comments and strings too."""
        text = self.data.translate(_WORDS_ALONE)
        if len(text) <= PIECE_BYTES:
            return frozenset(text.split())
        found: set[bytes] = set()
        start = 0
        while start < len(text):  # all words of a large file at once would take many times its size
            end = text.find(b" ", start + PIECE_BYTES)
            found.update(text[start : end if end >= 0 else len(text)].split())
            start = end if end >= 0 else len(text)
        return frozenset(found)

    @cached_property
    def vocabulary_text(self) -> bytes:
        """Those words in any order, a space between two."""
        return b" ".join(self.vocabulary)

    def holds(self, text: bytes) -> bool:
        """Whether some bytes stand anywhere in the file. Part of a word is looked for in the different words alone:
        a tenth of the text."""
        return text in (self.vocabulary_text if is_word(text) else self.data)

    @cached_property
    def characters(self) -> str:
        """The bytes as characters of the same number, for what compares words as strings."""
        return self.data.decode("latin-1")

    @cached_property
    def split(self) -> Split:
        """The tokens, comments and strings apart."""
        return split(self.data)

    @property
    def is_split(self) -> bool:
        """Whether that has been done."""
        return "split" in self.__dict__

    @cached_property
    def code(self) -> Tokens:
        """The tokens without comments."""
        return self.split.code

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
        if self.data.count(b"<") > MAX_ANGLES and _may_have_many(self.data) and _most_angles(self) > MAX_ANGLES:
            return f"more than {MAX_ANGLES} template brackets in one statement"
        return ""

    def text(self, token: Token | Node) -> bytes:
        """The bytes of a token or tree node."""
        if isinstance(token, tuple):
            return self.data[token.start : token.end]
        return self.data[token.start_byte : token.end_byte]


_WORD = re.compile(rb"\w+")
_WORDS_ALONE = bytes(byte if _WORD.match(bytes((byte,))) else ord(" ") for byte in range(256))


@cache
def is_word(text: bytes) -> bool:
    """Whether some bytes can be a word of `vocabulary`, or part of one."""
    return _WORD.fullmatch(text) is not None


def read_once(read: Callable[[CxxFile], T]) -> Callable[[CxxFile], T]:
    """Makes a function read each file once. What it gives is kept with the file, and must not refer to it: neither
    would ever be freed."""
    key = f"{read.__module__}.{read.__qualname__}"

    @wraps(read)
    def kept(src: CxxFile) -> T:
        known = src.__dict__
        if key not in known:
            known[key] = read(src)
        found: T = known[key]
        return found

    return kept


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


_NO_CODE = re.compile(rb"//[^\n]*|/\*[\s\S]*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:\\[^'\n]{1,8}|[^'\\\n])'")
_STATEMENT_END = re.compile(rb"[;{}#]")


def _may_have_many(data: bytes) -> bool:
    """Whether a statement may hold more than MAX_ANGLES `<`. `<<` counts as two. Almost no file needs a closer look."""
    return any(part.count(b"<") > MAX_ANGLES for part in _STATEMENT_END.split(_NO_CODE.sub(b"", data)))


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
def _language() -> Language:
    # Imported on first use: a plain rename of one file must not pay for it.
    import tree_sitter
    import tree_sitter_cuda

    return tree_sitter.Language(tree_sitter_cuda.language())


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter

    return tree_sitter.Parser(_language())


def load_parser() -> None:
    """Makes what the first file would make: processes that are copies of this one have it then."""
    _parser()
    grammar_names()


@lru_cache(maxsize=1)
def grammar_names() -> tuple[Mapping[int, str], Mapping[int | None, str]]:
    """What the grammar calls its kinds of node and its fields, by their numbers. No field is an empty name."""
    language = _language()
    kinds = {number: language.node_kind_for_id(number) or "" for number in range(language.node_kind_count)}
    fields: dict[int | None, str] = {None: "", 0: ""}
    fields |= {number: language.field_name_for_id(number) or "" for number in range(1, language.field_count + 1)}
    return {**kinds, _ERROR_KIND: "ERROR"}, fields
