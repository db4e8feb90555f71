"""One typed tree of settings: every default and every limit stands here, those of discovery in `cairn.settings.discovery`.

`cairn.settings.layers` reads values into it. `cairn config schema` shows the tree with the texts below as JSON schema.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import attrs
from attrs import field, frozen

from cairn.schema.bounds import within
from cairn.settings.discovery import DiscoveryConfig
from cairn.settings.marks import ADDS_UP, SHARE, USER_ONLY

Keys = tuple[str, ...]
"""Names of settings from the root on: `("search", "candidates")`."""

WORKSPACE_FILE = ".cairn.toml"
USER_FILE = "config.toml"

_A_DAY = 24 * 60 * 60  # in seconds
_TEN_YEARS = 3_650  # in days
_TOKENS = within(0, 100_000)
"""Of a part of the context: what `cairn/context` takes as a budget for all of it."""


@frozen
class IndexSettings:
    """Which files are indexed."""

    include: tuple[str, ...] = ()
    """Gitignore-style patterns; when given, only files that match one are indexed. What other rules leave out,
    secrets above all, stays out."""
    exclude: tuple[str, ...] = field(default=(), metadata=ADDS_UP)
    """Gitignore-style patterns of files never indexed. The lists of the user, the workspace, the editor and the environment
    add up, in this order; as the last pattern that matches decides, a workspace can take back with `!` what the user's
    list leaves out."""
    collections: Mapping[str, tuple[str, ...]] = field(factory=dict, hash=False, metadata=ADDS_UP)
    """Collections of your own, by name, with gitignore-style patterns of their files: `api-docs = ["docs/api/"]`. A file in
    none of them belongs to `<project>-source`, `-docs`, `-tests`, `-config` or `-examples`."""
    max_file_bytes: int = 1_000_000
    """Larger files are skipped; hand-written sources are far below this."""
    watch: bool = True
    """Pick up changes made outside the editor."""
    workers: int = field(default=0, metadata=within(0, 64))
    """Processes that read and chunk where many files wait. 0: as many as there are cores to spare, fewer on battery or while
    the machine is busy; 1: none, the daemon does it alone."""
    history: bool = True
    """Read which commits touched which file, where there is a git repository."""
    keep_vectors_days: int = field(default=30, metadata=within(0, _TEN_YEARS))
    """Vectors that no file uses any more stay this long: a branch that comes back needs no new ones."""
    keep_vectors_mb: int = 500
    """…as long as they take no more than this; the oldest go first. 500 MB hold 325,000 of
    all-MiniLM-L6-v2; static ones go with their chunks."""


@frozen
class EmbeddingSettings:
    """How text becomes vectors."""

    enabled: bool = True
    threads: int = field(default=1, metadata=within(0, 256))
    """Threads of one call of a larger model. Two collapse under load on small machines (docs/design.md)."""
    batch_size: int = field(default=16, metadata=within(1, 1_000))
    """Texts per call of a larger model at most; calls of more than 256 tokens in all did not help."""
    code_tokens: int = field(default=64, metadata=within(1, 8_192))
    """Tokens of a code chunk's skeleton that are embedded. 32 to 128 rank alike (docs/ranking.md)."""
    text_tokens: int = field(default=128, metadata=within(1, 8_192))
    """Tokens of a prose chunk that are embedded. 64 to 256 rank alike, 256 takes twice the time."""


@frozen
class VerdictSettings:
    """When to answer and when to ask back: S2's thresholds (phase 1), and those of the calibration."""

    min_score: float = 3.0
    """S2's count of the first result, from which its match is no weak one."""
    min_matched_terms: int = 2
    """…and of the question's terms that it must hold, where there are so many."""
    min_gap: float = 2.0
    """By how much S2's count must tell apart two results that are both called what was asked for…"""
    min_confidence: float = field(default=0.3, metadata=SHARE)
    """…and by what share of the first one's."""
    min_coverage: float = field(default=0.25, metadata=SHARE)
    """Without vectors, and for names: the share of the question, by the rarity of its terms, that some result must hold."""
    min_evidence: float = field(default=0.05, metadata=SHARE)
    """With them: how likely the passages found must answer (0 to 1, calibrated), or else the question is refused."""
    sure_evidence: float = field(default=0.5, metadata=SHARE)
    """…and from which it is no weak match, whatever S2's count says."""


