"""Group the passages for a place by what they are, and merge them with the results of a query."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve, frozen

from cairn.context.builder import Item
from cairn.index.queries.file_queries import readme_rule
from cairn.index.reader.records import StoredChunk
from cairn.protocol import ContextSection
from cairn.protocol.chunk_types import ChunkType
from cairn.retrieval.referrals import CALLEE, CALLER, IMPLEMENTATION, TEST, USED
from cairn.retrieval.related_chunks import (
    DEFINES,
    EXPLAINS,
    SIMILAR,
    TOGETHER,
    TWIN,
    USES,
    ChunkRange,
    Related,
)
from cairn.retrieval.related_ranking import rank_related
from cairn.retrieval.scores import Ranked
from cairn.workspace.collections import FileKind

FOUND = "found by the query"


class Group(enum.StrEnum):
    """The section of a panel in which a passage is shown."""

    CODE = "code"
    DOCUMENTS = "documents"
    README = "readme"


_RANK = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009)."""
_QUERY_WEIGHT = 1.05
"""The weight of the query's results. Four come first (1.05 / 64 > 1 / 61); then both kinds alternate."""


@frozen
class Grouped:
    """A passage with its group and the reasons for it, the strongest first."""

    group: Group
    section: ContextSection
    reasons: tuple[str, ...]
    ranked: Ranked


def related_passages(
    found: Iterable[Related],
    passage: ChunkRange,
    limit: int,
    readme_patterns: Sequence[str],
    section: ContextSection | None = None,
) -> list[Grouped]:
    """Return up to `limit` passages that belong beside the passage, best first; with a section, its passages
    first, and all of them that there is room for."""
    group_of = _grouping(readme_patterns)
    wanted = frozenset(name for name, each in _SECTIONS.items() if each is section)
    ranked = rank_related(found, passage, limit, wanted)
    return [
        Grouped(group_of(each.stored), section_of(each), each.positive_signals(), each) for each in ranked
    ]


def with_query(
    searched: Sequence[Ranked], related: Sequence[Grouped], limit: int, readme_patterns: Sequence[str]
) -> list[Grouped]:
    """Merge the query's results and the related passages by reciprocal rank, the query's best first.

    For a passage in both lists, the better rank counts. With the usual sum of both ranks, any passage in both
    lists would come before the query's best result.
    """
    group_of = _grouping(readme_patterns)
    found = {_key(result): place for place, result in enumerate(searched, 1)}
    near = {_key(each.ranked): (place, each) for place, each in enumerate(related, 1)}
    best_possible = _QUERY_WEIGHT / (_RANK + 1)
    fused = []
    for result in [*searched, *(each.ranked for each in related if _key(each.ranked) not in found)]:
        key = _key(result)
        score = _QUERY_WEIGHT / (_RANK + found[key]) if key in found else 0.0
        reasons: tuple[str, ...] = (FOUND,) if key in found else ()
        contributions, lines, section = result.reasons, result.lines, ContextSection.QUERY
        if key in near:
            place, each = near[key]
            lines = each.ranked.lines
            section = section if key in found else each.section
            score = max(score, 1 / (_RANK + place))
            reasons += each.reasons
            contributions = contributions if each.ranked is result else (*contributions, *each.ranked.reasons)
        ranked = evolve(result, score=score / best_possible, reasons=contributions, lines=lines)
        fused.append(Grouped(group_of(result.stored), section, reasons, ranked))
    return sorted(fused, key=_best_first)[:limit]


_SECTIONS: Mapping[str, ContextSection] = {
    CALLER: ContextSection.CALLERS,
    USES: ContextSection.CALLERS,
    CALLEE: ContextSection.USED,
    USED: ContextSection.USED,
    DEFINES: ContextSection.USED,
    IMPLEMENTATION: ContextSection.OVERRIDES,
    TEST: ContextSection.TESTS,
    EXPLAINS: ContextSection.DOCUMENTS,
    TWIN: ContextSection.TWINS,
    TOGETHER: ContextSection.TOGETHER,
    SIMILAR: ContextSection.SIMILAR,
}


def section_of(result: Ranked) -> ContextSection:
    """Return the section of the relation for which the result belongs there, its first reason."""
    return _SECTIONS.get(result.reasons[0].signal, ContextSection.SIMILAR)


def passage_item(each: Grouped) -> Item:
    chunk = each.ranked.stored.chunk
    return Item(
        chunk.text,
        title=chunk.header_path or chunk.title,
        score=each.ranked.score,
        path=each.ranked.stored.path,
        lines=(chunk.start_line, chunk.end_line),
        quoted=True,
        language=chunk.language,
        note=f"Why: {', '.join(each.reasons)}" if each.reasons else "",
    )


def _grouping(readme_patterns: Sequence[str]) -> Callable[[StoredChunk], Group]:
    is_readme = readme_rule(readme_patterns)

    def group(stored: StoredChunk) -> Group:
        if is_readme(stored.path):
            return Group.README
        is_document = stored.kind == FileKind.DOCS or stored.chunk.type is ChunkType.PROSE
        return Group.DOCUMENTS if is_document else Group.CODE

    return group


def _key(ranked: Ranked) -> tuple[int, int]:
    return ranked.folder, ranked.stored.id


def _best_first(each: Grouped) -> tuple[float, int, str, int]:
    ranked = each.ranked
    return -ranked.score, ranked.folder, ranked.stored.path, ranked.stored.chunk.position
