"""Prints the changes of `cairn install` and `cairn uninstall`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cairn.cli.console import escape, warn, write

if TYPE_CHECKING:
    from cairn.clients.planning import Change

_SAID = {
    "added": "added",
    "updated": "brought up to date",
    "removed": "removed",
    "present": "already there",
    "absent": "not there",
    "different": "left alone",
    "unreadable": "cannot be read",
    "uneditable": "cannot be changed",
    "unsupported": "not possible",
}
_STYLES = {"+": "green", "-": "red", "@": "dim", "$": "bold"}


def print_changes(changes: Sequence[Change], done: str) -> None:
    """Print each file with its changes and problems. `done` is "written" or "to write"."""
    for change in changes:
        where = "" if change.path is None else f"  {escape(str(change.path))}"
        state = _SAID[change.state]
        state = f"{done}: {state}" if change.diff else state
        write(f"[bold]{escape(change.title)}[/]{where}  [dim]{state}[/]")
        for line in change.diff.splitlines():
            style = _STYLES.get(line[:1])
            text = escape(f"  {line}")
            write(f"[{style}]{text}[/]" if style else text)
        if change.state in _PROBLEMS:
            warn(f"  {change.message}")
        elif change.message:
            write(f"  [dim]{escape(change.message)}[/]")
    if not changes:
        write("nothing by Cairn was found")


_PROBLEMS = ("different", "unreadable", "uneditable", "unsupported")
