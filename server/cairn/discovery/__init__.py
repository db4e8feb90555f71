"""Discovery: nine stages from a question to a prompt with cited evidence.

Each stage is a function in its own module; `Discovery` runs them in order. Only two stages search, with a
`Searcher`.
"""

from cairn.discovery.broad import broad_discovery
from cairn.discovery.compression import compress_evidence
from cairn.discovery.expansion import expand_queries_baseline
from cairn.discovery.filtering import filter_collections
from cairn.discovery.focus import semantic_focus
from cairn.discovery.pipeline import Discovery
from cairn.discovery.plan import build_answer_plan
from cairn.discovery.readme import promote_readme
from cairn.discovery.render import render_llm_prompt
from cairn.discovery.scoring import score_collections
from cairn.discovery.searcher import Searcher
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
