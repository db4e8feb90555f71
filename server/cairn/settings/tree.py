"""The tree of settings, with every default and every limit; those of discovery are in
`cairn.settings.discovery`.

`cairn.settings.layers` reads values into it. `cairn config schema` prints it as a JSON schema, with these
texts.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs
from attrs import field, frozen

from cairn.schema.bounds import within
from cairn.settings.discovery import DiscoveryConfig
from cairn.settings.marks import JOINED, SHARE, USER_ONLY

Keys = tuple[str, ...]
"""The path of a setting from the root: `("search", "candidates")`."""

WORKSPACE_FILE = ".cairn.toml"
USER_FILE = "config.toml"

_A_DAY = 24 * 60 * 60  # in seconds
_TEN_YEARS = 3_650  # in days
_TOKENS = within(0, 100_000)
"""The limit of one part's budget is that of the whole budget in `cairn/context`."""


@frozen
class IndexSettings:
    """Which files are indexed."""

    include: tuple[str, ...] = ()
    """Gitignore-style patterns. If any are given, only files that match one of them are indexed. Files that
    other rules exclude, such as secrets, stay excluded."""
    exclude: tuple[str, ...] = field(default=(), metadata=JOINED)
    """Gitignore-style patterns of files that are not indexed. The lists of the user, the workspace, the
    editor and the environment are joined in this order, and the last matching pattern decides. So a workspace
    can include again, with `!`, what the user's list excludes."""
    collections: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False, metadata=JOINED)
    """Your own collections, which are named groups of files. Each has a name and gitignore-style patterns of
    its files: `api-docs = ["docs/api/"]`. All other files belong to `<project>-source`, `-docs`, `-tests`,
    `-config` or `-examples`."""
    max_file_bytes: int = 1_000_000
    """The largest size of an indexed file; larger files are skipped. Hand-written source files are far
    smaller than the default."""
    watch: bool = True
    """Whether to watch for changes that are made outside the editor."""
    workers: int = field(default=0, metadata=within(0, 64))
    """How many processes read and chunk files when many are waiting. With 0, Cairn uses one for each idle
    core, and fewer on battery or while the machine is busy. With 1, Cairn starts no other process for
    that."""
    history: bool = True
    """Whether to read from git which commits touched which file."""


@frozen
class EmbeddingSettings:
    """How text becomes vectors."""

    enabled: bool = True
    """Whether to make vectors. Without them, Cairn searches by names and keywords."""
    model: str = field(default="", metadata=USER_ONLY)
    """The folder of an embedding model of your own, with `model.onnx` and `tokenizer.json`, which makes the
    vectors instead of the code model that comes with Cairn. It takes minutes or hours instead of seconds."""
    threads: int = field(default=1, metadata=within(0, 256))
    """How many threads your own model uses. Two are much slower than one on a small, busy machine."""
    code_tokens: int = field(default=64, metadata=within(1, 8_192))
    """How many tokens of a code chunk's outline are embedded. Values from 32 to 128 rank equally well."""
    text_tokens: int = field(default=128, metadata=within(1, 8_192))
    """How many tokens of a prose chunk are embedded. Values from 64 to 256 rank equally well."""


@frozen
class VerdictSettings:
    """When a search answers, when it asks back, and when it finds no match."""

    min_score: float = 3.0
    """If the match count of the first result is lower, its match is weak. The match count adds points for
    query terms in the title, the path, the definitions and the text."""
    min_matched_terms: int = 2
    """The number of query terms that the first result must contain, if the query has that many."""
    min_gap: float = 2.0
    """The least difference in match count between two results whose names both match. Below it, Cairn asks
    which one is meant."""
    min_confidence: float = field(default=0.3, metadata=SHARE)
    """The least difference in match count between two results whose names both match, as a share of the first
    one's match count. Below it, Cairn asks which one is meant."""
    min_coverage: float = field(default=0.25, metadata=SHARE)
    """The share of the query, weighted by inverse document frequency, that at least one result must contain.
    If none does, nothing matches. This rule applies to names and, if there are no vectors, to every query."""
    min_evidence: float = field(default=0.05, metadata=SHARE)
    """If the calibrated probability that the passages answer the question is lower, nothing matches. This
    rule needs vectors."""
    sure_evidence: float = field(default=0.35, metadata=SHARE)
    """If the calibrated probability that the passages answer the question is at least this high, a match is
    never weak, whatever its match count."""


