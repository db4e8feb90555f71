"""Choose the passages for a place: related code, documents and READMEs, each with a share of the results."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import evolve, frozen

from cairn.context.builder import Item
from cairn.index.queries.file_queries import readme_rule
from cairn.index.reader.records import StoredChunk
from cairn.protocol import ContextSection
from cairn.protocol.chunk_types import ChunkType
from cairn.retrieval.referrals import CALLEE, CALLER, IMPLEMENTATION, TEST
from cairn.retrieval.related_chunks import (
    DEFINES,
    SAME_NAME,
    SIMILAR,
    TOGETHER,
    USES,
    Related,
    rank_related,
    reference_of,
)
from cairn.retrieval.scores import Ranked
from cairn.workspace.collections import FileKind

FOUND = "found by the query"


class Group(enum.StrEnum):
    """The section of a panel in which a passage is shown."""

    CODE = "code"
    DOCUMENTS = "documents"
    README = "readme"


_SHARES: Mapping[Group, float] = {Group.DOCUMENTS: 0.3, Group.README: 0.1}
"""The shares of the passages for documents and READMEs that are related enough; code has the rest. Code has
more kinds of relations and higher scores, so documents would hardly ever appear without shares."""
_LEAST_SIMILAR = 0.35
"""The minimum similarity in meaning of a document, from 0 (chance) to 1. Documents about a place in Flask had
0.4 to 0.65; changelogs and design notes had up to 0.34."""
_LEAST_NAMED = 0.2
"""The minimum similarity of a document that contains the place's name. Many names are ordinary words."""
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


def related_passages(found: Iterable[Related], limit: int, readme_patterns: Sequence[str]) -> list[Grouped]:
    """Return the `limit` best related passages, best first, with some of each group."""
    groups: dict[Group, list[Related]] = {group: [] for group in Group}
    group_of = _grouping(readme_patterns)
    for related in found:
        group = group_of(related.stored)
        if group is Group.CODE or _is_close(related):
            groups[group].append(related)
    ranked = [
        Grouped(group, section_of(result), result.positive_signals(), result)
        for group, members in groups.items()
        for result in rank_related(members, limit)
    ]
    return _shared_out(ranked, limit)


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
    CALLEE: ContextSection.USED,
    IMPLEMENTATION: ContextSection.OVERRIDES,
    TEST: ContextSection.TESTS,
    DEFINES: ContextSection.USED,
    USES: ContextSection.CALLERS,
    SAME_NAME: ContextSection.TWINS,
    TOGETHER: ContextSection.TOGETHER,
    SIMILAR: ContextSection.SIMILAR,
}
"""The section of each relation; the first that a passage has counts."""


def section_of(result: Ranked) -> ContextSection:
    has = {each.signal for each in result.reasons if each.value > 0}
    return next((section for name, section in _SECTIONS.items() if name in has), ContextSection.SIMILAR)


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


def _shared_out(ranked: Sequence[Grouped], limit: int) -> list[Grouped]:
    """Return the best passages of each group up to its share, then the best of the others."""
    ordered = sorted(ranked, key=_best_first)
    room = {group: max(1, round(share * limit)) for group, share in _SHARES.items()}
    room[Group.CODE] = limit - sum(room.values())
    chosen: list[Grouped] = []
    others: list[Grouped] = []
    for each in ordered:
        wanted = room[each.group] > 0
        room[each.group] -= 1
        (chosen if wanted else others).append(each)
    return sorted([*chosen, *others][:limit], key=_best_first)


def _grouping(readme_patterns: Sequence[str]) -> Callable[[StoredChunk], Group]:
    is_readme = readme_rule(readme_patterns)

    def group(stored: StoredChunk) -> Group:
        if is_readme(stored.path):
            return Group.README
        is_document = stored.kind == FileKind.DOCS or stored.chunk.type is ChunkType.PROSE
        return Group.DOCUMENTS if is_document else Group.CODE

    return group


def _is_close(related: Related) -> bool:
    values = related.values
    if reference_of(related):
        return True
    named = values.get(DEFINES) or values.get(USES)
    if SIMILAR not in values:  # There are no vectors.
        return bool(named)
    return values[SIMILAR] >= (_LEAST_NAMED if named else _LEAST_SIMILAR)


def _key(ranked: Ranked) -> tuple[int, int]:
    return ranked.folder, ranked.stored.id


def _best_first(each: Grouped) -> tuple[float, int, str, int]:
    ranked = each.ranked
    return -ranked.score, ranked.folder, ranked.stored.path, ranked.stored.chunk.position
