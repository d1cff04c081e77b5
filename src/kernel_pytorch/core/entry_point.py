"""Loads what a verb such as `kpt bench` or `kpt golden` works on: `module:function` or `file.py:function`."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from kernel_pytorch.core.errors import AMDBackendError, UsageError
from kernel_pytorch.core.project_code import require_project_code

FORM = "module:function or path/to/file.py:function"


class TargetFailedError(AMDBackendError):
    """The user's own code raised. Names the line of it."""


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Turns an exception of the target into one line with its place; ours and the keyboard's pass through."""
    try:
        yield
    except (UsageError, AMDBackendError):
        raise
    except ModuleNotFoundError as error:
        raise TargetFailedError(_missing(name, error.name)) from error
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        own = [one for one in frames if not re.search(r"[/\\](torch|kernel_pytorch)[/\\]", one.filename)]
        place = f" at {own[-1].filename}:{own[-1].lineno}" if own else ""
        raise TargetFailedError(f"{name} failed{place}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class Subject:
    """Something to call, and what to call it with. `name` is how the user named it."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> Any:
        """Call it once."""
        return self.function(*self.args, **self.kwargs)


def load_subject(text: str) -> Subject:
    """What `module:function` gives: the function returns (model, inputs), or a callable that needs none.

    Inputs are a tuple (positional), a dictionary (keywords) or one value. Raises UsageError naming what is wrong.
    """
    function = load_function(text)
    with blaming(text):
        made = function()
    if isinstance(made, tuple) and len(made) == 2 and callable(made[0]):
        model, inputs = made
        if isinstance(inputs, Mapping):
            return Subject(text, model, (), {str(key): value for key, value in inputs.items()})
        return Subject(text, model, tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,))
    if callable(made):
        return Subject(text, made)
    raise UsageError(
        f"{text}: returned {type(made).__name__}; expected (model, inputs), where inputs is a tuple or a dictionary, "
        "or a callable without arguments"
    )


def load_function(text: str) -> Callable[..., Any]:
    """The function a text such as `package.module:name` or `file.py:name` names. Raises UsageError."""
    place, colon, name = text.rpartition(":")
    if not colon or not place or not name:
        raise UsageError(f"{text!r} names no function: expected {FORM}")
    require_project_code(text)
    module = _module(place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"{place} has no {name!r}; it defines {_functions(module)}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"{text}: {name} is a {type(found).__name__}, not a function")
    function: Callable[..., Any] = found
    return function


def _module(place: str) -> ModuleType:
    if place.endswith(".py"):
        return _module_from_file(Path(place))
    # A console script does not have the working directory on its path, a user expects it.
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        missing = error.name or place
        if place == missing or place.startswith(f"{missing}."):
            raise UsageError(f"no module {missing!r} here: give {FORM}, from the project's folder") from error
        raise UsageError(_missing(place, missing)) from error


def _module_from_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"{path}: no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{path}: Python cannot load it")
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.util.module_from_spec(spec)
    # Registered first: dataclasses and pickling look their module up by name.
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(_missing(str(path), error.name)) from error
    except SyntaxError as error:
        if error.lineno is None:  # what is no text has no lines
            raise UsageError(f"{path}: not a Python source file ({error.msg})") from error
        raise UsageError(f"{path}:{error.lineno}: Python cannot read this line: {error.msg}") from error
    return module


def _missing(place: str, module: str | None) -> str:
    return (
        f"{place} needs the module {module!r}, which is not installed in the Python that runs kpt; "
        f"`{sys.executable} -m pip install` puts it there"
    )


def _functions(module: ModuleType) -> str:
    own = [
        name
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    ]
    return f"these: {', '.join(sorted(own))}" if own else "no functions"