@frozen
class KillSwitchSettings:
    """When searching drops to a lower phase by itself, and when it returns."""

    automatic: bool = True
    """Whether Cairn lowers the phase by itself. If not, only `retrieval.phase`, `retrieval.enabled` and
    `cairn phase` set it."""
    window_seconds: float = field(default=300.0, metadata=within(0, _A_DAY))
    """The length of the window over which processor time and error rate are measured."""
    p95_ms: float = 500.0
    """The 95th percentile of the processor time of a search above which the phase drops by one. If phase 1
    stays above it for a whole window, retrieval is switched off. Other programs do not change the processor
    time."""
    error_rate: float = field(default=0.05, metadata=SHARE)
    """The share of failed searches above which retrieval is switched off. If only vectors failed, phase 3
    drops to 2."""
    min_queries: int = field(default=20, metadata=within(1, 1_000_000))
    """The number of searches that the window must contain before the phase can drop."""
    recovery_seconds: float = field(default=300.0, metadata=within(0, _A_DAY))
    """How long Cairn waits after a drop before it tries the next higher phase. Each failed try doubles the
    wait, up to 16 times this value."""
    recovery_share: float = field(default=0.8, metadata=SHARE)
    """The next higher phase is tried only if the 95th percentile of the processor time is below this share
    of `p95_ms`, and no search failed."""


@frozen
class RetrievalSettings:
    """The phase of retrieval, which says what parts of the index are used for answers."""

    enabled: bool = True
    """Whether to index, watch and search. If not, only cached answers are given."""
    phase: int = field(default=3, metadata=within(1, 3))
    """Phase 3 searches with all legs, phase 2 with all legs except vectors, and phase 1 only by names and
    keywords."""
    kill_switch: KillSwitchSettings = field(factory=KillSwitchSettings)


@frozen
class DiversitySettings:
    """Factors by which the score of a result is multiplied if it resembles better ones. A factor of 1 changes
    nothing."""

    file: float = field(default=0.85, metadata=SHARE)
    """The factor for the second and each further result of a file."""
    near_duplicate: float = field(default=0.5, metadata=SHARE)
    """The factor for a copy, or near copy, of a better result. If it is below 1, copies also rank after all
    other results."""
    similarity: float = field(default=0.9, metadata=SHARE)
    """The Jaccard similarity of word pairs from which two texts are near copies."""


class Leg(enum.StrEnum):
    """The ways to find candidates."""

    NAMES = "names"
    """Definitions of the names in the query."""
    KEYWORDS = "keywords"
    FILES = "files"
    """Paths and commit subjects."""
    EXACT = "exact"
    """Literal text."""
    MEANING = "meaning"
    """Vectors."""


@frozen
class SearchSettings:
    """How a search finds and ranks passages."""

    legs: tuple[Leg, ...] = tuple(Leg)
    """The legs (ways to find candidates) that a search uses; a lower phase uses fewer of them."""

    candidates: int = field(default=1_000, metadata=within(0, 100_000))
    """How many chunks the keyword leg may contribute."""
    neighbours: int = field(default=600, metadata=within(0, 100_000))
    """How many chunks the vector leg may contribute."""
    keyword_rows: int = field(default=200_000, metadata=within(0, 1_000_000))
    """How many chunks the keyword leg may read. It reads the rarest words first, leaves out words that would
    exceed this number, and always reads the rarest one."""
    weights: Mapping[str, float] = field(factory=dict, hash=False, metadata=within(-1_000, 1_000))
    """Your own weights of ranking signals, by name (docs/ranking.md lists them); 0 switches a signal off."""
    leg_deadline_ms: float = field(default=250.0, metadata=USER_ONLY | within(0, 600_000))
    """The deadline of a leg: it is stopped after so many milliseconds of its own work, or four times as many
    of elapsed time. It then contributes what it has found."""
    synonyms: Mapping[str, str] = field(factory=dict, hash=False, metadata=JOINED)
    """Other words that this workspace uses for a word or phrase: `shortcuts = "quick links"`. The original
    words are searched for, too."""
    feedback: bool = True
    """Whether to record which results are opened for which queries, and to rank by it."""
    core_concepts: tuple[str, ...] = field(default=(), metadata=JOINED)
    """Important words of the workspace. They are never corrected, and misspelt words are corrected to
    them."""
    verdict: VerdictSettings = field(factory=VerdictSettings)
    diversity: DiversitySettings = field(factory=DiversitySettings)


