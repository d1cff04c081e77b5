"""The #line directives in ported copies: every line that the compiler sees has the user's number."""

from __future__ import annotations

from pathlib import Path

from kernel_pytorch.port.builds.hipified_tree import line_map
from kernel_pytorch.port.builds.user_lines import with_user_lines

BEFORE = b"""int a;
/* a comment
   of two lines */
int f(int x,
      int y);
#define TWO \\
  2
const char *raw = R"(text
text)";
int last;
"""


def presumed(text: bytes) -> dict[bytes, int]:
    """The number the compiler gives each line, by its text."""
    found, number = {}, 0
    for line in text.splitlines():
        if line.startswith(b"#line"):
            number = int(line.split()[1])
        else:
            found[line] = number
            number += 1
    return found


def test_lines_keep_their_numbers_around_what_was_added() -> None:
    after = b"// added\n// added too\n" + BEFORE.replace(b"int last;", b"int between;\nint last;")
    text = with_user_lines(after, line_map(BEFORE, after), Path("dir/my.cu"))
    assert text.startswith(b'#line 1 "dir/my.cu"\n')
    numbers = presumed(text)
    for number, line in enumerate(BEFORE.splitlines(), 1):
        if line != b"int y);":
            assert numbers[line] == number, line


def test_no_directive_inside_comments_literals_parentheses_and_continued_lines() -> None:
    after = b"// added\n" + BEFORE
    moved = {number: number + 40 for number in range(1, 40)}  # every line wants another number
    moved |= {number: 7 * number for number in range(1, 12)}
    lines = with_user_lines(after, moved, Path("my.cu")).splitlines()
    for inside in (b"   of two lines */", b"      int y);", b"  2", b'text)";'):
        assert not lines[lines.index(inside) - 1].startswith(b"#line"), inside
    assert lines[lines.index(b"int last;") - 1].startswith(b"#line")


def test_a_byte_order_mark_stays_in_front() -> None:
    assert with_user_lines(b"\xef\xbb\xbfint a;\n", {}, Path("a.cu")) == b'\xef\xbb\xbf#line 1 "a.cu"\nint a;\n'
