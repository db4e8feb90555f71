"""Params and answer of `cairn/search` and `cairn/fetchPage`, and types that other requests share.

Positions and ranges in a document are 0-based as in LSP.
"""

from __future__ import annotations

from attrs import field, frozen

from cairn.errors import InvalidRequestError
from cairn.protocol.chunk_types import ChunkType
from cairn.schema.bounds import at_most, within
from cairn.text.unicode import utf16_length


@frozen
class Position:
    line: int
    character: int


@frozen
class Range:
    start: Position
    end: Position


@frozen
class TextDocument:
    uri: str


def whole_lines(start: int, end: int) -> Range:
    """Return the lines `[start, end)` as a range."""
    return Range(Position(start, 0), Position(end, 0))


def name_range(line: int, character: int, name: str) -> Range:
    """Return the range of a name that begins at `character`, in UTF-16 code units."""
    return Range(Position(line, character), Position(line, character + utf16_length(name)))


def citation(path: str, lines: tuple[int, int] | None) -> str:
    """Cite the lines `[start, end)` as `path#L10-L14`, 1-based and inclusive; without lines, return the
    path."""
    return path if lines is None else f"{path}#L{lines[0] + 1}-L{lines[1]}"


def check_range(name: str, given: Range) -> None:
    """Raise InvalidRequestError for the field `name` if no document can have the range."""
    start, end = given.start, given.end
    if min(start.line, start.character, end.line, end.character) < 0:
        raise InvalidRequestError(name, "lines and characters are counted from 0")
    if (start.line, start.character) > (end.line, end.character):
        raise InvalidRequestError(name, "ends before it starts")


@frozen
class FetchPageParams:
    path: str
    folder: str = ""
    """The URI of the workspace folder. It is needed only if two folders have the path."""
    now: bool = False
    """Whether to return the current text, from an open editor or from disk, instead of the indexed text. The
    path may then also be absolute, begin with the folder's name, or be the end of a path."""


@frozen
class PageChunk:
    range: Range
    title: str
    type: ChunkType
    symbol: str


@frozen
class PageAnswer:
    text: str
    language: str
    chunks: tuple[PageChunk, ...]
    path: str = ""
    """The path relative to the workspace folder, with `/`."""
    folder: str = ""
    """The URI of the workspace folder."""
    version: str = "indexed"
    """`disk` if the request had `now` and the file could be read, otherwise `indexed`. `chunks` always
    describes the indexed text."""
    changed: bool = False
    """Whether the current text differs from the indexed text. Without `now` it is always false."""


# --- search ------------------------------------------------------------------------------------------------

MOST_RESULTS, MOST_LINES = 200, 10_000
"""The maximum number of results, and of lines of an exact search."""
LIMIT = within(1, MOST_RESULTS)
AROUND = within(0, 10)
PLACES = at_most(items=100, chars=4_096)


@frozen
class SearchFilter:
    """A filter of results. A result must match one value of each field that is not empty."""

    type: tuple[ChunkType, ...] = ()
    language: tuple[str, ...] = ()
    """Names or usual abbreviations of languages: `typescript`, `ts`."""
    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    """Folders, files or gitignore-style globs to search in; nothing else is searched. Give this if the
    question is about one part of the workspace. A path is relative to the workspace (`net/ipv4`) or absolute;
    if several folders are open, it may begin with a folder's name. A glob with `!` excludes: `docs/*.md`,
    `!*.lock`. A path that does not exist means the files whose path contains it, as the answer says. If there
    are none, that is an error, whose message names the most similar paths."""
    collection: tuple[str, ...] = ()


