# Commands for gdb in a program on the emulated GPU; gdb itself runs this file (`kpt emulate --under 'gdb --args'`).
# A breakpoint at a line of a kernel stops once for each wave that comes there, on all its lanes at once. The commands
# show one lane of that wave: kpt-wave, kpt-lane [N], kpt-vgpr A[:B], kpt-sgpr A[:B], kpt-lanes A.
python
import struct

import gdb

LANE = {"number": 0}


def wave_frame():
    """The innermost frame of a kernel, from the selected one outwards, and its KptWave."""
    frame = gdb.selected_frame()
    while frame is not None:
        try:
            wave = frame.read_var("w")
            if (frame.name() or "").startswith("kpt_kernel_"):
                return frame, wave.dereference()
        except ValueError:
            pass
        frame = frame.older()
    raise gdb.GdbError("no kernel is running in this thread: stop in one first, with a breakpoint at one of its lines")


def width(wave):
    return int(wave["kernel"]["wave_size"])


def mask(frame):
    return int(frame.read_var("ex"))


def shown(word):
    """One register in the three ways it may be meant."""
    number = word - (1 << 32) if word >> 31 else word
    return f"0x{word:08x}  {number}  {struct.unpack('<f', struct.pack('<I', word))[0]:.9g}"


def numbers(text, most):
    first, _, last = text.strip().partition(":")
    try:
        found = range(int(first, 0), int(last or first, 0) + 1)
    except ValueError:
        raise gdb.GdbError(f"{text!r}: expected a register number, or two as in 4:7") from None
    if not found or found[0] < 0 or found[-1] >= most:
        raise gdb.GdbError(f"{text}: expected numbers from 0 to {most - 1}")
    return found


def thread_of(wave, lane):
    """The thread's number within its block, counting x first: lanes of a wave follow each other."""
    return int(wave["wave_in_group"]) * width(wave) + lane


class Wave(gdb.Command):
    """The wave that stopped: its block, its lanes that are on, and the machine instruction before the line."""

    def __init__(self):
        super().__init__("kpt-wave", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        frame, wave = wave_frame()
        block = ", ".join(str(int(wave["group"][axis])) for axis in range(3))
        lanes, on = width(wave), mask(frame)
        gdb.write(f"kernel {wave['kernel']['symbol'].string()}\n")
        gdb.write(f"block ({block}), wave {int(wave['wave_in_group'])} of {lanes} lanes\n")
        gdb.write(f"exec  0x{on:0{lanes // 4}x}, {bin(on).count('1')} lanes on\n")
        at = int(wave["at"])
        if at < int(wave["kernel"]["place_count"]):
            gdb.write(f"after {wave['kernel']['places'][at]['text'].string()}\n")


class Lane(gdb.Command):
    """kpt-lane [N]: choose the lane that kpt-vgpr shows, and say which thread it is."""

    def __init__(self):
        super().__init__("kpt-lane", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        frame, wave = wave_frame()
        if argument.strip():
            number = numbers(argument, width(wave))[0]
            LANE["number"] = number
        lane = min(LANE["number"], width(wave) - 1)
        state = "on" if mask(frame) >> lane & 1 else "off: it does not take part here"
        gdb.write(f"lane {lane}, thread {thread_of(wave, lane)} of its block, {state}\n")


class Vgpr(gdb.Command):
    """kpt-vgpr A[:B]: vector registers of the chosen lane, as bits, integer and float."""

    def __init__(self):
        super().__init__("kpt-vgpr", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        _, wave = wave_frame()
        lane = min(LANE["number"], width(wave) - 1)
        for register in numbers(argument, int(wave["kernel"]["vgprs"])):
            word = int(wave["v"][register * width(wave) + lane])
            gdb.write(f"v{register}[{lane}]  {shown(word)}\n")


class Lanes(gdb.Command):
    """kpt-lanes A: one vector register in every lane; * marks lanes that are off."""

    def __init__(self):
        super().__init__("kpt-lanes", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        frame, wave = wave_frame()
        register = numbers(argument, int(wave["kernel"]["vgprs"]))[0]
        for lane in range(width(wave)):
            off = " " if mask(frame) >> lane & 1 else "*"
            word = int(wave["v"][register * width(wave) + lane])
            gdb.write(f"v{register}[{lane:2d}]{off} {shown(word)}\n")


class Sgpr(gdb.Command):
    """kpt-sgpr A[:B]: scalar registers of the wave (106 is VCC, 124 M0)."""

    def __init__(self):
        super().__init__("kpt-sgpr", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        frame, wave = wave_frame()
        for register in numbers(argument, 128):
            try:
                word = int(frame.read_var(f"s{register}"))
            except ValueError:  # the kernel does not use it
                word = int(wave["s"][register])
            gdb.write(f"s{register}  {shown(word)}\n")


for command in (Wave, Lane, Vgpr, Lanes, Sgpr):
    command()
gdb.execute("set breakpoint pending on")
# What a kernel reads past a buffer is reported by the emulator, which has to see the signal first.
gdb.execute("handle SIGSEGV nostop noprint pass", to_string=True)
end
