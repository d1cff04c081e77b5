"""Missing waits: a register or LDS used while a memory instruction may still be writing it.

Loads and LDS accesses give their results later; the code has to wait for a counter to fall (s_waitcnt, s_wait_loadcnt
...) before it uses them. Here every access is done at once, so a wait that is missing would never show in a run: it is
looked for in the machine code itself.
"""
