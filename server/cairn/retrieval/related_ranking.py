"""Decide which of the chunks related to a passage belong beside it, and rank them.

A chunk belongs there because of one relation, the strongest. Each relation has a weight, and asks for what
makes it sure: a call near the cursor, a name that few documents have, a high similarity. What is left out:
copies, former versions, release notes, licences, tables of contents, imports. So there may be few results or
none, which is better than results that mislead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from attrs import frozen

from cairn.chunking.comments import is_licence
from cairn.protocol.chunk_types import ChunkType
from cairn.retrieval.document_names import is_contents, is_document
from cairn.retrieval.file_names import former, is_release_notes, name_stems
from cairn.retrieval.referrals import CALLEE, CALLER, IMPLEMENTATION, SURE, TEST, USED
from cairn.retrieval.related_chunks import (
    DEFINES,
    EXPLAINS,
    SAME_FILE,
    SAME_NAME,
    SIMILAR,
    TOGETHER,
    TWIN,
    USES,
    ChunkRange,
    Related,
)
from cairn.retrieval.scores import Contribution, Ranked, near_duplicates
from cairn.settings.tree import DiversitySettings
from cairn.text.words import stems
from cairn.workspace.collections import FileKind, file_kind


@frozen
class _Rule:
    """When a relation makes a chunk belong beside a passage, and how much."""

    weight: float
    share: float
    """The maximum share of the results, so that callers do not take all."""
    admits: Callable[[_Candidate, float], bool]
    """Whether a chunk with this value of the relation belongs there."""


@frozen
class _Candidate:
    related: Related
    passage: ChunkRange
    topic: frozenset[str]
    """The stems of the words that say what the passage is about."""
    said: frozenset[str]
    """The stems of all words of a document's passage."""
    similar_anyway: float = 0.0
    """The similarity of the fifth document."""
    callees: int = 0
    """How many chunks the passage calls near the cursor."""

    def value(self, relation: str) -> float:
        return self.related.values.get(relation, 0.0)

    @property
    def similarity(self) -> float:
        """The similarity in meaning; without vectors, one that decides nothing."""
        return self.related.values.get(SIMILAR, _UNKNOWN_SIMILARITY)

    @property
    def is_document(self) -> bool:
        return is_document(self.related.stored)

    @property
    def beside_document(self) -> bool:
        return any(map(is_document, self.passage.chunks))

    @property
    def affinity(self) -> float:
        """The share of words of the topic and of the chunk's names that both have, 0 to 1."""
        stored = self.related.stored
        own = topic_of(stored.path, stored.chunk.symbol, stored.chunk.header_path.rpartition(" > ")[2])
        return len(own & self.topic) / max(1, min(len(own), len(self.topic)))

    @property
    def is_said(self) -> bool:
        """Whether a passage of a document has the words of the chunk's symbol, and is alike."""
        words = frozenset(stems(self.related.stored.chunk.symbol))
        least = _SIMILAR_CODE if len(words) > 1 else _SIMILAR_WORD
        is_said = bool(words) and len(words & self.said) >= _MOST_WORDS * len(words)
        return is_said and self.similarity >= least

    @property
    def stands_out(self) -> bool:
        """Whether the chunk is clearly more similar than the others. In another language than English, all
        texts are similar."""
        return self.similarity >= self.similar_anyway + _MARGIN

    @property
    def is_in_view(self) -> bool:
        """Whether the chunk is so near to the cursor that the user sees it anyway."""
        related, focus = self.related, self.passage.focus
        if related.stored.path != self.passage.path or not focus:
            return False
        lines = related.lines.values() or (related.stored.chunk.start_line,)
        return all(focus.start - _IN_VIEW <= line <= focus.stop + _IN_VIEW for line in lines)


_UNKNOWN_SIMILARITY = 0.6
_FIFTH, _MARGIN = 4, 0.06
_FEW_CALLEES = 2
_MOST_WORDS = 0.8
_SIMILAR_CODE, _SIMILAR_WORD = 0.55, 0.6
"""The minimum similarity of code with a symbol of words that a document has, and with one of one word."""
_IN_VIEW = 10
"""How many lines away from the cursor are in view."""


def topic_of(path: str, *names: str) -> frozenset[str]:
    """Return the stems of the words in a file's name and in the names of what is there."""
    return frozenset((*name_stems(path), *(stem for name in names for stem in stems(name))))


