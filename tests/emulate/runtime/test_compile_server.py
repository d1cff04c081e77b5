"""The process that compiles and translates for a running program, and how the runtime asks it."""

from __future__ import annotations

import os
import socket
import struct
import threading
from pathlib import Path

from kernel_pytorch.core.python_child import python_module
from kernel_pytorch.emulate.compile_server import VARIABLE, compile_server
from tests.emulate.runtime.conftest import Run


def ask(path: str, words: list[str], folder: Path, said: Path) -> bytes:
    """What the runtime does in C++: the answer, empty where the server takes nothing of this kind."""
    text = b"".join(os.fsencode(one) + b"\0" for one in [str(folder), str(len(words)), *words, "WORD=value"])
    with socket.socket(socket.AF_UNIX) as to, said.open("wb") as file:
        to.connect(path)
        socket.send_fds(to, [struct.pack("=I", len(text))], [file.fileno()])
        to.sendall(text)
        return to.recv(1)


def test_a_command_is_run_and_its_words_come_back(tmp_path: Path) -> None:
    translate = python_module("kernel_pytorch.emulate.translate")
    said = tmp_path / "said"
    (tmp_path / "code").write_bytes(b"no code object")
    with compile_server(tmp_path) as variables:
        path = variables[VARIABLE]
        assert ask(path, [*translate, "code", "out.so"], tmp_path, said) == b"\2"
        assert "code: " in said.read_text()  # found in the folder that was named
        assert ask(path, [*translate, "gone", "out.so"], tmp_path, said) == b"\2"
        assert "gone" in said.read_text()
        # Anything else is for the program to start: the server is no way to run commands.
        assert ask(path, ["true", "a", "b", "c"], tmp_path, said) == b""
        assert ask(path, python_module("json.tool"), tmp_path, said) == b""
    with socket.socket(socket.AF_UNIX) as to:
        assert to.connect_ex(path) != 0  # over with the block


def test_a_program_that_compiles_nothing_starts_no_server(tmp_path: Path) -> None:
    before = threading.active_count()
    with compile_server(tmp_path) as variables:
        assert Path(variables[VARIABLE]).is_socket()
    assert threading.active_count() == before


def test_a_path_that_no_socket_can_have_means_no_server(tmp_path: Path) -> None:
    deep = tmp_path / ("long" * 40)
    deep.mkdir()
    with compile_server(deep) as variables:
        assert variables == {}


def test_the_runtime_asks_and_passes_on_the_answer(run: Run, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def answer(listening: socket.socket) -> None:
        connection = listening.accept()[0]
        head, files, _, _ = socket.recv_fds(connection, 4, 1)
        size, data = struct.unpack("=I", head)[0], b""
        while len(data) < size:
            data += connection.recv(size - len(data))
        asked.append([os.fsdecode(one) for one in data.split(b"\0")])
        os.write(files[0], b"said by the server")
        os.close(files[0])
        connection.sendall(b"\1")
        connection.close()

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        thread = threading.Thread(target=answer, args=(listening,))
        thread.start()
        ran = run(
            """
            program, length = ctypes.c_void_p(), ctypes.c_size_t()
            good("hiprtcCreateProgram", ctypes.byref(program), b"source", b"a.cu", 0, None, None)
            options = (ctypes.c_char_p * 1)(b"-DWITH A=BLANK")
            assert call("hiprtcCompileProgram", program, 1, options) == 6
            good("hiprtcGetProgramLogSize", program, ctypes.byref(length))
            log = ctypes.create_string_buffer(length.value)
            good("hiprtcGetProgramLog", program, log)
            print(log.value.decode())
            """,
            env={VARIABLE: str(tmp_path / "s"), "KPT_EMULATE_COMPILE": "python start.py compile", "LD_PRELOAD": ""},
        )
        thread.join(timeout=60)
    assert (ran.code, ran.out) == (0, "said by the server\n"), ran.err
    folder, count, *words = asked[0]
    assert Path(folder).is_dir() and words[:3] == ["python", "start.py", "compile"]
    assert words[int(count) - 1] == "-DWITH A=BLANK"
    assert any(one.startswith("KPT_EMULATE_GPU=") for one in words) and "LD_PRELOAD=" not in words


def test_without_an_answer_the_runtime_starts_the_command(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "compile.sh"
    script.write_text("#!/bin/sh\necho started by the runtime\nexit 1\n")
    script.chmod(0o755)
    ran = run(
        """
        program, length = ctypes.c_void_p(), ctypes.c_size_t()
        good("hiprtcCreateProgram", ctypes.byref(program), b"source", b"a.cu", 0, None, None)
        assert call("hiprtcCompileProgram", program, 0, None) == 6
        good("hiprtcGetProgramLogSize", program, ctypes.byref(length))
        log = ctypes.create_string_buffer(length.value)
        good("hiprtcGetProgramLog", program, log)
        print(log.value.decode(), end="")
        """,
        env={VARIABLE: str(tmp_path / "nobody"), "KPT_EMULATE_COMPILE": str(script)},
    )
    assert (ran.code, ran.out) == (0, "started by the runtime\n"), ran.err
