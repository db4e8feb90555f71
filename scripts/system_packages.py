"""The browser and Neovim: what tests need of the system, and get from Debian where it is missing and that can
be done.

Needs nothing but Python, so that it can run while the environments are made.
"""

from __future__ import annotations

import os
import shutil
import subprocess

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
HEADLESS = "chromium-headless-shell"
_APT_SECONDS = 300
"""Patience for another process that installs packages, since only one of them can."""


def browser() -> str | None:
    """The path of Chromium or Chrome, where there is one."""
    return next(filter(None, map(shutil.which, _BROWSERS)), None)


def headless_browser() -> str | None:
    """The path of Chromium without its windows, where there is one: the same engine, which takes a third of
    the time for a page; else of a browser."""
    return shutil.which(HEADLESS) or browser()


def neovim() -> str | None:
    """The path of Neovim, where there is one."""
    return shutil.which("nvim")


def install(*needed: str) -> None:
    """Get the packages of Debian that are missing, whose programs have their names or other usual ones; else
    go without."""
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
