"""The text of a search result: its place, its name, the reasons why it was found, and its best lines."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from cairn import protocol
from cairn.agents.places import Paths, lines_text, numbered, numbers_text
from cairn.text.verbatim import lines_of

_LONGEST_LINE = 300
"""The maximum length of a line in characters. Longer lines are usually generated and seldom useful."""
_MOST_TERMS = 4
_MOST_REASONS = 2
_MOST_HEADINGS = 2
_STEM = 4
"""The number of letters of a stem that match a line: `cookie` matches `cookies`, `saves` matches `saved`."""
_WEAK = 0.5
"""The share of the first result's score below which a result is seldom useful, and gets few lines."""
_LINES_ASIDE = 3
_GAP = 2
"""If at most this many lines are between two shown parts, they are shown as well: a mark for omitted lines
costs as many tokens."""

DEFINES, _EXACT = "defines the symbol", "has the exact text"
_WHYS = {
    DEFINES: "defines it",
    "contains the literal text": _EXACT,
    "contains the whole question": _EXACT,
    "path in the question": "named by its path",
    "file name": "file name",
    "file name as one word": "file name",
    "file name abbreviated": "file name",
    "folder names": "folder name",
    "words of its folder": "folder name",
    "requested document": "documents it",
    "introduces the project": "introduces the project",
    "relevance of its package": "relevance of its package",
    "defines what a report names": "defines what the report names",
    "chosen for similar questions": "chosen before",
}
"""Ranking signals that are worth showing, in short. Other signals only say how well the words match."""


@frozen
class FurtherPassage:
    """A further passage from the file of a result."""

    name: str
    """The name of the definition around the passage, or ""."""
    first: int
    """The 1-based number of the passage's first line."""
    lines: Sequence[str]

    @property
    def place(self) -> str:
        """The lines and the name, such as `40-52 Berth.leave`."""
        return f"{numbers_text(self.first, self.first + len(self.lines) - 1)} {self.name}".rstrip()


@frozen
class ResultText:
    """The parts of a result, which can be written with more or fewer lines."""

    head: str
    further: Sequence[FurtherPassage]
    first: int
    """The 1-based number of the result's first line."""
    lines: Sequence[str]
    head_line: int | None
    """The index in `lines` of the line that names the result's definition, if there is one."""
    best: tuple[int, int] | None
    """The range `[start, end)` of `lines` that answers best, if known."""
    terms: Sequence[str]
    is_definition: bool
    """Whether the lines are shown from the definition's head on: it was found by its name or by `related`."""
    is_aside: bool
    """Whether the result scores far below the first, or only has the same name as the wanted definition."""

    def written(self, most: int, of_further: int = 0) -> str:
        """Return the result with at most `most` of its lines and `of_further` of each further passage.

        A further passage without lines is only named. An aside has at most `_LINES_ASIDE` lines.
        """
        most, of_further = (min(most, _LINES_ASIDE), 0) if self.is_aside else (most, of_further)
        body = self._chosen(most) if most else []
        for each in self.further if of_further else ():
            body.append(f"also {each.place}")
            body += _numbered(each.first, each.lines[:of_further])
        named = ", ".join(each.place for each in self.further)
        return "\n".join(
            filter(None, [self.head, *body, f"also {named}" if named and not of_further else ""])
        )

    def _chosen(self, most: int) -> list[str]:
        parts = _parts(self, most) if any(map(str.strip, self.lines)) else ()
        body: list[str] = []
        for start, end in parts:
            if body:
                body.append("…")
            body += _numbered(self.first + start, self.lines[start:end])
        return body


def _numbered(first: int, lines: Sequence[str]) -> list[str]:
    return numbered(first, [_whole(line) for line in lines])