@frozen
class ContextSettings:
    """How many tokens each part of a context (`cairn/context`) may take."""

    core_concepts: int = field(default=500, metadata=_TOKENS)
    passages: int = field(default=1500, metadata=_TOKENS)
    editor_state: int = field(default=300, metadata=_TOKENS)
    """The budget of the cursor's place, the passage there and the list of open documents."""
    diagnostics: int = field(default=200, metadata=_TOKENS)
    recent_queries: int = field(default=500, metadata=_TOKENS)


@frozen
class LogSettings:
    """The query log: one line of JSON for each query, in the workspace's data folder."""

    queries: bool = field(default=True, metadata=USER_ONLY)
    """Whether to log times, counts, the places of the first results and the phase. `cairn status` computes
    its figures from the log."""
    query_text: bool = field(default=False, metadata=USER_ONLY)
    """Whether to log the text and the terms of each query, too."""
    max_bytes: int = field(default=1_000_000, metadata=USER_ONLY)
    """The size at which a new log is begun. One older log is kept beside it."""


class Lenses(enum.StrEnum):
    """What has code lenses."""

    OFF = "off"
    SYMBOLS = "symbols"
    """Functions, methods and types."""
    ALL = "all"
    """The headings of documents, too."""


@frozen
class LspSettings:
    """Language features for editors, beside search."""

    navigation: tuple[str, ...] = field(default=(), metadata=USER_ONLY)
    """The languages in which Cairn offers go to definition, find references, find implementations and the
    call hierarchy: names as the editor or Cairn spells them, or `*` for all. Use it for languages without
    another language server."""
    lenses: Lenses = field(default=Lenses.SYMBOLS, metadata=USER_ONLY)
    """What has code lenses, which say how many call and test a definition, which documents explain it, and
    which files change with the file: functions, methods and types (`symbols`), the headings of documents, too
    (`all`), or nothing (`off`)."""
    hover: bool = field(default=True, metadata=USER_ONLY)
    """Whether the hover of a name says which documents explain it, with their sentences."""


class AgentTool(enum.StrEnum):
    """A tool that agents may be shown."""

    SEARCH = "search"
    DISCOVER = "discover"
    READ = "read"
    REFERENCES = "references"
    CHANGES = "changes"
    STATUS = "status"
    RELATED = "related"
    STAGES = "stages"
    """The nine stages of discovery."""
    ALL = "all"


@frozen
class AgentsSettings:
    """The MCP tools for agents."""

    tools: tuple[AgentTool, ...] = field(default=(), metadata=USER_ONLY)
    """The tools that a client sees. If empty, these are search, discover, read, references, changes
    and status."""
    structured: bool = field(default=False, metadata=USER_ONLY)
    """Whether answers are data for programs instead of text for models. A client can also ask for data in a
    single call."""
    max_tokens: int = field(default=0, metadata=within(0, 50_000))
    """How many tokens an answer has at most, unless a call gives its own limit. With 0, each tool has its own
    limit of 500 to 8,000."""
    repeat_lines: bool = field(default=False, metadata=USER_ONLY)
    """Whether a connection is shown lines again that it was shown before. Set this if several agents with
    contexts of their own share a connection."""
    idle_minutes: float = field(default=5.0, metadata=USER_ONLY | within(0, _TEN_YEARS * 24 * 60))
    """How long a background engine that `cairn mcp` started runs after its last client left. With 0 it ends
    at once."""