def _is_strong(value: float) -> Callable[[_Candidate, float], bool]:
    return lambda _, found: found >= value


def _is_alike(similarity: float) -> Callable[[_Candidate, float], bool]:
    """What a place uses says little about it if it is about something else, such as a helper, and one of
    many."""
    return lambda candidate, found: (
        found >= SURE and (candidate.callees <= _FEW_CALLEES or candidate.similarity >= similarity)
    )


def _is_similar(candidate: _Candidate, value: float) -> bool:
    """Whether likeness in meaning is enough."""
    stored, passage = candidate.related.stored, candidate.passage
    if stored.path == passage.path:
        return value >= 0.85 and not candidate.beside_document and stored.id not in passage.ids
    if candidate.is_document:
        is_close = value >= 0.8 and candidate.affinity >= 0.5 and candidate.stands_out
        return candidate.beside_document and is_close
    if stored.kind != FileKind.SOURCE:
        return False
    if candidate.value(SAME_NAME) and file_kind(passage.path) == FileKind.TESTS:
        return value >= 0.2  # What the test is for.
    if candidate.beside_document:
        return candidate.is_said
    return value >= 0.75 and candidate.affinity >= 0.6


def _is_explanation(candidate: _Candidate, value: float) -> bool:
    # Beside a document, another one that names the same definition adds something only if its topic is alike.
    return value >= 0.3 and (not candidate.beside_document or candidate.similarity >= 0.6)


def _is_shown(candidate: _Candidate, value: float) -> bool:
    """Whether the place is shown or named, not only a word of the passage in it."""
    if value < 0.35:  # Many passages have the name; this one may be the one about it.
        words = frozenset(stems(candidate.related.stored.chunk.symbol))
        return candidate.similarity >= 0.5 and len(words) > 1 and words <= candidate.topic
    return value >= SURE or candidate.similarity >= 0.5


_RULES: Mapping[str, _Rule] = {
    IMPLEMENTATION: _Rule(8.0, 0.35, _is_strong(SURE)),
    CALLER: _Rule(9.5, 0.5, _is_strong(SURE)),
    TEST: _Rule(9.0, 0.35, _is_strong(SURE)),
    DEFINES: _Rule(9.0, 0.7, _is_shown),
    CALLEE: _Rule(8.5, 0.5, _is_alike(0.2)),
    EXPLAINS: _Rule(7.5, 0.35, _is_explanation),
    USED: _Rule(7.5, 0.35, _is_alike(0.25)),
    TWIN: _Rule(7.0, 0.2, lambda candidate, _: candidate.is_document or candidate.similarity >= 0.6),
    USES: _Rule(6.0, 0.5, _is_strong(SURE)),
    SIMILAR: _Rule(6.0, 0.1, _is_similar),
}
"""The rules by relation. The weights order the relations by how often judges found their passages useful."""

_BEST = max(rule.weight for rule in _RULES.values())
_SIMILARITY_SHARE = 0.4
"""How much of the weight of another relation depends on the similarity in meaning."""
_SUPPORT = 0.02
"""What each further relation adds."""
_SIMILARITY = DiversitySettings().similarity
"""The minimum similarity of near-duplicates. The settings of searches do not change it."""


def rank_related(
    found: Iterable[Related], passage: ChunkRange, limit: int, wanted: frozenset[str] = frozenset()
) -> list[Ranked]:
    """Return up to `limit` chunks that belong beside the passage, best first. Those with a `wanted` relation
    come first, however many and unsure."""
    topic, found = topic_of(passage.path, *passage.titles), list(found)
    documents = filter(is_document, passage.chunks)
    said = frozenset(stem for stored in documents for stem in stems(stored.chunk.text))
    similarities = sorted(
        (each.values.get(SIMILAR, 0.0) for each in found if is_document(each.stored)), reverse=True
    )
    gone = former((each.stored.path for each in found), passage.path)
    anyway = similarities[_FIFTH] if len(similarities) > _FIFTH else 0.0
    callees = sum(1 for each in found if each.values.get(CALLEE, 0.0) >= SURE)
    scored: list[tuple[float, str, Related]] = []
    for related in found:
        candidate = _Candidate(related, passage, topic, said, anyway, callees)
        chosen = max(related.values.keys() & wanted, key=related.values.__getitem__, default="")
        lead, score = (chosen, 1 + candidate.value(chosen)) if chosen else _best(candidate)
        if chosen or (score and related.stored.path not in gone and not _is_nowhere(candidate)):
            scored.append((score, lead, related))
    scored.sort(key=_best_first)
    kept = _within_shares(scored, limit, wanted)
    ranked = [_ranked(min(1.0, score), lead, related) for score, lead, related in kept[: 2 * limit]]
    copies = near_duplicates(ranked, _SIMILARITY, limit)
    return [result for place, result in enumerate(ranked) if place not in copies][:limit]