@frozen
class SearchParams:
    query: str
    limit: int = field(default=10, metadata=within(1, MOST_LINES))
    """The number of results, 200 at most; with `exact`, the number of lines that are listed."""
    alpha: float | None = field(default=None, metadata=within(0, 1))
    """The balance of keywords and vectors: 0 ranks by keywords only, 1 by vectors only. If absent, the type
    of the query decides."""
    filter: SearchFilter = field(factory=SearchFilter)
    context: int = field(default=1, metadata=AROUND)
    """How many chunks to show before and after each result."""
    explain: bool = False
    passages: int = field(default=3, metadata=within(1, 3))
    """How many passages of one file are returned at most. With 1, only the best one is returned."""
    case_sensitive: bool = False
    """Whether text in double quotes must match in upper and lower case. With this or `whole_word`, a query
    without quotes is treated as if all of it were quoted."""
    whole_word: bool = False
    """Whether text in double quotes must match whole words."""
    best_only: bool = False
    """Whether to leave out results of a query of a few words that are far worse than the first, for example
    because they have only one common word of the query. `further` counts these."""
    exact: bool = False
    """Whether to list every line that contains the query as it is written, quotes included, instead of ranked
    results. `occurrences` has the lines. The case must match unless `ignoreCase` is given, `wholeWord`
    applies, and options for ranking have no effect."""
    regex: bool = False
    """Whether the query is a regular expression, in the syntax of Python. This implies `exact`. Each line is
    matched alone, so `^` and `$` are its ends."""
    ignore_case: bool = False
    """Whether an exact search ignores case."""

    def __attrs_post_init__(self) -> None:
        if self.limit > MOST_RESULTS and not self.is_exact:
            raise InvalidRequestError(
                "limit", f"expected 1 to {MOST_RESULTS} without exact, got {self.limit}"
            )

    @property
    def is_exact(self) -> bool:
        return self.exact or self.regex


@frozen
class Context:
    before: str = ""
    after: str = ""


@frozen
class FilePassage:
    """A further passage of a result's file."""

    range: Range
    """The lines of the passage; the range covers whole lines."""
    text: str
    symbol: str
    """The definition that contains the lines; "" if none does."""
    header_path: str
    score: float
    """The score, from 0 to 1, comparable with those of other passages in the answer."""


@frozen
class Mark:
    """The characters `[start, end)` of a text, in UTF-16 code units."""

    start: int
    end: int


@frozen
class MatchedLine:
    """A line that matches the query: the best one of a result, or one that an exact search found."""

    line: int
    """The 0-based line of the file."""
    text: str
    """The line without its indentation; a long line is cut around what matches."""
    marks: tuple[Mark, ...]
    """The words of the query in `text`, in order; for an exact search, each match."""


@frozen
class SearchResult:
    """A definition, or a section of a document, that answers the query."""

    path: str
    folder: str
    """The URI of the workspace folder."""
    uri: str
    range: Range
    """The lines of `snippet`: the definition or section, or the part of a long one that matches best."""
    selection_range: Range
    """The line to go to: the one that names `symbol` or has the heading, also if it is above `range`. Without
    either, the first line. For a related passage, the lines that show the relation: a call, a mention, a
    definition, or the lines nearest in meaning."""
    collection: str
    title: str
    header_path: str
    symbol: str
    symbol_kind: str
    """`function`, `class`, `method`, …; "" if there is no symbol."""
    type: ChunkType
    language: str
    score: float
    """The score, from 0 to 1, comparable within one answer."""
    source: str
    """The kind of search that found the result: `exact`, `keyword`, `embedding`, or `hybrid` for the last
    two."""
    matched_terms: tuple[str, ...]
    reasons: tuple[str, ...]
    """Up to three ranking signals that raised the result, the strongest first."""
    snippet: str
    context: Context
    content_hash: str
    passages: tuple[FilePassage, ...] = ()
    """Further passages of the same file, best first. They do not overlap each other or `snippet`."""
    match_explain: tuple[str, ...] | None = None
    """One line for each signal, the strongest first; null unless the request had `explain`."""
    best_lines: Range | None = None
    """The lines of `range` that answer the question best; null if the query is a name, and for related
    passages."""
    matched_line: MatchedLine | None = None
    """The line of `range` that matches best; null for related passages and if no line has a word of the
    query."""
    head: str = ""
    """The line that names the definition, if `range` begins below it; else ""."""


@frozen
class Candidate:
    """One of the alternatives that a clarifying question offers."""

    title: str
    category: str
    path: str


@frozen
class Verdict:
    """How well the results match the query, and what to tell the user about it."""

    action: str
    """`answer`, `clarify` or `noMatch`."""
    message: str
    candidates: tuple[Candidate, ...]
    confidence: float
    """The difference between the score of the first result and the mean score of the next three, as a share
    of the first score, from 0 to 1."""
    matched_terms: tuple[str, ...]
    coverage: float = 0.0
    """The share of the query's words in the result that contains most of them, weighted by inverse document
    frequency; from 0 to 1."""
    note: str = ""
    """How the query was understood, if the user should know: for example that its language is not supported,
    that only its beginning was used, that no file contains the text in quotes, or that a path of the
    filter was taken as a part of paths."""


