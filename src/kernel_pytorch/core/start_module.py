"""Runs a module as `python -m` does, without the current folder on the path: `python start_module.py MODULE ...`.

Started as a script, so that Python puts this folder in front of its path instead of the one it was started in. It uses
nothing but the standard library, and takes this folder off the path before the first import that could find a file in
it.
"""

import sys

_HERE = __file__.rpartition("/")[0]

if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if entry and entry != _HERE]
    _package = _HERE.rpartition("/")[0].rpartition("/")[0]
    if _package not in sys.path:
        sys.path.append(_package)  # last: what is installed beside us must not hide the standard library
    del sys.argv[0]
    import runpy

    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
