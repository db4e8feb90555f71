"""The text of a search result: its place, its name, the reasons why it was found, and its best lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve, frozen

from cairn import protocol
from cairn.agents.place_text import Paths, lines_text
from cairn.agents.shown_lines import ShownLines
from cairn.discovery.layout import numbered_lines
from cairn.text.counts import counted
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


Part = tuple[int, Sequence[str]]
"""The 1-based number of a line, and the text of this line and of those after it."""


@frozen
class Lines:
    """Lines of a file, of which each form of an answer shows as many as it has room for."""

    first: int
    """The 1-based number of the first line."""
    lines: Sequence[str]
    terms: Sequence[str]
    """The words of the question, of which the shown lines should contain many."""
    head_line: int | None = None
    """The index in `lines` of the line that names the definition, if there is one."""
    head_above: Part | None = None
    """The line that names the definition, if it is above `lines`."""
    best: tuple[int, int] | None = None
    """The range `[start, end)` of `lines` that answers best, if known."""
    is_definition: bool = False
    """Whether the lines are shown from the definition's head on: it was found by its name or by `related`."""

    @property
    def count(self) -> int:
        """The number of lines with a head above them, without the blank ones at the ends."""
        start, end = self._trimmed(0, len(self.lines))
        return end - start + (self.head_above is not None)

    def parts(self, most: int) -> list[Part]:
        """Return at most `most` lines: those that match best, and the head of their definition."""
        if not most or not any(map(str.strip, self.lines)):
            return []
        if self.head_above is None:
            return self._parts(most)
        parts = self._parts(most - 1) if most > 1 else []
        number, head = self.head_above
        if parts and parts[0][0] == number + 1:
            return [(number, [*head, *parts[0][1]]), *parts[1:]]
        return [self.head_above, *parts]

    def _parts(self, most: int) -> list[Part]:
        return [(self.first + start, self.lines[start:end]) for start, end in self._ranges(most)]

    def _ranges(self, most: int) -> list[tuple[int, int]]:
        first, last = self._trimmed(0, len(self.lines))
        if last - first <= most:
            return [(first, last)]
        head = self.head_line
        if head is not None and (self.is_definition or most == 1):
            start = max(first, min(head, last - most))
            return [(start, min(last, start + most))]
        best = self._dense(most if head is None else most - 1)
        if head is not None and head - _GAP < best + most and best - _GAP <= head:  # One part contains both.
            best = min(best, head) if best > head else max(best, head - most + 1)
            head = None
        if head is None:
            best = max(first, min(best, last - most))
            return [self._trimmed(best, min(last, best + most))]
        return sorted([(head, head + 1), self._trimmed(best, min(last, best + most - 1))])

    def _dense(self, most: int) -> int:
        """Return the start of the `most` lines, within the best ones, that contain the most of the terms."""
        stems = {term[: max(_STEM, len(term) - 2)].lower() for term in self.terms}
        stems_of_lines = [{each for each in stems if each in line.lower()} for line in self.lines]

        def worth(start: int) -> tuple[int, int, int]:
            window = stems_of_lines[start : start + most]
            return len(set().union(*window)), sum(map(len, window)), -start

        begin, end = self.best or (0, len(self.lines))
        return max(range(begin, max(begin, end - most) + 1), key=worth)

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Return the range without blank lines at its ends."""
        while start < end - 1 and not self.lines[start].strip():
            start += 1
        while end > start + 1 and not self.lines[end - 1].strip():
            end -= 1
        return start, end


@frozen
class FurtherPassage:
    """A further passage from the file of a result."""

    place: str
    """The lines, such as `40-52`."""
    name: str
    """The name of the definition around the passage, or ""."""
    text: Lines

    @property
    def head(self) -> str:
        return f"{self.place} {self.name}".rstrip()


@frozen
class ResultText:
    """The parts of a result, which can be written with more or fewer lines."""

    file: tuple[str, str]
    """The URI of the folder, and the path in it."""
    place: str
    name: str
    """The name of the definition with its kind, or the headings above the passage, or ""."""
    why: str
    """The reasons why it was found, in short."""
    explained: Sequence[str]
    """One line for each ranking signal, if the question asked for them."""
    further: Sequence[FurtherPassage]
    text: Lines
    is_aside: bool
    """Whether the result scores far below the first, or only has the same name as the wanted definition."""

    @property
    def head(self) -> str:
        head = "  ".join(filter(None, (self.place, self.name)))
        return f"{head} — {self.why}" if self.why else head

    def parts(self, most: int) -> list[Part]:
        """Return at most `most` lines of the result; fewer of an aside."""
        return self.text.parts(min(most, _LINES_ASIDE) if self.is_aside else most)

    def written(self, most: int, of_further: int = 0, before: ShownLines | None = None) -> str:
        """Return the result with at most `most` of its lines and `of_further` of each further passage.

        A further passage without lines is only named. Those of an aside are never shown. Lines that were
        shown `before` are only named.
        """
        of_further = 0 if self.is_aside else of_further
        before = before or ShownLines()
        body = [f"· {each}" for each in self.explained] + self._written(self.parts(most), before)
        for each in self.further if of_further else ():
            body.append(f"also {each.head}")
            body += self._written(each.text.parts(of_further), before)
        if self.further and not of_further:
            body.append(f"also {', '.join(each.head for each in self.further)}")
        return "\n".join([self.head, *body])

    def shown_parts(self, most: int, of_further: int = 0) -> list[Part]:
        """Return the lines that `written` shows."""
        further = () if self.is_aside or not of_further else self.further
        return self.parts(most) + [part for each in further for part in each.text.parts(of_further)]

    def _written(self, parts: Sequence[Part], before: ShownLines) -> list[str]:
        body: list[str] = []
        for first, lines in parts:
            if body:
                body.append("…")
            for run in before.runs(*self.file, first, lines):
                if run.is_known:
                    body.append(run.mark)
                else:
                    body += numbered_lines(run.first, [_whole(line) for line in run.lines])
        return body


def _whole(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"(a line of {len(line):,} characters)"


def search_texts(answer: protocol.SearchAnswer, paths: Paths) -> list[ResultText]:
    """Return the parts of each result. Of several results with the same text, only the first has lines."""
    by_name = answer.query.type == "symbol" and any(DEFINES in each.reasons for each in answer.results)
    best_score = max((each.score for each in answer.results[:1]), default=0.0)
    terms = answer.query.terms
    known: set[tuple[str, str]] = set()
    texts = []
    for result in answer.results:
        text = result_text(result, paths, by_name=by_name, best_score=best_score, terms=terms)
        same = (result.content_hash, result.snippet)
        if same in known:
            lines = evolve(text.text, lines=(), head_above=None)
            text = evolve(text, name="the same text", why="", text=lines)
        known.add(same)
        texts.append(text)
    return texts


def result_text(
    result: protocol.SearchResult,
    paths: Paths,
    *,
    by_name: bool = False,
    related: bool = False,
    best_score: float = 0.0,
    terms: Sequence[str] = (),
) -> ResultText:
    """Return the parts of a result of `search` or, with `related`, of the tool `related`.

    `by_name` means that the query named a definition that was found. `best_score` is the first result's.
    `terms` are the words of the query, which may be in further passages.
    """
    first, best = result.range.start.line, result.best_lines
    named = result.selection_range.start.line - first
    is_definition = related or (by_name and DEFINES in result.reasons)
    return ResultText(
        file=(result.folder, result.path),
        place=f"{paths.shown(result.folder, result.path)}:{lines_text(result.range)}",
        name=name_of(result),
        why="; ".join(result.reasons) if related else _why(result, by_name=by_name),
        explained=result.match_explain or (),
        further=[_further(each, terms) for each in result.passages],
        text=Lines(
            first=first + 1,
            lines=lines_of(result.snippet),
            terms=result.matched_terms,
            head_line=named if named >= 0 and (result.symbol or related) else None,
            head_above=(first + named + 1, [result.head]) if result.head and named < 0 else None,
            best=(best.start.line - first, best.end.line - first) if best else None,
            is_definition=is_definition,
        ),
        is_aside=(by_name and not is_definition) or result.score < _WEAK * best_score,
    )


def left_out_text(answer: protocol.SearchAnswer) -> str:
    """Return how many places were left out because they have only one word of the query, or ""."""
    return " ".join(
        f'{counted(each.places, "more place")} {"holds" if each.places == 1 else "hold"} "{each.word}".'
        for each in answer.further
    )


def pieces(line: protocol.MatchedLine) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a line, and whether each is a word of the query."""
    units = line.text.encode("utf-16-le", "surrogatepass")
    end = 0
    for mark in line.marks:
        yield _decoded(units[2 * end : 2 * mark.start]), False
        yield _decoded(units[2 * mark.start : 2 * mark.end]), True
        end = mark.end
    yield _decoded(units[2 * end :]), False


def _decoded(units: bytes) -> str:
    return units.decode("utf-16-le", "replace")


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


def _further(passage: protocol.FilePassage, terms: Sequence[str]) -> FurtherPassage:
    name = passage.header_path.replace(" > ", ".") if passage.symbol else ""
    text = Lines(passage.range.start.line + 1, lines_of(passage.text), terms)
    return FurtherPassage(lines_text(passage.range), name, text)
