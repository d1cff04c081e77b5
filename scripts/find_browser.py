"""Prints the path of a Chromium or Chrome; with --install, gets Debian's package first if there is none.

    python scripts/find_browser.py             exit status 1 if there is none
    python scripts/find_browser.py --install   apt-get install chromium, for root on Debian and its like

playwright drives what is found. It cannot drive an installed Firefox, so none is looked for.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def browser() -> str | None:
    """The path of a Chromium or Chrome, None if there is none."""
    return next((found for name in NAMES if (found := shutil.which(name)) is not None), None)


def install() -> str:
    """Get Debian's Chromium; returns why it cannot be had, or an empty string."""
    if shutil.which("apt-get") is None:
        return "there is no apt-get here: install Chromium or Chrome with your system's packages"
    if os.geteuid() != 0:
        return "only root may install packages: sudo apt-get install chromium"
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-qq", "--no-install-recommends", "chromium"]):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode != 0:
            return f"{' '.join(command)} ended with status {done.returncode}: {done.stdout.strip().splitlines()[-1:]}"
    return ""


def main(arguments: list[str]) -> int:
    reason = "no Chromium or Chrome was found: apt-get install chromium"
    if browser() is None and "--install" in arguments:
        reason = install() or reason
    found = browser()
    print(found if found is not None else f"no browser: {reason}", file=sys.stdout if found is not None else sys.stderr)
    return 0 if found is not None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