@frozen
class KillSwitchSettings:
    """When searching steps down by itself, and when it comes back (S2's kill switch; the defaults are S2's where it has any)."""

    automatic: bool = True
    """Off: only `retrieval.phase`, `retrieval.enabled` and `cairn phase` decide."""
    window_seconds: float = field(default=300.0, metadata=within(0, _A_DAY))
    """The window over which percentile and rate are taken."""
    p95_ms: float = 500.0
    """A 95th percentile of search latency above this drops one phase; in the last one, once a whole window has passed in it,
    it switches retrieval off."""
    busy_share: float = field(default=0.4, metadata=SHARE)
    """…unless other programs took more than this share of all cores meanwhile: then the status says so."""
    error_rate: float = field(default=0.05, metadata=SHARE)
    """A share of failed searches above this switches retrieval off; of searches without their vectors, it drops phase 3."""
    min_queries: int = field(default=20, metadata=within(1, 1_000_000))
    """Searches that the window must hold before anything is concluded from it."""
    recovery_seconds: float = field(default=300.0, metadata=within(0, _A_DAY))
    """After a drop, the next higher phase is tried again after this long; each failed try doubles it, up to 16 times."""
    recovery_share: float = field(default=0.8, metadata=SHARE)
    """…if the percentile is below this share of `p95_ms` by then, and nothing failed."""


@frozen
class RetrievalSettings:
    """S2's phases: what is indexed and how much of it takes part in answers."""

    enabled: bool = True
    """Off: nothing is indexed, searched or watched; what was answered before is answered again."""
    phase: int = field(default=3, metadata=within(1, 3))
    """3 makes and compares vectors, 2 uses keywords alone, 1 looks up names and keywords and nothing else."""
    kill_switch: KillSwitchSettings = field(factory=KillSwitchSettings)


@frozen
class DiversitySettings:
    """What a result's score is multiplied by where better ones are like it; 1 switches a rule off (S5, priority 3).

    S5's 0.8 for a directory and 0.85 for a name cost 0.001 and 0.003 NDCG@10, so they are off (docs/ranking.md).
    """

    directory: float = field(default=1.0, metadata=SHARE)
    """From the third file of a directory on."""
    file_name: float = field(default=1.0, metadata=SHARE)
    """From the second file of a name on, such as `mod.rs`."""
    file: float = field(default=0.85, metadata=SHARE)
    """From the second result of a file on; S5's sample counts it as a repeated name."""
    near_duplicate: float = field(default=0.5, metadata=SHARE)
    """A copy, or nearly one, of a better result; below 1 it also stands behind all that are none."""
    similarity: float = field(default=0.9, metadata=SHARE)
    """Share of the pairs of adjacent words that two texts have in common, from which one is nearly a copy."""


class Leg(enum.StrEnum):
    """The ways in which passages are found."""

    NAMES = "names"
    """Definitions of what is asked for by name."""
    KEYWORDS = "keywords"
    FILES = "files"
    """Paths, and subjects of commits."""
    EXACT = "exact"
    """Text as it is written."""
    MEANING = "meaning"
    """Vectors."""


@frozen
class SearchSettings:
    """Limits of the retrieval pipeline."""

    legs: tuple[Leg, ...] = tuple(Leg)
    """Those that take part; a lower phase leaves some out."""

    candidates: int = field(default=1_000, metadata=within(0, 100_000))
    """Chunks that keywords may contribute."""
    neighbours: int = field(default=600, metadata=within(0, 100_000))
    """Chunks that meaning may contribute."""
    keyword_rows: int = field(default=200_000, metadata=within(0, 1_000_000))
    """Chunks that a question's words are looked for in, the rarest words first: more frequent ones are left out, but for the
    rarest of all."""
    weights: Mapping[str, float] = field(factory=dict, hash=False, metadata=within(-1_000, 1_000))
    """Other weights for ranking signals, by name (docs/ranking.md); 0 switches one off."""
    leg_deadline_ms: float = field(default=250.0, metadata=USER_ONLY | within(0, 600_000))
    """A leg that takes longer is broken off and counts with what it found until then: milliseconds of its own work, or
    four times as many with what it waits for the machine."""
    synonyms: Mapping[str, str] = field(factory=dict, hash=False, metadata=ADDS_UP)
    """What else this workspace calls things: `shortcuts = "quick links"`. Phrases are rewritten before the question
    is cut into words, single words after; what was typed is searched for, too."""
    feedback: bool = True
    """Remember which results are opened for which questions, and let that count (docs/ranking.md); off, neither is done."""
    core_concepts: tuple[str, ...] = field(default=(), metadata=ADDS_UP)
    """Words that the workspace is about: never taken for a typing error, and what one is repaired to."""
    verdict: VerdictSettings = field(factory=VerdictSettings)
    diversity: DiversitySettings = field(factory=DiversitySettings)


