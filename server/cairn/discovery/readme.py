"""Stage 6: a project's README speaks first, where the question is one that a README answers."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import attrs

from cairn.config import ReadmePromotionConfig
from cairn.discovery.model import ScoredChunk
from cairn.discovery.order import best_first


def promote_readme(
    hits: Sequence[ScoredChunk], config: ReadmePromotionConfig, promote: bool = True
) -> list[ScoredChunk]:
    """`hits` with READMEs boosted, best first (S1, stage 6).

    The score of a chunk whose file name matches one of `config.readme_patterns` (globs, in any case) is
    multiplied by `config.readme_boost` and may exceed 1; with `config.always_top` such chunks come
    before all others. With `promote` false the hits are sorted and nothing else: questions about a
    place or a fault are not answered by a README.
    """
    if not promote:
        return best_first(hits)
    promoted = [
        attrs.evolve(hit, score=hit.score * config.readme_boost) if is_readme(hit, config) else hit
        for hit in hits
    ]
    ranked = best_first(promoted)
    if config.always_top:
        ranked.sort(key=lambda hit: not is_readme(hit, config))
    return ranked


def is_readme(chunk: ScoredChunk, config: ReadmePromotionConfig) -> bool:
    """Whether the chunk's file name matches one of `config.readme_patterns`."""
    name = chunk.metadata.file_path.replace("\\", "/").rpartition("/")[2].lower()
    return any(fnmatchcase(name, pattern.lower()) for pattern in config.readme_patterns)
