"""The settings of the nine stages of discovery."""

from __future__ import annotations

import enum

from attrs import field, frozen

from cairn.schema.bounds import within
from cairn.settings.marks import NAMES_A_FILE, SHARE


class FormatStyle(enum.StrEnum):
    """The layout of the prompt."""

    MARKDOWN = "markdown"
    PLAIN = "plain"
    JSON = "json"


class SectionType(enum.StrEnum):
    """The sections that an answer plan may have."""

    DEFINITION = "definition"
    FEATURES = "features"
    ARCHITECTURE = "architecture"
    PERFORMANCE = "performance"
    INTEGRATIONS = "integrations"
    USE_CASES = "useCases"
    OTHER = "other"


class BulletCategory(enum.StrEnum):
    """The aspect of its subject that a sentence describes."""

    DEFINITION = "definition"
    FEATURE = "feature"
    ARCHITECTURE = "architecture"
    PERFORMANCE = "performance"
    INTEGRATION = "integration"
    USE_CASE = "useCase"
    OTHER = "other"


@frozen
class FilterConfig:
    """Stage 1: which collections are searched."""

    default_include: tuple[str, ...] = ()
    """Globs of the collections to search, if a request gives none. If the list is empty, all are searched."""
    default_exclude: tuple[str, ...] = ("*-test", "*-backup")
    """Globs of the collections to leave out, if a request gives none."""


@frozen
class ScoringConfig:
    """Stage 2: the weights of the signals by which collections are ranked."""

    name_match_weight: float = 0.4
    term_boost_weight: float = 0.3
    signal_boost_weight: float = 0.3
    recency_decay_days: float = 90.0
    evidence_weight: float = 1.0
    """The weight of the signal that compares the question with the description in a package's manifest. It is
    used in workspaces of seven packages or more."""


@frozen
class ExpansionConfig:
    """Stage 3: which variations of the query are generated for a question about something as a whole."""

    include_definition: bool = True
    include_features: bool = True
    include_architecture: bool = True
    include_api: bool = True
    include_performance: bool = True
    include_use_cases: bool = True
    max_expansions: int = 8


@frozen
class BroadDiscoveryConfig:
    """Stage 4: the search with all variations of the query, and the selection of different results."""

    k_per_query: int = 10
    mmr_lambda: float = field(default=0.7, metadata=SHARE)
    """The balance of maximal marginal relevance (MMR), which selects chunks if more than `broad_k` were
    found: 1 selects by relevance alone, 0 by novelty alone."""
    similarity_threshold: float = field(default=0.3, metadata=SHARE)
    enable_deduplication: bool = True
    dedup_threshold: float = field(default=0.85, metadata=SHARE)


@frozen
class SemanticFocusConfig:
    """Stage 5: deeper search in the best collections."""

    semantic_reranking: bool = True
    cross_encoder: bool = False
    """This setting has no effect, because Cairn has no cross-encoder."""
    similarity_threshold: float = field(default=0.35, metadata=SHARE)
    context_window: int = field(default=3, metadata=within(0, 50))
    """How many chunks before and after each hit are candidates, too. Each step away from the hit halves the
    score."""


@frozen
class ReadmePromotionConfig:
    """Stage 6: how READMEs rank."""

    readme_boost: float = 1.5
    readme_patterns: tuple[str, ...] = ("README.md", "README", "readme.md", "README.rst", "README.txt")
    """File names of READMEs. Upper and lower case do not matter."""
    always_top: bool = True


@frozen
class CompressionConfig:
    """Stage 7: which sentences become bullets."""

    min_sentence_words: int = 8
    max_sentence_words: int = 30
    prefer_starts: bool = True
    include_citations: bool = True


@frozen
class AnswerPlanConfig:
    """Stage 8: the sections of the plan, in order of priority."""

    sections: tuple[SectionType, ...] = tuple(SectionType)
    min_bullets_per_section: int = 1
    max_bullets_per_section: int = 5


@frozen
class PromptRenderConfig:
    """Stage 9: the layout and the token budget of the prompt."""

    include_sources: bool = True
    include_metadata: bool = False
    format_style: FormatStyle = FormatStyle.MARKDOWN
    max_prompt_tokens: int = field(default=4000, metadata=within(100, 1_000_000))
    """How many tokens the prompt has at most. Fewer than 100 would leave no room for evidence."""
    tokenizer: str = field(default="", metadata=NAMES_A_FILE)
    """How tokens are counted: the path of a `tokenizer.json` file, or `characters` for an estimate of four
    characters to a token. If empty, the code model's vocabulary counts words, and punctuation and line ends
    are added. A workspace's settings file and a request can only name files in the workspace."""


@frozen
class DiscoveryConfig:
    """The nine stages of discovery, and how many results they pass on."""

    filter: FilterConfig = field(factory=FilterConfig)
    scoring: ScoringConfig = field(factory=ScoringConfig)
    expansion: ExpansionConfig = field(factory=ExpansionConfig)
    broad: BroadDiscoveryConfig = field(factory=BroadDiscoveryConfig)
    broad_k: int = 50
    """How many chunks stage 4, the broad search, keeps."""
    focus: SemanticFocusConfig = field(factory=SemanticFocusConfig)
    focus_k: int = 15
    """How many chunks stage 5, the focused search, keeps."""
    focus_top_n_collections: int = 3
    """In how many collections stage 5 makes a focused search."""
    readme: ReadmePromotionConfig = field(factory=ReadmePromotionConfig)
    compression: CompressionConfig = field(factory=CompressionConfig)
    max_bullets: int = 20
    max_per_doc: int = 3
    """How many bullets one file may contribute."""
    plan: AnswerPlanConfig = field(factory=AnswerPlanConfig)
    render: PromptRenderConfig = field(factory=PromptRenderConfig)