@frozen
class ContextSettings:
    """Tokens that each part of an assembled context may take; S2's table."""

    core_concepts: int = field(default=500, metadata=_TOKENS)
    passages: int = field(default=1500, metadata=_TOKENS)
    editor_state: int = field(default=300, metadata=_TOKENS)
    """The place, the passage there and the open documents; S2's "UI context"."""
    diagnostics: int = field(default=200, metadata=_TOKENS)
    """S2's "widget states"."""
    recent_queries: int = field(default=500, metadata=_TOKENS)
    """S2's "recent messages"."""


@frozen
class LogSettings:
    """The log of questions (S2): one line of JSON each, in the workspace's data folder."""

    queries: bool = field(default=True, metadata=USER_ONLY)
    """Keep it: times, counts, places of the first results and the phase, from which `cairn status` has its figures."""
    query_text: bool = field(default=False, metadata=USER_ONLY)
    """Write down what was asked, too, and its terms."""
    max_bytes: int = field(default=1_000_000, metadata=USER_ONLY)
    """Of the log, and as much again of the one before it."""


@frozen
class LspSettings:
    """What editors are offered beside searching."""

    navigation: tuple[str, ...] = field(default=(), metadata=USER_ONLY)
    """Languages in which Cairn answers go to definition, find references, find implementations and the call hierarchy, for
    an editor that has no other server for them: names as the editor or Cairn has them, or `*` for all."""


class AgentTool(enum.StrEnum):
    """A tool that agents may be shown."""

    SEARCH = "search"
    DISCOVER = "discover"
    READ = "read"
    REFERENCES = "references"
    STATUS = "status"
    RELATED = "related"
    STAGES = "stages"
    """The nine stages of discovery."""
    ALL = "all"


@frozen
class AgentsSettings:
    """The tools that agents have, over MCP."""

    tools: tuple[AgentTool, ...] = field(default=(), metadata=USER_ONLY)
    """The tools that a client is shown. Empty for search, discover, read, references and status."""
    structured: bool = field(default=False, metadata=USER_ONLY)
    """Give answers as data, for programs, instead of as text, for models. A client can ask for that in a single call, too."""
    max_tokens: int = field(default=0, metadata=within(0, 50_000))
    """Tokens of an answer at most, where a call does not say; 0 for each tool's own number, 1,500 to 3,000."""
    idle_minutes: float = field(default=5.0, metadata=USER_ONLY | within(0, _TEN_YEARS * 24 * 60))
    """How long an engine that `cairn mcp` started in the background stays after its last client; 0 not at all."""


@frozen
class ServeSettings:
    """`cairn serve`."""

    host: str = field(default="127.0.0.1", metadata=USER_ONLY)
    """An address of another machine's reach needs `--allow-remote` as well."""
    port: int = field(default=7420, metadata=USER_ONLY | within(0, 65_535))
    """Of REST, MCP and metrics; 0 takes a free one."""
    lsp_port: int = field(default=7421, metadata=USER_ONLY | within(0, 65_535))
    """Of the language server; 0 takes a free one."""
    idle_minutes: float = field(default=0.0, metadata=USER_ONLY | within(0, _TEN_YEARS * 24 * 60))
    """Exit after this long without a client; 0 never."""
    max_body_bytes: int = field(default=4_000_000, metadata=USER_ONLY)
    """Of a request. What the stages take is 500,000 characters of text at most."""
    request_seconds: float = field(default=30.0, metadata=USER_ONLY | within(0.1, _A_DAY))
    """A request that takes longer is broken off."""
    session_hours: float = field(default=168.0, metadata=USER_ONLY | within(0.0001, _TEN_YEARS * 24))
    """How long a browser stays signed in to the page."""


@frozen
class TeamSettings:
    """A team's index: a clone whose commit is indexed there is answered from it, and only what differs is indexed here."""

    url: str = field(default="", metadata=USER_ONLY)
    """Of the team's server, such as `https://cairn.example.org`; empty for none. The token is in `CAIRN_TEAM_TOKEN`, or in the
    file `team-token` beside the user's settings, which nobody else may read."""


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


def leaves(settings: Any, above: Keys = ()) -> dict[Keys, Any]:
    """The value of each setting of a tree, by the names from the root on."""
    found: dict[Keys, Any] = {}
    for attribute in attrs.fields(type(settings)):
        value = getattr(settings, attribute.name)
        names = (*above, attribute.name)
        found |= leaves(value, names) if attrs.has(type(value)) else {names: value}
    return found
