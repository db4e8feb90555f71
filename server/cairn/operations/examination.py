"""The checks of `cairn doctor`, and how to run them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator

from attrs import evolve, field, frozen

from cairn.errors import CairnError

REINSTALL = "Install Cairn anew: one of the libraries it needs is missing, or made for another Python."


class Level(enum.StrEnum):
    OK = "ok"
    NOTE = "note"
    """The status of a finding that does not stop Cairn from working."""
    PROBLEM = "problem"


@frozen
class Check:
    name: str
    level: Level
    message: str
    remedy: str = ""


@frozen
class Examination:
    """The results of all checks, ordered so that the remedy of one may also fix later problems."""

    checks: tuple[Check, ...]
    problems: int = field()

    @problems.default
    def _count(self) -> int:
        return sum(check.level is Level.PROBLEM for check in self.checks)


def note(message: str, remedy: str = "") -> Check:
    """Return a note; `run_checks` sets its name."""
    return Check("", Level.NOTE, message, remedy)


def problem(message: str, remedy: str) -> Check:
    """Return a problem; `run_checks` sets its name."""
    return Check("", Level.PROBLEM, message, remedy)


CheckFunction = Callable[[], Check | str | None]
"""A check. The function returns a string if all is well, and None if there is nothing to check."""


def run_checks(checks: Iterable[tuple[str, CheckFunction]]) -> Iterator[Check]:
    """Yield the result of each named check. An exception of a check is yielded as a problem."""
    for name, check in checks:
        try:
            found = check()
        except CairnError as error:
            found = problem(str(error), "")
        except ImportError as error:
            found = problem(str(error), REINSTALL)
        except OSError as error:
            found = problem(str(error), "Make this readable and writable for you, or set CAIRN_DATA_DIR.")
        if isinstance(found, str):
            yield Check(name, Level.OK, found)
        elif found is not None:
            yield evolve(found, name=name)


def megabytes(size: int) -> str:
    """Return a size in bytes as text, such as `0.4 MB`, `38 MB` or `2.1 GB`."""
    if size >= 1_000_000_000:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 10_000_000 else f"{size / 1e6:.1f} MB"
