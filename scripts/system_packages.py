"""Finds the browser and Neovim for tests, and installs them from Debian if they are missing and it may.

It needs only Python, so it can run while the environments are made.
"""

from __future__ import annotations

import os
import shutil
import subprocess

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEADLESS = "chromium-headless-shell"
_APT_SECONDS = 300
"""A long wait for another process that installs packages, since only one at a time can."""


def browser() -> str | None:
    """Return the path of Chromium or Chrome, if there is one."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def headless_browser() -> str | None:
    """Return the path of Chromium's headless shell, or else of a browser. The shell has the same engine and
    takes a third of the time for a page."""
    return shutil.which(HEADLESS) or browser()


def neovim() -> str | None:
    """Return the path of Neovim, if there is one."""
    return shutil.which("nvim")


def install(*needed: str) -> None:
    """Install missing Debian packages, whose programs have their names or other usual ones, if possible."""
    found = {"chromium": browser, "neovim": neovim}
    wanted = [name for name in needed if not found.get(name, lambda name=name: shutil.which(name))()]
    if not wanted or not shutil.which("apt-get"):
        return
    as_root = () if os.geteuid() == 0 else ("sudo", "-n")
    if as_root and not _succeeds(*as_root, "true"):
        return
    apt = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    waiting = ("-o", f"DPkg::Lock::Timeout={_APT_SECONDS}")
    print(f"Installing {' and '.join(wanted)} …", flush=True)
    subprocess.run([*apt, "update"], stdout=subprocess.DEVNULL)
    subprocess.run(
        [*apt, *waiting, "install", "-y", "--no-install-recommends", *wanted], stdout=subprocess.DEVNULL
    )


def _succeeds(*command: str) -> bool:
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True).returncode == 0