@frozen
class ServeSettings:
    """`cairn serve`: the addresses and limits of the server."""

    host: str = field(default="127.0.0.1", metadata=USER_ONLY)
    """The address to listen on. An address that other machines can reach also needs `--allow-remote`."""
    port: int = field(default=7420, metadata=USER_ONLY | within(0, 65_535))
    """The port of the page, REST, MCP and metrics; 0 takes a free one."""
    lsp_port: int = field(default=7421, metadata=USER_ONLY | within(0, 65_535))
    """The port of the language server; 0 takes a free one."""
    idle_minutes: float = field(default=0.0, metadata=USER_ONLY | within(0, _TEN_YEARS * 24 * 60))
    """How long the server runs without a client; with 0 it never ends by itself."""
    max_body_bytes: int = field(default=16_000_000, metadata=USER_ONLY)
    """The largest request body. Only the diff of a large change needs more than a fraction of the default."""
    request_seconds: float = field(default=30.0, metadata=USER_ONLY | within(0.1, _A_DAY))
    """The deadline of a request."""
    session_hours: float = field(default=168.0, metadata=USER_ONLY | within(0.0001, _TEN_YEARS * 24))
    """How long a browser stays signed in to the page."""


@frozen
class TeamSettings:
    """A team's index. A clone whose commit is indexed there reads that index, and this machine indexes only
    the clone's own changes."""

    url: str = field(default="", metadata=USER_ONLY)
    """The URL of the team's server, such as `https://cairn.example.org`. The token is read from
    `CAIRN_TEAM_TOKEN`, or from the file `team-token` beside the user's settings, which no other user may be
    able to read."""


@frozen
class Settings:
    """The root of the tree."""

    index: IndexSettings = field(factory=IndexSettings)
    embedding: EmbeddingSettings = field(factory=EmbeddingSettings)
    retrieval: RetrievalSettings = field(factory=RetrievalSettings)
    search: SearchSettings = field(factory=SearchSettings)
    discovery: DiscoveryConfig = field(factory=DiscoveryConfig)
    context: ContextSettings = field(factory=ContextSettings)
    log: LogSettings = field(factory=LogSettings)
    lsp: LspSettings = field(factory=LspSettings)
    agents: AgentsSettings = field(factory=AgentsSettings)
    serve: ServeSettings = field(factory=ServeSettings)
    team: TeamSettings = field(factory=TeamSettings)


_BY_EVIDENCE = "has no effect any more; use min_evidence and sure_evidence"
RETIRED: Mapping[str, str] = {
    "search.verdict.min_lead": _BY_EVIDENCE,
    "search.verdict.min_similarity": _BY_EVIDENCE,
    "search.verdict.sure_similarity": _BY_EVIDENCE,
    "search.verdict.min_static_similarity": _BY_EVIDENCE,
    "search.verdict.sure_static_similarity": _BY_EVIDENCE,
    **dict.fromkeys(
        (
            "embedding.batch_size",
            "index.keep_vectors_days",
            "index.keep_vectors_mb",
            "retrieval.drill_ms",
            "retrieval.kill_switch.busy_share",
            "search.diversity.directory",
            "search.diversity.file_name",
        ),
        "has no effect any more",
    ),
}
"""The settings of earlier releases that no longer exist, and what a warning says of each."""


def leaves(settings: Any, above: Keys = ()) -> dict[Keys, Any]:
    """Return the value of each setting in a tree, by its path from the root."""
    found: dict[Keys, Any] = {}
    for attribute in attrs.fields(type(settings)):
        value = getattr(settings, attribute.name)
        names = (*above, attribute.name)
        found |= leaves(value, names) if attrs.has(type(value)) else {names: value}
    return found
