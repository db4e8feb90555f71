"""What an examination by `cairn doctor` is made of."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator

from attrs import evolve, field, frozen

from cairn.errors import CairnError

REINSTALL = "Install Cairn anew: one of the libraries it needs is missing, or made for another Python."


class Level(enum.StrEnum):
    """How it is with one thing."""

    OK = "ok"
    NOTE = "note"
    """Worth knowing; Cairn does what it is for all the same."""
    PROBLEM = "problem"


@frozen
class Check:
    """What a check found: one line of the examination."""

    name: str
    level: Level
    message: str
    remedy: str = ""


@frozen
class Examination:
    """All checks, in the order in which a remedy of one may mend the next."""

    checks: tuple[Check, ...]
    problems: int = field()

    @problems.default
    def _count(self) -> int:
        return sum(check.level is Level.PROBLEM for check in self.checks)


def note(message: str, remedy: str = "") -> Check:
    """Something worth knowing; `look_at` names it."""
    return Check("", Level.NOTE, message, remedy)


def problem(message: str, remedy: str) -> Check:
    """Something wrong; `look_at` names it."""
    return Check("", Level.PROBLEM, message, remedy)


Look = Callable[[], Check | str | None]
"""A check: what it found, as a string where all is well; None where there is nothing to look at."""


def look_at(looks: Iterable[tuple[str, Look]]) -> Iterator[Check]:
    """Each check's line. Nothing is raised: what fails is a problem."""
    for name, look in looks:
        try:
            found = look()
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
    """A size in bytes for people: `0.4 MB`, `38 MB`, `2.1 GB`."""
    if size >= 1_000_000_000:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 10_000_000 else f"{size / 1e6:.1f} MB"
