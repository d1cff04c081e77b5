"""The lexer: every kind of token, and inputs that are not C++."""

from __future__ import annotations

import pytest

from kernel_pytorch.port.cxx.lexer import split, tokenize


def kinds(data: bytes) -> list[tuple[str, bytes]]:
    return [(token.kind, data[token.start : token.end]) for token in tokenize(data)]


def test_identifiers_numbers_and_punctuation() -> None:
    assert kinds(b"a->b <<< 0x1.8p-3f, 1'000u >>> .5") == [
        ("identifier", b"a"),
        ("punct", b"->"),
        ("identifier", b"b"),
        ("punct", b"<<<"),
        ("number", b"0x1.8p-3f"),
        ("punct", b","),
        ("number", b"1'000u"),
        ("punct", b">>>"),
        ("number", b".5"),
    ]


@pytest.mark.parametrize(
    "literal",
    [b'"a\\"b"', b'L"x"', b'u8"x"', b'R"(a)b" "c)"', b'LR"x(a)"b)x"', b'"two\\\nlines"', b'"two\\\r\nlines"'],
)
def test_strings_are_one_token(literal: bytes) -> None:
    assert kinds(b"f(" + literal + b");")[2] == ("string", literal)


def test_characters() -> None:
    assert kinds(rb"'\'' L'x'") == [("char", rb"'\''"), ("char", b"L'x'")]


def test_a_raw_string_needs_its_own_prefix() -> None:
    assert kinds(b'FOR"(cudaFree"')[:2] == [("identifier", b"FOR"), ("string", b'"(cudaFree"')]


def test_comments_take_continued_lines() -> None:
    assert kinds(b"a // x \\\n cudaFree\nb /* c \n d */ e") == [
        ("identifier", b"a"),
        ("comment", b"// x \\\n cudaFree"),
        ("identifier", b"b"),
        ("comment", b"/* c \n d */"),
        ("identifier", b"e"),
    ]


def test_directives_only_at_the_start_of_a_line() -> None:
    found = kinds(b"  # define F(x) #x a##b\n/* c */ #endif\nx #if")
    assert found[0] == ("directive", b"# define")
    assert ("punct", b"##") in found
    assert ("directive", b"#endif") in found
    assert found[-1] == ("punct", b"#if")


def test_a_directive_does_not_start_on_a_continued_line() -> None:
    assert [kind for kind, text in kinds(b"#define S(x) \\\n #x\n") if text.startswith(b"#x")] == ["punct"]


def test_include_paths_are_one_string() -> None:
    assert kinds(b'#include <cuda/std/atomic> // x\n#include "a.h"') == [
        ("directive", b"#include"),
        ("string", b"<cuda/std/atomic>"),
        ("comment", b"// x"),
        ("directive", b"#include"),
        ("string", b'"a.h"'),
    ]
    assert ("punct", b"<") in kinds(b"#if a <b> c")


def test_byte_order_mark_and_any_bytes() -> None:
    assert kinds(b"\xef\xbb\xbf#include <a>")[0] == ("directive", b"#include")
    assert kinds(b"gr\xc3\xb6\xc3\x9fe \xff\x00\x01 x")[0] == ("identifier", b"gr\xc3\xb6\xc3\x9fe")


@pytest.mark.parametrize("data", [b'"', b"'", b"/*", b'R"(', b'R"abc', b"#", b"\\", b"0x", b"//", b"", b"\n", b"<<"])
def test_unfinished_input_ends_quietly(data: bytes) -> None:
    tokens = tokenize(data)
    assert all(0 <= token.start < token.end <= len(data) for token in tokens)


def test_an_unfinished_string_ends_with_its_line() -> None:
    assert kinds(b'"abc\ncudaFree') == [("string", b'"abc'), ("identifier", b"cudaFree")]


def test_tokens_do_not_overlap_and_gaps_are_white_space() -> None:
    data = b'__global__ void k(int *a) { a[threadIdx.x] += 1\'0; } // "x"\n#define Q(x) \\\n  cuda##x(L"y")\n'
    position = 0
    for token in tokenize(data):
        assert data[position : token.start].replace(b"\\", b"").strip() == b""
        position = token.end
    assert data[position:].strip() == b""


def test_tokens_made_on_demand_are_those_of_the_whole_list() -> None:
    data = b'// c\n#include <a//b>\nvoid k(int u8x) { x[1] = "s" /* d */ + L"t" >>= .5; }\n#if 1\n'
    found = split(data)
    whole = [token for token in tokenize(data) if token.kind != "comment"]
    code = found.code
    assert list(code) == whole == [code[index] for index in range(len(code))]
    assert code[-1] == whole[-1]
    assert code[2:-3] == tuple(whole[2:-3])
    assert [data[token.start : token.end] for token in found.comments] == [b"// c", b"/* d */"]
    assert [data[token.start : token.end] for token in found.strings] == [b"<a//b>", b'"s"', b'L"t"']
    assert [code[index].kind for index in found.directives] == ["directive", "directive"]
    assert code.firsts == bytes(data[token.start] for token in whole)
    start = data.index(b"u8x")
    assert code.index_of(start, start + 3) == whole.index(("identifier", start, start + 3))
    assert code.index_of(start, start + 2) is None
    assert code.index_of(data.index(b"{"), data.index(b"{") + 1) is None
    with pytest.raises(IndexError):
        code[len(code)]
