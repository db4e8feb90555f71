"""How a result of a search reads: its place, its name, why it is there, and the lines of it that matter most."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from cairn import protocol
from cairn.agents.places import Paths, lines_text

_LONGEST_LINE = 300
"""Characters. Longer lines are made by machines, and cost more than they tell."""
_MOST_TERMS = 4
_MOST_REASONS = 2
_MOST_HEADINGS = 2
_STEM = 4
"""Letters by which a word of a line counts as one of the question: `cookie` for `cookies`, `saves` for `saved`."""
_GAP = 2
"""Lines between two shown parts that are shown as well: a mark for what is left out costs as much."""

_WHYS = {
    "defines the symbol": "defines it",
    "contains the very text": "has the exact text",
    "contains the whole question": "has the exact text",
    "is named by its path": "named by its path",
    "file name": "file name",
    "file name as one word": "file name",
    "file name abbreviated": "file name",
    "folder names": "folder name",
    "words of its folder": "folder name",
    "documents what was asked": "documents it",
    "introduces the project": "introduces the project",
    "the package asked about": "the package asked about",
    "defines what a report names": "defines what the report names",
    "chosen for such questions": "chosen before",
}
"""Signals of ranking that tell a reader something, in a few words; others say only how well the words fit."""


@frozen
class Shown:
    """One result, which can be written with more or fewer lines."""

    head: str
    also: str
    """Further passages of its file; "" for none."""
    first: int
    """The number of its first line, from 1."""
    lines: Sequence[str]
    pinned: int
    """The place in `lines` of the line that it is about."""
    terms: Sequence[str]
    from_pinned: bool
    """Whether its lines are read from the pinned one on: it is a definition that was asked for by its name."""

    def written(self, most: int) -> str:
        """The result with at most so many of its lines."""
        body = self._chosen(most) if most else []
        return "\n".join(filter(None, [self.head, *body, self.also]))

    def _chosen(self, most: int) -> list[str]:
        parts = _parts(self.lines, self.pinned, self.terms, most, from_pinned=self.from_pinned)
        body: list[str] = []
        for start, end in parts:
            if body:
                body.append("…")
            body += [f"{self.first + place}:{_whole(self.lines[place])}" for place in range(start, end)]
        return body


def _whole(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f" (a line of {len(line):,} characters)"


def shown(result: protocol.SearchResult, paths: Paths, *, by_name: bool, related: bool = False) -> Shown:
    """A result of a search, or with `related`, of what is related, whose reasons say how."""
    why = "; ".join(result.reasons) if related else _why(result, by_name=by_name)
    place = f"{paths.shown(result.folder, result.path)}:{lines_text(result.range)}"
    head = "  ".join(filter(None, (place, name_of(result))))
    return Shown(
        head=f"{head} — {why}" if why else head,
        also=_also(result),
        first=result.range.start.line + 1,
        lines=result.snippet.removesuffix("\n").splitlines(),
        pinned=max(0, result.selection_range.start.line - result.range.start.line),
        terms=result.matched_terms,
        from_pinned=related or (by_name and "defines the symbol" in result.reasons),
    )


def name_of(result: protocol.SearchResult) -> str:
    """`CookieJar.save (method)`, or the headings above a text; "" for a passage without a name."""
    parts = [part for part in result.header_path.split(" > ") if part]
    if result.symbol:
        name = ".".join(parts) if parts and parts[-1].endswith(result.symbol) else result.symbol
        return f"{name} ({result.symbol_kind})" if result.symbol_kind else name
    return " > ".join(parts[-_MOST_HEADINGS:])


def _why(result: protocol.SearchResult, *, by_name: bool) -> str:
    told = list(dict.fromkeys(_WHYS[reason] for reason in result.reasons if reason in _WHYS))
    if not by_name and result.matched_terms:
        told.append(f"has {', '.join(result.matched_terms[:_MOST_TERMS])}")
    if not told and any(reason.startswith("meaning") for reason in result.reasons):
        told.append("by meaning")
    return "; ".join(told[:_MOST_REASONS])


def _also(result: protocol.SearchResult) -> str:
    further = [
        f"{lines_text(each.range)} {each.header_path.replace(' > ', '.') if each.symbol else ''}".rstrip()
        for each in result.passages
    ]
    return f"also {', '.join(further)}" if further else ""


def _parts(
    lines: Sequence[str], pinned: int, terms: Sequence[str], most: int, *, from_pinned: bool
) -> list[tuple[int, int]]:
    """The parts `[start, end)` of the lines that are shown: the pinned line, and those around which most of the terms stand."""
    first = next((place for place, line in enumerate(lines) if line.strip()), 0)
    last = next((place for place in range(len(lines), 0, -1) if lines[place - 1].strip()), 0)
    if last - first <= most:
        return [(first, last)] if last > first else []
    pinned = pinned if first <= pinned < last else first
    if from_pinned:
        start = min(pinned, last - most)
        return [(start, start + most)] if pinned - start < most else [(pinned, pinned + 1)]
    stems = {term[: max(_STEM, len(term) - 2)] for term in terms}
    held = [{each for each in stems if each in line.lower()} for line in lines]

    def worth(start: int) -> tuple[int, int, bool, int]:
        window = held[start : start + most - 1]
        return (
            len(set().union(*window)),
            sum(map(len, window)),
            start == pinned,
            -start,
        )

    best = max(range(first, max(first, last - most + 1) + 1), key=worth)
    start, end = best, best + most - 1
    if start - _GAP <= pinned < end:
        start = min(start, pinned)
        return [_trimmed(lines, start, min(last, start + most))]
    return sorted([(pinned, pinned + 1), _trimmed(lines, start, min(last, end))])


def _trimmed(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """The part without blank lines at its ends."""
    while start < end - 1 and not lines[start].strip():
        start += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return start, end
