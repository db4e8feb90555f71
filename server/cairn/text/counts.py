"""Format counts, sizes, durations, and lists that may be long."""

from __future__ import annotations

from collections.abc import Sequence

_IN_SECONDS_BELOW, _IN_MINUTES_BELOW, _IN_HOURS_BELOW = 55, 90 * 60, 36 * 3_600


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return "1 token" or "1,200 tokens". An irregular plural can be given: "2 branches"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int) -> str:
    """Return the first `most` names with commas between them, and the number of the others."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def sized(count: float) -> str:
    """Return a number of bytes as "900 bytes", "1.2 kB", "380 MB" or "2.1 GB"."""
    if count < 1_000:
        return counted(int(count), "byte")
    for unit in ("kB", "MB", "GB"):
        count /= 1_000
        if count < 999.5 or unit == "GB":
            break
    return f"{count:,.0f} {unit}" if count >= 100 else f"{count:.1f} {unit}"


def took(ms: float) -> str:
    """Return a short duration as "0.2 ms", "38 ms", "1.2 s" or "95 s"."""
    amount, unit = (ms / 1_000, "s") if ms >= 1_000 else (ms, "ms")
    return f"{amount:,.0f} {unit}" if amount >= 10 else f"{float(f'{amount:.2g}'):g} {unit}"


def duration(seconds: float) -> str:
    """Return a long duration as "40 s", "3 min", "2 h" or "12 days"."""
    if seconds < _IN_SECONDS_BELOW:
        return f"{max(0, round(seconds))} s"
    if seconds < _IN_MINUTES_BELOW:
        return f"{round(seconds / 60)} min"
    if seconds < _IN_HOURS_BELOW:
        return f"{round(seconds / 3_600)} h"
    return counted(round(seconds / 86_400), "day")


def about(seconds: float) -> str:
    """Return an estimated duration as "about 40 s", which changes only every five seconds."""
    return f"about {duration(max(5, 5 * round(seconds / 5)))}"
