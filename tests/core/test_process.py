"""Child processes: what they write, their limits, and their end with everything they started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernel_pytorch.core import children
from kernel_pytorch.core.children import Child, Interrupted, ended_by_signals
from kernel_pytorch.core.process import child, end_child, run_child, run_child_bytes, start_child, stream_child

PYTHON = sys.executable


def python(code: str, *words: str) -> list[str]:
    return [PYTHON, "-c", code, *words]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    ends = time.monotonic() + 60
    while is_running(pid) and time.monotonic() < ends:
        time.sleep(0.01)
    assert not is_running(pid)


def test_output_status_and_input() -> None:
    done = run_child(python("import sys; print(sys.stdin.read().upper()); sys.exit(3)"), text="words")
    assert (done.returncode, done.stdout, done.stderr) == (3, "WORDS\n", "")


def test_text_is_utf_8_and_never_fails() -> None:
    done = run_child(python(r"import sys; sys.stdout.buffer.write(b'\xff\r\nb\rc')"))
    assert done.stdout == "\ufffd\nb\nc"
    assert run_child_bytes(python(r"import sys; sys.stdout.buffer.write(b'\xff\r\n')")).stdout == b"\xff\r\n"


def test_standard_input_is_not_ours() -> None:
    """A server's messages come on it: a child must not read them."""
    code = "from kernel_pytorch.core.process import run_child; import sys\n"
    code += "print(repr(run_child([sys.executable, '-c', 'import sys; print(len(sys.stdin.read()))']).stdout))"
    done = subprocess.run(python(code), input="a message", capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr("0\n")


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        run_child(["/no/such/program"])


def test_a_time_limit_ends_the_group_and_keeps_the_words(tmp_path: Path) -> None:
    inner = f"import pathlib, os, time; pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))"
    code = f"import subprocess, sys; print('so far', flush=True); subprocess.run([sys.executable, '-c', {inner!r} + "
    code += "'; time.sleep(100)'])"
    for seconds in (1, 4, 16, 64):  # a machine with much to do takes its time to start both
        with pytest.raises(subprocess.TimeoutExpired) as late:
            run_child(python(code), timeout_s=seconds)
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            break
    assert late.value.output == "so far\n"
    wait_until_gone(int((tmp_path / "pid").read_text()))


def test_what_ignores_the_signal_and_left_the_group_is_ended(tmp_path: Path) -> None:
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    inner = f"{deaf}import pathlib, os, time; os.setsid()\n"
    inner += f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid())); time.sleep(100)"
    code = f"{deaf}import subprocess, sys; subprocess.Popen([sys.executable, '-c', {inner!r}]).wait()"
    process = start_child(python(code), grace_s=0.2)
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.02)
    end_child(process)
    assert process.returncode == -signal.SIGKILL
    wait_until_gone(int((tmp_path / "pid").read_text()))


def test_a_program_may_clean_up_first(tmp_path: Path) -> None:
    """A compiler removes its temporary files when it is asked to end, before it is made to."""
    code = "import pathlib, signal, sys, time\n"
    code += "def clean(*_): pathlib.Path(sys.argv[1]).unlink(); sys.exit(7)\n"
    code += "signal.signal(signal.SIGTERM, clean); pathlib.Path(sys.argv[1]).touch(); time.sleep(100)"
    process = start_child(python(code, str(tmp_path / "part")), grace_s=20.0)
    while not (tmp_path / "part").exists():
        time.sleep(0.02)
    end_child(process)
    assert process.returncode == 7 and not (tmp_path / "part").exists()


def test_leaving_the_block_ends_it() -> None:
    with child(python("import time; time.sleep(100)")) as process:
        pass
    assert process.returncode == -signal.SIGTERM


def test_a_limit_on_the_work_of_the_program() -> None:
    done = run_child_bytes(python("while True: pass"), cpu_s=1, timeout_s=60)
    assert done.returncode == -signal.SIGXCPU


def test_lines_are_heard_as_they_come() -> None:
    heard: list[str] = []
    code = (
        "import sys; word = sys.stdin.read(); print('kept back'); [print(word, n, file=sys.stderr) for n in range(3)]"
    )
    assert stream_child(python(code), "line", heard.append, timeout_s=60) == 0
    assert heard == ["line 0\n", "line 1\n", "line 2\n"]
    with pytest.raises(subprocess.TimeoutExpired):
        stream_child(python("import time; time.sleep(100)"), "", heard.append, timeout_s=0.5)


def test_a_signal_ends_the_children_of_all_threads() -> None:
    """The exception reaches the main thread; the others' programs end, and they start no more."""
    started: list[int] = []

    def work(number: int) -> int:
        process = start_child(python("import time; time.sleep(100)"))
        started.append(process.pid)
        return int(process.wait())

    def send() -> None:
        while len(started) < 2:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    sender = threading.Thread(target=send)
    with pytest.raises(Interrupted) as raised, ended_by_signals(), ThreadPoolExecutor(2) as pool:
        sender.start()
        list(pool.map(work, range(6)))
    sender.join()
    assert raised.value.number == signal.SIGTERM and str(raised.value) == "interrupted by SIGTERM"
    assert len(started) == 2  # not six: nothing is started once the signal came
    for pid in started:
        wait_until_gone(pid)


def test_outside_nothing_is_changed() -> None:
    before = {number: signal.getsignal(number) for number in children.ENDING_SIGNALS}
    with ended_by_signals():
        assert all(signal.getsignal(number) is not before[number] for number in children.ENDING_SIGNALS)
    assert {number: signal.getsignal(number) for number in children.ENDING_SIGNALS} == before
    # The next command starts children again.
    assert run_child(python("print(1)")).stdout == "1\n"


def test_a_signal_while_a_child_starts_is_acted_on_afterwards() -> None:
    with pytest.raises(Interrupted), ended_by_signals():
        with children.signals_held():
            os.kill(os.getpid(), signal.SIGHUP)
            reached = True
        raise AssertionError("not reached")
    assert reached


def test_a_number_that_was_given_out_again_is_left_alone() -> None:
    """A child that was waited for: its number may be another process's by now."""
    process = start_child(python("pass"))
    process.communicate()
    children.end([Child(process.pid)])
    children.end([Child(os.getppid(), has_group=False)])  # not a child of ours: not touched
    assert is_running(os.getppid())