def _best(candidate: _Candidate) -> tuple[str, float]:
    """Return the relation for which the chunk belongs beside the passage, and its score; 0 if none."""
    scores = {
        relation: rule.weight * _strength(relation, value, candidate)
        for relation, rule in _RULES.items()
        if (value := candidate.value(relation)) and rule.admits(candidate, value)
    }
    if not scores:
        return "", 0.0
    lead = max(scores, key=scores.__getitem__)
    support = _SUPPORT * (len(scores) - 1 + candidate.value(TOGETHER))
    score = scores[lead] / _BEST + support
    return lead, score


def _strength(relation: str, value: float, candidate: _Candidate) -> float:
    if relation == SIMILAR:
        return value
    return value * (1 - _SIMILARITY_SHARE + _SIMILARITY_SHARE * candidate.similarity)


def _within_shares(
    scored: Sequence[tuple[float, str, Related]], limit: int, wanted: frozenset[str]
) -> list[tuple[float, str, Related]]:
    """Return the candidates within the shares of their relations, then sure references beyond them."""
    room = {relation: max(1, round(rule.share * limit)) for relation, rule in _RULES.items()}
    chosen, beyond, files = [], [], set()
    for score, lead, related in scored:
        if lead in wanted:
            chosen.append((score, lead, related))
            continue
        file = (lead, related.folder, related.stored.path)
        if lead in (SIMILAR, EXPLAINS) and file in files:
            continue
        files.add(file)
        room[lead] -= 1
        if room[lead] >= 0:
            chosen.append((score, lead, related))
        elif lead in (CALLER, IMPLEMENTATION):
            beyond.append((score, lead, related))
    return [*chosen, *beyond]


def _best_first(scored: tuple[float, str, Related]) -> tuple[float, int, str, int]:
    score, _, related = scored
    return -score, related.folder, related.stored.path, related.stored.chunk.position


def _ranked(score: float, lead: str, related: Related) -> Ranked:
    """Return the result, with the relation for which it belongs there as its first reason."""
    parts = [
        Contribution(name, value, _RULES[name].weight if name in _RULES else _SUPPORT)
        for name, value in related.values.items()
        if value and name != SAME_FILE
    ]
    parts.sort(key=lambda part: (part.signal != lead, -abs(part.value * part.weight)))
    return Ranked(related.folder, related.stored, score, _source(related.values), tuple(parts))


def _source(values: Mapping[str, float]) -> str:
    if not _EXACT.isdisjoint(values):
        return "exact"
    if values.get(USES):
        return "hybrid" if values.get(SIMILAR) else "keyword"
    return "embedding" if values.get(SIMILAR) else "relation"


_EXACT = frozenset({CALLER, CALLEE, IMPLEMENTATION, TEST, USED, DEFINES, EXPLAINS, TWIN})


# --- what belongs nowhere ------------------------------------------------------------------------------


def _is_nowhere(candidate: _Candidate) -> bool:
    stored, passage = candidate.related.stored, candidate.passage
    if candidate.is_in_view:
        return True
    if stored.path != passage.path and is_release_notes(stored.path):
        return True
    if candidate.is_document:
        return is_contents(stored.chunk.text) or is_licence(stored.chunk.text)
    chunk = stored.chunk
    is_preamble = chunk.type is ChunkType.CODE and not chunk.defines and not chunk.symbol
    return is_preamble and (not chunk.position or is_licence(chunk.text)) and not _is_referred(candidate)


def _is_referred(candidate: _Candidate) -> bool:
    return not _EXACT.isdisjoint(candidate.related.values)
