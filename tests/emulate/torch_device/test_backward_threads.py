"""Python does not end while one of torch's threads of backward passes is still at work."""

from __future__ import annotations

import ctypes
import threading
import time

from kernel_pytorch.emulate.torch_device.backward_threads import wait_until_asleep

PR_SET_NAME = 15


def test_it_waits_until_the_thread_has_nothing_to_do() -> None:
    libc = ctypes.CDLL(None)
    work, done, end = threading.Event(), threading.Event(), threading.Event()

    def backward() -> None:
        libc.prctl(PR_SET_NAME, b"pt_autograd_7", 0, 0, 0)
        work.set()
        until = time.thread_time() + 0.2
        while time.thread_time() < until:
            pass
        done.set()
        end.wait()

    thread = threading.Thread(target=backward)
    thread.start()
    work.wait()
    wait_until_asleep()
    was_done = done.is_set()
    end.set()
    thread.join()
    assert was_done


def test_it_does_not_wait_for_ever() -> None:
    libc = ctypes.CDLL(None)
    end = threading.Event()

    def busy() -> None:
        libc.prctl(PR_SET_NAME, b"pt_autograd_8", 0, 0, 0)
        while not end.is_set():
            pass

    thread = threading.Thread(target=busy)
    thread.start()
    wait_until_asleep(limit_s=0.05)
    end.set()
    thread.join()


def test_without_such_threads_there_is_nothing_to_wait_for() -> None:
    wait_until_asleep(limit_s=0.0)
