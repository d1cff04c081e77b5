"""The quick looks at a file must find what the slow ones find."""

from __future__ import annotations

from kernel_pytorch.port.cxx.constants import constant_value
from kernel_pytorch.port.cxx.sought import Watched
from kernel_pytorch.port.cxx.source import cxx_file
from kernel_pytorch.port.cxx.tokens import words
from kernel_pytorch.port.cxx.unit import unit_of
from kernel_pytorch.port.rules import _concerned, rules_for

_TEXT = b"""#include <cuda/std/array>
// cudaFree in a comment, "cudaMalloc" in a string below
const char* text = "cudaMalloc __shfl_sync";
__global__ void kernel(int* cudaFreeList) {
  my_cudaFree(1); cudaFree(0); cudaFree (cudaFreeList); x$cudaFree(2);
  int v = __shfl_sync(0xffffffff, cudaFreeList[0], 0); asm("bar.sync 0;"); kernel<<<1, 2>>>(0);
}
"""


def test_watched_texts_are_those_that_stand_in_the_file() -> None:
    texts = {b"cuda", b"cudaFree", b"cuda::std", b"<<<", b"<<", b"<< <", b"__shfl", b"asm", b"nothing", b"CU", b"cuda/"}
    assert Watched(texts).present(cxx_file("a.cu", _TEXT)) == {text for text in texts if text in _TEXT}


def test_rules_are_chosen_as_each_would_choose_itself() -> None:
    for path, data in (("a.cu", _TEXT), ("b.cpp", b"int main() { return 0; }"), ("c.cu", b"case 1: warpSize")):
        src = cxx_file(path, data)
        rules = rules_for(src.language)
        assert list(_concerned(rules, src)) == [loaded for loaded in rules if loaded.rule.concerns(src)]


def test_a_name_is_found_where_the_whole_index_has_it() -> None:
    asked, whole = words(cxx_file("a.cu", _TEXT)), words(cxx_file("a.cu", _TEXT))
    for name, places in whole.items():
        assert asked.get(name) == places
    assert len(asked[b"cudaFree"]) == 2
    assert b"cudaMalloc" not in asked  # only in a string and a comment
    assert asked.get(b"x$cudaFree") == whole[b"x$cudaFree"]
    assert asked.get(b"missing") == ()


def test_an_expression_without_unknown_names_has_its_value() -> None:
    unit = unit_of(cxx_file("a.cu", b"#define BLOCK 256\nconstexpr int grid = 4 * BLOCK;\ntypedef unsigned mine;\n"))
    assert constant_value(b"grid * BLOCK", unit) == 4 * 256 * 256
    assert constant_value(b"(mine)BLOCK", unit) == 256  # the name of a type is no constant, and none is needed
    assert constant_value(b"static_cast<int>(BLOCK) + 1", unit) == 257
    assert constant_value(b"(count + BLOCK - 1) / BLOCK", unit) is None
