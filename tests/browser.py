"""A real browser for the tests of pages: Chromium or Chrome (`make browser`), driven by playwright.

Both are asked for when a test needs them, so that a machine without them skips those tests and says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scripts import find_browser

# Root may not use the sandbox; the rest keeps the browser from asking the network for anything of its own.
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright to drive a browser: make setup")
    path = find_browser.browser()
    if path is None:
        pytest.skip("no Chromium or Chrome here: make browser")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=path, args=list(FLAGS))
        yield opened
        opened.close()
