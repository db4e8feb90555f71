"""The settings of the nine stages of discovery (S1; the defaults are S1's)."""

from __future__ import annotations

import enum

from attrs import field, frozen

from cairn.schema.bounds import within
from cairn.settings.marks import NAMES_A_FILE, SHARE


class FormatStyle(enum.StrEnum):
    """How the prompt is laid out."""

    MARKDOWN = "markdown"
    PLAIN = "plain"
    JSON = "json"


class SectionType(enum.StrEnum):
    """The sections an answer plan may have."""

    DEFINITION = "definition"
    FEATURES = "features"
    ARCHITECTURE = "architecture"
    PERFORMANCE = "performance"
    INTEGRATIONS = "integrations"
    USE_CASES = "useCases"
    OTHER = "other"


class BulletCategory(enum.StrEnum):
    """What a sentence tells about its subject."""

    DEFINITION = "definition"
    FEATURE = "feature"
    ARCHITECTURE = "architecture"
    PERFORMANCE = "performance"
    INTEGRATION = "integration"
    USE_CASE = "useCase"
    OTHER = "other"


@frozen
class FilterConfig:
    """Stage 1: which collections take part."""

    default_include: tuple[str, ...] = ()
    """Globs for requests without their own. S1's sample file lists `*-docs` and `*-source`; with them a question
    could never reach tests, examples or configuration, which ranking holds back already unless asked for."""
    default_exclude: tuple[str, ...] = ("*-test", "*-backup")


@frozen
class ScoringConfig:
    """Stage 2: weights of the collection signals, S1's three first."""

    name_match_weight: float = 0.4
    term_boost_weight: float = 0.3
    signal_boost_weight: float = 0.3
    recency_decay_days: float = 90.0
    evidence_weight: float = 1.0
    """For how much the question is about the collection's package, by what its manifest says, in a workspace of seven
    packages or more."""


@frozen
class ExpansionConfig:
    """Stage 3: which families of query variations are generated, for questions about a thing as a whole."""

    include_definition: bool = True
    include_features: bool = True
    include_architecture: bool = True
    include_api: bool = True
    include_performance: bool = True
    include_use_cases: bool = True
    max_expansions: int = 8


@frozen
class BroadDiscoveryConfig:
    """Stage 4: multi-query search, deduplication and MMR."""

    k_per_query: int = 10
    mmr_lambda: float = field(default=0.7, metadata=SHARE)
    """Decides which chunks stay where more than `broadK` were found; their order is by score again after stage 5. By default
    nearly all stay: with 1, 60 questions and 18 overviews had the same evidence."""
    similarity_threshold: float = field(default=0.3, metadata=SHARE)
    enable_deduplication: bool = True
    dedup_threshold: float = field(default=0.85, metadata=SHARE)


@frozen
class SemanticFocusConfig:
    """Stage 5: deeper search in the best collections."""

    semantic_reranking: bool = True
    cross_encoder: bool = False
    """Accepted without effect: no cross-encoder comes with Cairn."""
    similarity_threshold: float = field(default=0.35, metadata=SHARE)
    context_window: int = field(default=3, metadata=within(0, 50))
    """Chunks added before and after each hit; more would be slow to rank again. They fill the places that hits
    leave in a small collection. Evidence is the same without them (60 questions, 18 overviews): excerpts have lines of their own."""


@frozen
class ReadmePromotionConfig:
    """Stage 6: how much a README counts."""

    readme_boost: float = 1.5
    readme_patterns: tuple[str, ...] = ("README.md", "README", "readme.md", "README.rst", "README.txt")
    """File names, whatever their case."""
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
    """Stage 8: sections of the plan, in order of priority."""

    sections: tuple[SectionType, ...] = tuple(SectionType)
    min_bullets_per_section: int = 1
    max_bullets_per_section: int = 5


@frozen
class PromptRenderConfig:
    """Stage 9: the prompt's layout and budget."""

    include_sources: bool = True
    include_metadata: bool = False
    format_style: FormatStyle = FormatStyle.MARKDOWN
    max_prompt_tokens: int = field(default=4000, metadata=within(100, 1_000_000))
    """The prompt never has more. With fewer than 100 it would have no room for evidence."""
    tokenizer: str = field(default="", metadata=NAMES_A_FILE)
    """What counts the tokens: a `tokenizer.json` file, such as that of the language model the prompt is for; `characters`
    for S1's estimate of four to a token; empty for the installed model's tokenizer, or that estimate where none is
    installed. A workspace's own file and a request can only name files in the workspace."""


@frozen
class DiscoveryConfig:
    """All nine stages (S1's `CursorDiscoveryConfig`)."""

    filter: FilterConfig = field(factory=FilterConfig)
    scoring: ScoringConfig = field(factory=ScoringConfig)
    expansion: ExpansionConfig = field(factory=ExpansionConfig)
    broad: BroadDiscoveryConfig = field(factory=BroadDiscoveryConfig)
    broad_k: int = 50
    focus: SemanticFocusConfig = field(factory=SemanticFocusConfig)
    focus_k: int = 15
    focus_top_n_collections: int = 3
    readme: ReadmePromotionConfig = field(factory=ReadmePromotionConfig)
    compression: CompressionConfig = field(factory=CompressionConfig)
    max_bullets: int = 20
    max_per_doc: int = 3
    plan: AnswerPlanConfig = field(factory=AnswerPlanConfig)
    render: PromptRenderConfig = field(factory=PromptRenderConfig)