@frozen
class QueryInfo:
    """How the query was understood."""

    normalized: str
    terms: tuple[str, ...]
    type: str
    alpha: float
    corrections: tuple[str, ...] = ()


@frozen
class Revision:
    """The indexed commit of a workspace folder that is read from a team's index."""

    folder: str
    """The URI of the workspace folder."""
    repository: str
    ref: str
    commit: str
    committed_at: str
    """The time of the commit (ISO 8601)."""
    indexed_at: str
    behind: int | None = None
    """How many commits of the folder are newer than the indexed one; null if unknown."""


@frozen
class IndexState:
    """The state of the index when the answer was made."""

    generation: int
    complete: bool
    """Whether every file was indexed and embedded."""
    remaining: tuple[str, ...] = ()
    """The unfinished parts: `files`, `vectors`, `history` and `imports`."""
    note: str = ""
    """Why nothing is indexed, if a rule excludes every file; that changes of a folder may be missing from the
    answer; which of the shown files have changed since they were indexed; and which settings file cannot be
    read."""
    revisions: tuple[Revision, ...] = ()
    """The indexed commit of each folder that is read from a team's index."""
    source: str = ""
    """The revisions in one sentence; "" if no team's index is read."""


@frozen
class AnsweredIn:
    """The phase in which an answer was made."""

    phase: int = 3
    """The phase: 3 searches in all ways, 2 without vectors, 1 by names and keywords only, and 0 is off."""
    wanted: int = 3
    """The phase that the settings or `cairn phase` ask for; at most 2 if no model can be used."""
    fallback: str = ""
    """What answered if the phase failed: `keywords`, `names`, `cache` (an earlier answer) or `generic` (only
    a message); "" if the phase did not fail."""
    reason: str = ""
    """Why the phase is lower than wanted, or why a fallback answered."""


@frozen
class FurtherPlaces:
    """Places that have only one word of the query. They were left out, because others have more of it."""

    word: str
    """The word. A search for it shows the places."""
    places: int


@frozen
class DefinitionOccurrences:
    """Lines that an exact search found in one definition or section."""

    symbol: str
    """The innermost definition around the lines, after those that enclose it, such as `Pool.take`. In a
    document, the heading above them. "" if there is none."""
    kind: str
    """`function`, `class`, `heading`, …; "" if there is no symbol or its kind is unknown."""
    lines: tuple[MatchedLine, ...]


@frozen
class FileOccurrences:
    """A file with lines that an exact search found."""

    path: str
    folder: str
    """The URI of the workspace folder."""
    uri: str
    count: int
    """The number of lines that were found in the file, listed or not."""
    definitions: tuple[DefinitionOccurrences, ...]
    """The listed lines in order; none if earlier files have as many lines as `limit` allows."""


@frozen
class Occurrences:
    """Every line that an exact search found, and what it did not search."""

    lines: int
    """The number of lines found, whatever the limit."""
    files: int
    """The number of files with these lines."""
    found: tuple[FileOccurrences, ...]
    """The files: first those that define the text as a name, then source, tests and documents, each by path.
    At most 10,000 files are listed."""
    other_case: int | None
    """The number of further lines that match only in another case. Null if it was not counted: with
    `ignoreCase`, and for an expression without a fixed text of two letters."""
    searched: int
    """The number of files that were searched: those of the index that pass the filter."""
    complete: bool
    """Whether all lines of these files were found. Lines beyond the limit count as found."""
    reason: str
    """Why the search is incomplete, as sentences; "" if it is complete."""
    not_searched: dict[str, int]
    """The number of files and directories of the whole workspace that are left out of the index, by rule.
    The files in a directory that is left out are not counted. Empty if none are or, for a team's index, if
    only the team's server knows."""


@frozen
class SearchAnswer:
    results: tuple[SearchResult, ...]
    verdict: Verdict
    query: QueryInfo
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step. `cached` is 1 if the answer came from the cache."""
    broken_off: tuple[str, ...] = ()
    """The steps that reached their deadline. What they found by then was used."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)
    further: tuple[FurtherPlaces, ...] = ()
    """What was left out, the most frequent word first."""
    occurrences: Occurrences | None = None
    """The answer of an exact search, for which `results` is empty; null for any other search, and if the
    search failed, which `retrieval` explains."""
