"""`cairn/search`, and the parts that answers to other questions share with its own."""

from __future__ import annotations

from attrs import field, frozen

from cairn.protocol.chunk_type import ChunkType
from cairn.protocol.places import Range
from cairn.schema.bounds import at_most, within

LIMIT = within(1, 200)
"""Results that a request may ask for."""
AROUND = within(0, 10)
"""Chunks before and after each result that it may ask for."""


PLACES = at_most(items=100, chars=4_096)
"""Places that a request may be limited to."""


@frozen
class SearchFilter:
    """Strict: a result satisfies every field that is given. Several values mean any of them."""

    type: tuple[ChunkType, ...] = ()
    language: tuple[str, ...] = ()
    """By name or by a usual short one: `typescript`, `ts`."""
    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    """Where to look. Give it wherever the question is about one part of the workspace: nothing from elsewhere is found then, nor
    crowds out what is there. A folder, with all that is below, or a file, by its path in the workspace (`net/ipv4`) or its absolute
    one; or a gitignore-style glob (`docs/*.md`; `!*.lock` leaves out). Of several open folders a path may begin with the folder's
    name. A place that there is not is an error, which names the nearest."""
    collection: tuple[str, ...] = ()


@frozen
class SearchParams:
    query: str
    limit: int = field(default=10, metadata=LIMIT)
    alpha: float | None = field(default=None, metadata=within(0, 1))
    """0 keywords only … 1 vectors only; by the query's type when absent."""
    filter: SearchFilter = field(factory=SearchFilter)
    context: int = field(default=1, metadata=AROUND)
    """Chunks shown before and after each result."""
    explain: bool = False
    passages: int = field(default=3, metadata=within(1, 3))
    """Passages of one file that are shown, where it has so many that help to answer: 1 for its best one alone."""
    case_sensitive: bool = False
    """Whether text in double quotes is found only in the same case. With this or `whole_word`, a query without quotes
    is such text as a whole."""
    whole_word: bool = False
    """Whether text in double quotes is found only where it is no part of a longer word."""


@frozen
class Context:
    before: str = ""
    after: str = ""


@frozen
class FilePassage:
    """A further passage of a result's file."""

    range: Range
    """Whole lines."""
    text: str
    symbol: str
    """The definition that the lines belong to, "" for none."""
    header_path: str
    score: float
    """0 to 1, comparable with those of other passages of the answer."""


@frozen
class SearchResult:
    path: str
    folder: str
    """URI of the workspace folder."""
    uri: str
    range: Range
    selection_range: Range
    """The line to go to, as in LSP's symbols: the one that names `symbol`, or else the first. Of what is related the lines
    that relate: the call, the mention or the definition of a name, or those that are nearest in meaning."""
    collection: str
    title: str
    header_path: str
    symbol: str
    symbol_kind: str
    """`function`, `class`, `method`, …; "" for none."""
    type: ChunkType
    language: str
    score: float
    """0 to 1, comparable within one answer."""
    source: str
    """`exact`, `keyword`, `embedding` or `hybrid`: the legs that found it."""
    matched_terms: tuple[str, ...]
    reasons: tuple[str, ...]
    """Why it stands where it does: the ranking signals that speak for it, the strongest first, three at most."""
    snippet: str
    context: Context
    content_hash: str
    passages: tuple[FilePassage, ...] = ()
    """Further passages of the same file, beside `snippet`, best first; none of them overlaps another."""
    match_explain: tuple[str, ...] | None = None
    """One line a signal, strongest first; only when asked for."""
    best_lines: Range | None = None
    """Whole lines of `range` that answer the question best; null for a name, and of what is related."""


@frozen
class Candidate:
    """What a clarifying question offers."""

    title: str
    category: str
    path: str


@frozen
class Verdict:
    action: str
    """`answer`, `clarify` or `noMatch`."""
    message: str
    candidates: tuple[Candidate, ...]
    confidence: float
    """By what share of its score the first result leads the mean of the next three, 0 to 1."""
    matched_terms: tuple[str, ...]
    coverage: float = 0.0
    """How much of the question some result holds, 0 to 1, rare terms counting more."""
    note: str = ""
    """What a person should know of how the question was understood: that Cairn does not know its language, or that evidence
    was looked for by its beginning alone."""


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
    """What of a repository a team's index answers from."""

    folder: str
    """The folder's URI."""
    repository: str
    ref: str
    commit: str
    committed_at: str
    """In ISO 8601."""
    indexed_at: str
    behind: int | None = None
    """Commits of the folder that are not in the index; None where that is not known."""


@frozen
class IndexState:
    generation: int
    complete: bool
    """Whether every present file was indexed and embedded when the answer was made."""
    remaining: tuple[str, ...] = ()
    """What was not done yet, of `files`, `vectors`, `history` and `imports`."""
    note: str = ""
    """Why nothing is indexed, where a rule leaves every file out."""
    revisions: tuple[Revision, ...] = ()
    """Of which commits the answer speaks, for each folder that is read from a team's index."""
    source: str = ""
    """These in words, as one sentence; "" where no team's index is read."""


@frozen
class AnsweredIn:
    """The phase (S2) in which an answer was made."""

    phase: int = 3
    """3 with vectors, 2 by keywords alone, 1 by names and keywords and nothing else, 0 where retrieval is off."""
    wanted: int = 3
    """The phase that the settings, or somebody by hand, ask for; 2 at most where no model can be used."""
    fallback: str = ""
    """What stood in for the phase that it was asked in: `keywords` or `names` where more failed, `cache` for an answer that was
    kept from before, `generic` for a message alone; "" for nothing."""
    reason: str = ""
    """Why the phase is lower than wanted, or something stood in."""


@frozen
class SearchAnswer:
    results: tuple[SearchResult, ...]
    verdict: Verdict
    query: QueryInfo
    index: IndexState
    timings: dict[str, float]
    """Milliseconds by step; `cached` is 1 where the answer was there already."""
    broken_off: tuple[str, ...] = ()
    """Steps whose time was over before they had looked everywhere; what they found until then counts."""
    retrieval: AnsweredIn = field(factory=AnsweredIn)
