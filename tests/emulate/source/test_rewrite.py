"""CUDA's additions become plain C++, and every line stays where it was."""

from __future__ import annotations

import pytest

from kernel_pytorch.emulate.source.rewrite import rewrite
from kernel_pytorch.emulate.source.tokens import place_of, regions

HEAD = '# 1 "a.cu"\n'


def rewritten(text: str) -> str:
    result = rewrite(HEAD + text)
    assert result.unsupported == ()
    assert result.text.count("\n") == text.count("\n") + 1
    return result.text.removeprefix(HEAD)


def refused(text: str) -> list[str]:
    return [str(one) for one in rewrite(HEAD + text).unsupported]


def test_a_launch_becomes_a_call_with_its_place() -> None:
    made = rewritten("__global__ void k(int *x) {}\nvoid f() { k<<<1, 2>>>(p); }\n")
    assert '::kpt::launch(::kpt::Site{"k", "a.cu", 2}, k, ::kpt::Config(1, 2))(p);' in made
    assert "__global__" not in made


@pytest.mark.parametrize(
    ("launch", "callee"),
    [
        ("k<float, 3><<<g, b>>>(p)", "k<float, 3>"),
        ("ns::k<<<g, b>>>(p)", "ns::k"),
        ("k<(N > 3)><<<g, b>>>(p)", "k<(N > 3)>"),
        ("k<T, ns::V<int>><<<g, b, 4 * sizeof(V<int>), s>>>(p)", "k<T, ns::V<int>>"),
        ("table[i + 1]<<<g, b>>>(p)", "table[i + 1]"),
        ("(k<float, 3>)<<<g, b>>>(p)", "(k<float, 3>)"),
        ("self.kernel<<<g, b>>>(p)", "self.kernel"),
    ],
)
def test_what_is_launched(launch: str, callee: str) -> None:
    made = rewritten(f"void f() {{ {launch}; }}\n")
    assert f'::kpt::Site{{"{callee}", "a.cu", 1}}, {callee}, ::kpt::Config(g, b' in made


def test_a_template_s_arguments_may_follow_from_the_call() -> None:
    made = rewritten(
        "template <class T> __global__ void k(T *x) {}\nvoid f() { k<<<1,\n 2>>>(p, __null); k<<<1, 2>>>(); }\n"
    )
    assert "[=](auto... kpt_a) { k(kpt_a...); }, ::kpt::Config(1,\n 2), p, nullptr);" in made
    assert "k(kpt_a...); }, ::kpt::Config(1, 2));" in made


@pytest.mark.parametrize(
    ("declared", "type_name"),
    [
        ("__shared__ float s[4][5];", "typedef float kpt_t_s[4][5];"),
        ("__shared__ typename Sort<T, 4>::Storage s;", "typedef typename Sort<T, 4>::Storage kpt_t_s;"),
        ("volatile __shared__ int s[N];", "typedef volatile int kpt_t_s[N];"),
        ("static __shared__ int s;", "typedef int kpt_t_s;"),
        ("float __shared__ s[4];", "typedef float kpt_t_s[4];"),
        ("__shared__ struct { int a; } s;", "typedef struct { int a; } kpt_t_s;"),
        ("alignas(16) __shared__ char s[4];", "typedef char kpt_t_s[4];"),
    ],
)
def test_a_shared_variable_is_the_block_s(declared: str, type_name: str) -> None:
    made = " ".join(rewritten(f"__global__ void k() {{ {declared} }}\n").split())
    assert type_name in made
    assert 'kpt_t_s &s = ::kpt::shared<kpt_t_s>(&kpt_slot_s, "s");' in made


def test_several_shared_variables_in_one_declaration() -> None:
    made = rewritten("__global__ void k() { __shared__ float a[4],\n b; }\n")
    assert "kpt_t_a[4],\n kpt_t_b;" in made
    assert "kpt_t_a &a =" in made and "kpt_t_b &b =" in made


def test_dynamic_shared_memory() -> None:
    assert "kpt_t_s &s = ::kpt::dynamic_shared<kpt_t_s>();" in rewritten(
        "__global__ void k() { extern __shared__ float s[]; }\n"
    )
    assert "static ::kpt::DynamicArray<float> s;" in rewritten(
        "extern __shared__ __attribute__((aligned(16))) float s[];\n"
    )


def test_a_kernel_as_a_value_is_made_known() -> None:
    made = rewritten("__global__ void k(int *x) {}\nvoid f() { g((void *)k); h(&k, 1); }\n")
    assert '(void *)::kpt::known(k, "k")' in made
    assert made.count("::kpt::known(k") == 2


def test_device_memory_functions() -> None:
    made = rewritten("void f() { p = malloc(4); std::memcpy(a, b, 4); x.free(); free(p); }\nvoid *malloc(int);\n")
    assert "p = ::kpt_malloc(4); std::memcpy(a, b, 4); x.free(); ::kpt_free(p);" in made
    assert "void *malloc(int);" in made


def test_bounds_on_launches_go_with_their_lines() -> None:
    assert rewritten("__global__ void __launch_bounds__(128,\n 2) k() {}\n") == " void \n k() {}\n"


def test_strings_and_system_headers_are_left_alone() -> None:
    assert 's = "a<<<b>>>(c) __shared__";' in rewritten('void f() { s = "a<<<b>>>(c) __shared__"; }\n')
    header = '# 1 "h.h" 1 3\nint __device__ = 1;\n# 2 "a.cu" 2\n'
    assert "int __device__ = 1;" in rewrite(HEAD + header).text


def test_what_a_system_header_s_macro_put_there_is_the_user_s() -> None:
    text = 'void f() {\n# 2 "a.cu" 3\nk<<<1, 2>>>\n# 2 "a.cu"\n(p); }\n'
    assert '::kpt::Site{"k", "a.cu", 2}' in rewrite(HEAD + text).text


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('__device__ int f() {\n asm volatile("mov.u32 %0, %laneid;" : "=r"(x)); }\n', 'a.cu:2: inline PTX: "mov.u32'),
        ("__global__ void k() {\n k<<<1, 1>>>(); }\n", "a.cu:2: a launch from device code (dynamic parallelism)"),
        ("\n__shared__ int s[4];\n", "a.cu:2: __shared__ s outside a function"),
        ("__global__ void __cluster_dims__(2) k() {}\n", "a.cu:1: __cluster_dims__"),
    ],
)
def test_what_is_not_supported_is_named(text: str, what: str) -> None:
    (found,) = refused(text)
    assert found.startswith(what)


def test_places_follow_the_markers() -> None:
    text = '# 10 "x.cu"\na\nb\n# 3 "y.h" 1\nc\n'
    assert place_of(text.index("b\n"), text, regions(text)) == ("x.cu", 11)
    assert place_of(text.index("c\n", 20), text, regions(text)) == ("y.h", 3)