def _whole(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f" (a line of {len(line):,} characters)"


def result_text(
    result: protocol.SearchResult,
    paths: Paths,
    *,
    by_name: bool = False,
    related: bool = False,
    best_score: float = 0.0,
) -> ResultText:
    """Return the parts of a result of `search` or, with `related`, of the tool `related`.

    `by_name` means that the query named a definition that was found. `best_score` is the first result's.
    """
    why = "; ".join(result.reasons) if related else _why(result, by_name=by_name)
    place = f"{paths.shown(result.folder, result.path)}:{lines_text(result.range)}"
    head = "  ".join(filter(None, (place, name_of(result))))
    first, best = result.range.start.line, result.best_lines
    named = result.selection_range.start.line - first
    is_definition = related or (by_name and DEFINES in result.reasons)
    return ResultText(
        head=f"{head} — {why}" if why else head,
        further=tuple(map(_further, result.passages)),
        first=first + 1,
        lines=lines_of(result.snippet),
        head_line=named if named >= 0 and (result.symbol or related) else None,
        best=(best.start.line - first, best.end.line - first) if best else None,
        terms=result.matched_terms,
        is_definition=is_definition,
        is_aside=(by_name and not is_definition) or result.score < _WEAK * best_score,
    )


def name_of(result: protocol.SearchResult) -> str:
    """Return `CookieJar.save (method)`, or the headings above the passage; "" without a name."""
    parts = [part for part in result.header_path.split(" > ") if part]
    if result.symbol:
        name = ".".join(parts) if parts and parts[-1].endswith(result.symbol) else result.symbol
        return f"{name} ({result.symbol_kind})" if result.symbol_kind else name
    return " > ".join(parts[-_MOST_HEADINGS:])


def _why(result: protocol.SearchResult, *, by_name: bool) -> str:
    reasons = list(dict.fromkeys(_WHYS[reason] for reason in result.reasons if reason in _WHYS))
    if not by_name and result.matched_terms and _EXACT not in reasons:
        reasons.append(f"has {', '.join(result.matched_terms[:_MOST_TERMS])}")
    if not reasons and any(reason.startswith("meaning") for reason in result.reasons):
        reasons.append("by meaning")
    return "; ".join(reasons[:_MOST_REASONS])


def _further(passage: protocol.FilePassage) -> FurtherPassage:
    lines = lines_of(passage.text)
    start, end = _trimmed(lines, 0, len(lines))
    name = passage.header_path.replace(" > ", ".") if passage.symbol else ""
    return FurtherPassage(name, passage.range.start.line + 1 + start, lines[start:end])


def _parts(shown: ResultText, most: int) -> list[tuple[int, int]]:
    """Return the ranges `[start, end)` of lines to show: the best lines, and the head of their definition."""
    lines = shown.lines
    first, last = _trimmed(lines, 0, len(lines))
    if last - first <= most:
        return [(first, last)]
    head = shown.head_line
    if head is not None and (shown.is_definition or most == 1):
        start = max(first, min(head, last - most))
        return [(start, min(last, start + most))]
    best, _ = shown.best or _dense(shown, most if head is None else most - 1)
    if head is not None and head - _GAP < best + most and best - _GAP <= head:  # One part contains both.
        best = min(best, head) if best > head else max(best, head - most + 1)
        head = None
    if head is None:
        best = max(first, min(best, last - most))
        return [_trimmed(lines, best, min(last, best + most))]
    return sorted([(head, head + 1), _trimmed(lines, best, min(last, best + most - 1))])


def _dense(shown: ResultText, most: int) -> tuple[int, int]:
    """Return the range of `most` lines that contains the most words of the question."""
    stems = {term[: max(_STEM, len(term) - 2)] for term in shown.terms}
    stems_of_lines = [{each for each in stems if each in line.lower()} for line in shown.lines]

    def worth(start: int) -> tuple[int, int, int]:
        window = stems_of_lines[start : start + most]
        return len(set().union(*window)), sum(map(len, window)), -start

    start = max(range(max(1, len(shown.lines) - most + 1)), key=worth)
    return start, start + most


def _trimmed(lines: Sequence[str], start: int, end: int) -> tuple[int, int]:
    """Return the range without blank lines at its ends."""
    while start < end - 1 and not lines[start].strip():
        start += 1
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return start, end
