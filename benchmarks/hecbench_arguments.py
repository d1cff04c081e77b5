"""The arguments of HeCBench's programs: what each one means, and smaller ones that keep what the program relies on."""

from __future__ import annotations

import math
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = (".cu", ".hip", ".cpp", ".cc", ".h", ".hpp", ".cuh")
#: Amounts of work to try: the product of a program's sizes. Less where it is slow, more where it fails.
FIRST_WORK = 1 << 17
LARGER_WORK = (1 << 21, 1 << 62)
_LESS = 64
_REPEATS = re.compile(
    r"repe|iterat|trial|times|\bruns?\b|loop|steps?\b|\bnt\b|epoch|launches|niter|timing|passes|batches", re.IGNORECASE
)
_KEPT = re.compile(r"block|group|thread|seed|device|verbose|check|mode|kernel id|radius|bits|top k|head size|wgsize|"
                   r"implementation|version|algorithm|option|type|verify|0 or 1", re.IGNORECASE)  # fmt: skip
_SMALLEST_SIZE = 64


@dataclass(frozen=True)
class Argument:
    """One word of the command line. `role` is "size", "repeat" or "kept"."""

    word: str
    role: str


def run_words(folder: Path) -> list[str]:
    """The arguments of the program in the Makefile's run target, without what belongs to the shell."""
    done = subprocess.run(
        ["make", "-n", "-B", "-C", str(folder), "run"], capture_output=True, text=True, check=False, timeout=60
    )
    lines = [line for line in done.stdout.replace("\\\n", " ").splitlines() if re.match(r"\s*\./\w", line)]
    words = shlex.split(lines[0])[1:] if lines else []
    ends = [index for index, word in enumerate(words) if re.match(r"[|;&]|\d?>", word)]
    return words[: ends[0]] if ends else words


def arguments(folder: Path, words: list[str]) -> list[Argument]:
    """What each word is, from the program's own usage text, or by custom: the last number is a repeat count."""
    names = usage_names(folder, len(words))
    numbers = [index for index, word in enumerate(words) if number_in(word) is not None]
    found = []
    for index, word in enumerate(words):
        value = number_in(word)
        name = names[index] if names else ""
        before = words[index - 1] if index else ""
        flag = word.split("=")[0] if "=" in word else before if before.startswith("-") else ""
        label = name or (flag if not re.fullmatch(r"-\d+", flag) else "")
        if value is None:
            role = "kept"
        elif _REPEATS.search(label) or (not label and index == numbers[-1] and 10 <= value <= 100_000):
            role = "repeat"
        elif _KEPT.search(label):
            role = "kept"
        elif label and not names and flag in ("-i", "-r", "-n") and index == numbers[-1]:
            role = "repeat"
        else:
            role = "size"
        found.append(Argument(word, role))
    return found


def usage_names(folder: Path, count: int) -> list[str]:
    """The names in `Usage: %s <width> <height> <repeat>`, where a source has that line with as many names as words."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in SOURCES and path.is_file():
            for line in re.findall(r"usage.*(?:\n\s*\".*)*", path.read_text(errors="replace"), re.IGNORECASE):
                names: list[str] = re.findall(r"<([^<>\"]+)>", line)
                if count and len(names) == count:
                    return names
    return []


def number_in(word: str) -> int | None:
    """The whole number a word is, or has behind its `=`."""
    match = re.fullmatch(r"(?:-{1,2}[\w-]+=)?(\d+)", word)
    return int(match[1]) if match else None


def downwards(given: list[Argument]) -> list[list[str]]:
    """Argument lists to try while a program is slow: a program's time may grow faster than the product of its sizes."""
    first = smaller(given, FIRST_WORK)
    sizes = [number_in(word) or 0 for word, one in zip(first, given, strict=True) if one.role == "size"]
    second = smaller(given, max(4, math.prod(size for size in sizes if size >= 16) // _LESS))
    if first == second:  # no size that is large: counts such as the number of rounds
        second = ["1" if one.role == "size" else word for word, one in zip(first, given, strict=True)]
    return [first] if first == second else [first, second]


def upwards(given: list[Argument], tried: list[list[str]]) -> Iterator[list[str]]:
    """Argument lists to try where a program fails: it may count on a size."""
    for work in LARGER_WORK:
        words = smaller(given, work)
        if words not in tried:
            tried = [*tried, words]
            yield words


def smaller(given: list[Argument], work: int) -> list[str]:
    """The words with repeat counts at 1 and the largest sizes halved until their product is at most `work`.

    A size keeps its power of two up to 256 as a factor: programs count on multiples of their block size.
    """
    sizes = {
        index: number_in(one.word) or 0
        for index, one in enumerate(given)
        if one.role == "size" and (number_in(one.word) or 0) >= _SMALLEST_SIZE
    }
    exponents = not sizes
    if exponents:  # such as 25 for 2^25 elements
        sizes = {
            index: min(number_in(one.word) or 0, int(math.log2(work)))
            for index, one in enumerate(given)
            if one.role == "size" and 16 < (number_in(one.word) or 0) <= 40
        }
    grains = {index: math.gcd(value, 256) for index, value in sizes.items()}
    floors = {index: 16 if value >= 1024 else 1 for index, value in sizes.items()}
    while not exponents and math.prod(sizes.values()) > work:
        reducible = {at: size for at, size in sizes.items() if size // 2 >= max(grains[at], floors[at])}
        if not reducible and max(grains.values()) > 16:
            grains = {at: math.gcd(grain, 16) for at, grain in grains.items()}
            continue
        if not reducible:
            break
        # Of equal ones the one that was smaller: a program may count on more rows than columns.
        largest = max(reducible, key=lambda at: (reducible[at], -(number_in(given[at].word) or 0)))
        half = sizes[largest] // 2
        # What was equal stays equal: a square matrix may have to be one.
        alike = [at for at in sizes if given[at].word == given[largest].word]
        sizes.update(dict.fromkeys(alike, half - half % grains[largest]))
    words = []
    for index, one in enumerate(given):
        value = sizes.get(index, 1 if one.role == "repeat" else number_in(one.word))
        words.append(one.word if value is None else re.sub(r"\d+\Z", str(value), one.word))
    return words
