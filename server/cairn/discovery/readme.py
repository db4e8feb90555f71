"""Stage 6: put a project's README first if the question is one that a README answers."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from cairn.discovery.order import best_first
from cairn.index.queries.file_queries import readme_rule
from cairn.protocol.evidence import ScoredChunk
from cairn.retrieval.intent import Readme
from cairn.settings.discovery import ReadmePromotionConfig
from cairn.workspace.collections import FileKind, file_kind


def promote_readme(
    hits: Sequence[ScoredChunk], config: ReadmePromotionConfig, place: Readme = Readme.FIRST
) -> list[ScoredChunk]:
    """Return `hits` with READMEs boosted, best first.

    A README is a file whose name matches one of `config.readme_patterns` (globs, case-insensitive). The score
    of its chunks is multiplied by `config.readme_boost` and may then exceed 1. With `config.always_top`, its
    chunks come before all others. `place` depends on the question (`cairn.retrieval.intent.readme_of`): with
    `RAISED`, READMEs are only boosted; with `AS_IT_IS`, the hits are only sorted. READMEs of tests and
    examples are never promoted.
    """
    if place is Readme.AS_IT_IS:
        return best_first(hits)
    matches = readme_rule(config.readme_patterns)

    def is_readme(hit: ScoredChunk) -> bool:
        path = hit.metadata.file_path.replace("\\", "/")
        return matches(path) and file_kind(path) not in (FileKind.TESTS, FileKind.EXAMPLES)

    boosted = (attrs.evolve(h, score=h.score * config.readme_boost) if is_readme(h) else h for h in hits)
    ranked = best_first(boosted)
    if config.always_top and place is Readme.FIRST:
        ranked.sort(key=lambda hit: not is_readme(hit))
    return ranked
