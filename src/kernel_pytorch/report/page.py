"""Renders a template of this folder to one self-contained HTML page: no network, everything from outside escaped."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from kernel_pytorch.core.counted import counted
from kernel_pytorch.core.errors import UsageError
from kernel_pytorch.core.optional_packages import pip_install
from kernel_pytorch.core.whole_file import write_whole

# The width in which a chart is drawn: its words are as large as those of the page, on a desk and on a phone.
DESK, PHONE = 960, 380
SHOWN_ON = (("wide", DESK), ("narrow", PHONE))

MISSING = f"an HTML page needs jinja2, which is not installed: {pip_install('report')}"


def render(template: str, **values: Any) -> str:
    """The page. Raises UsageError where jinja2 is not installed."""
    try:
        import jinja2
    except ImportError as error:
        raise UsageError(MISSING) from error
    folder = files(__package__).joinpath("templates")
    loader = jinja2.FunctionLoader(lambda name: folder.joinpath(name).read_text(encoding="utf-8"))
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["counted"] = counted
    return environment.get_template(template).render(**values)


def drawing(svg: str) -> Any:
    """A picture for a template: ours, and what is from outside in it is escaped already."""
    try:
        from markupsafe import Markup
    except ImportError as error:
        raise UsageError(MISSING) from error
    return Markup(svg)


def both_widths(chart: Callable[[int], str]) -> Any:
    """A chart for a template, drawn for a desk and for a phone: the page shows the one that fits."""
    return drawing("".join(f'<div class="{name}">{chart(width)}</div>' for name, width in SHOWN_ON))


def write_page(text: str, path: Path) -> None:
    """Write a page. Raises UsageError naming the file if it cannot be written."""
    try:
        write_whole(path, text)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror})") from error
