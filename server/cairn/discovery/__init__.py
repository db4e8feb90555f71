"""Discovery (S1): nine stages from a question to a prompt with cited evidence.

Each stage is a function of its own, in a module of its own; `discover` chains them. Only two of them
search, through the `Searcher` they are given; the rest computes on what it is handed.
"""

from cairn.discovery.broad import broad_discovery
from cairn.discovery.compression import compress_evidence
from cairn.discovery.expansion import expand_queries_baseline
from cairn.discovery.filtering import filter_collections
from cairn.discovery.focus import semantic_focus
from cairn.discovery.model import DiscoveryResponse, Searcher
from cairn.discovery.pipeline import discover
from cairn.discovery.plan import build_answer_plan
from cairn.discovery.readme import promote_readme
from cairn.discovery.render import render_llm_prompt
from cairn.discovery.scoring import score_collections
from cairn.protocol.evidence import (
    AnswerPlan,
    Bullet,
    ChunkMetadata,
    CollectionRef,
    DiscoveryMetrics,
    ScoredChunk,
    Section,
)
from cairn.settings.discovery import (
    AnswerPlanConfig,
    BroadDiscoveryConfig,
    BulletCategory,
    CompressionConfig,
    DiscoveryConfig,
    ExpansionConfig,
    FilterConfig,
    FormatStyle,
    PromptRenderConfig,
    ReadmePromotionConfig,
    ScoringConfig,
    SectionType,
    SemanticFocusConfig,
)

__all__ = [
    "AnswerPlan",
    "AnswerPlanConfig",
    "BroadDiscoveryConfig",
    "Bullet",
    "BulletCategory",
    "ChunkMetadata",
    "CollectionRef",
    "CompressionConfig",
    "DiscoveryConfig",
    "DiscoveryMetrics",
    "DiscoveryResponse",
    "ExpansionConfig",
    "FilterConfig",
    "FormatStyle",
    "PromptRenderConfig",
    "ReadmePromotionConfig",
    "ScoredChunk",
    "ScoringConfig",
    "Searcher",
    "Section",
    "SectionType",
    "SemanticFocusConfig",
    "broad_discovery",
    "build_answer_plan",
    "compress_evidence",
    "discover",
    "expand_queries_baseline",
    "filter_collections",
    "promote_readme",
    "render_llm_prompt",
    "score_collections",
    "semantic_focus",
]
