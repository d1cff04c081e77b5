"""llvm-mc as a function from encodings to texts (for build_decoder_table.py)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

BATCH = 4000

Text = str | None


class Llvm:
    """llvm-mc as a function from encodings to texts."""

    def __init__(self, program: Path, target: str) -> None:
        self.command = [
            str(program), "-disassemble", "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-show-encoding",
        ]  # fmt: skip

    def texts(self, codes: list[bytes]) -> list[tuple[Text, int]]:
        """The first instruction of each stretch of bytes (None where LLVM refuses it), and how many there are."""
        found: list[tuple[Text, int]] = []
        for start in range(0, len(codes), BATCH):
            found += self._batch(codes[start : start + BATCH])
        return found

    def _batch(self, codes: list[bytes]) -> list[tuple[Text, int]]:
        if not codes:
            return []
        done = self._run(codes, b"")
        if done.returncode < 0 or "Stack dump" in done.stderr:
            # LLVM 22 crashes on some encodings. What is refused behind each question shows how far it came.
            marked = self._run(codes, b"\xff\xff\xff\xff")
            numbers = [int(one) for one in re.findall(r"^<stdin>:(\d+):\d+: warning", marked.stderr, re.M)]
            at = max(numbers, default=0)
            if at >= len(codes):
                half = len(codes) // 2
                return [*self._batch(codes[:half]), *self._batch(codes[half:])] if half else [(None, 0)]
            print(f"  llvm-mc crashes on {codes[at].hex()}", file=sys.stderr, flush=True)
            return [*self._batch(codes[:at]), (None, 0), *self._batch(codes[at + 1 :])]
        answers: list[tuple[Text, int]] = [(None, 0)] * len(codes)
        refused = {int(match) - 1 for match in re.findall(r"^<stdin>:(\d+):22: warning: invalid", done.stderr, re.M)}
        at, fresh = -1, False
        for line in done.stdout.splitlines():
            shown, _, encoding = line.partition("; encoding:")
            number = at + 1
            if encoding.strip() == f"[0x{number & 255:02x},0x{number >> 8:02x},0x80,0xbf]":
                at, fresh = at + 1, True
            elif fresh and encoding:
                fresh = False
                if at not in refused and "/*" not in shown:
                    answers[at] = (" ".join(shown.split()), 1)
            elif at >= 0:
                answers[at] = (answers[at][0], answers[at][1] + 1)
        return answers

    def _run(self, codes: list[bytes], end: bytes) -> subprocess.CompletedProcess[str]:
        # An s_nop with a number of its own tells where the answer of one question ends.
        lines = [(0xBF800000 | number).to_bytes(4, "little") + code + end for number, code in enumerate(codes)]
        # In brackets, so that no instruction goes on into the next question.
        text = "\n".join("[" + " ".join(f"0x{byte:02x}" for byte in line) + "]" for line in lines)
        environment = {**os.environ, "LLVM_DISABLE_SYMBOLIZATION": "1", "LLVM_DISABLE_CRASH_REPORT": "1"}
        return subprocess.run(self.command, input=text, capture_output=True, text=True, check=False, env=environment)
