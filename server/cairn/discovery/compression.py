"""Stage 7: choose the few sentences that contain the answer, with the lines where they can be checked.

A bullet is a verbatim quotation, except for whitespace, inline markup, and marks of lists and comments.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, islice

from attrs import evolve, frozen

from cairn.discovery.categories import categorize
from cairn.discovery.preparation import QueryTerms
from cairn.discovery.statements import Statement, code_statements, prose_statements
from cairn.index.store.deadline import check_end
from cairn.languages.registry import PROSE_LANGUAGES, detect_language, prose_language
from cairn.protocol.discovery_messages import Bullet, ScoredChunk
from cairn.protocol.search_messages import citation, whole_lines
from cairn.retrieval.introductions import (
    TOP_LINES,
    OverviewSubject,
    is_about_ownership,
    is_project_upkeep,
    name_key,
)
from cairn.settings.discovery import BulletCategory, CompressionConfig
from cairn.text.uris import file_uri
from cairn.text.verbatim import lines_of
from cairn.workspace.collections import FileKind, file_kind

MAX_BULLETS_PER_CHUNK = 3
"""The maximum number of bullets per chunk. More bullets would repeat the whole statement."""
SAME_TEXT = 0.85
"""The Jaccard similarity of word sets above which two bullets count as the same. One different word in ten
makes two texts different (0.82), as in comments on different functions; one in twenty does not (0.90)."""

# A bullet's score is the weighted mean of the chunk's score and the sentence's coverage of the question. For
# 60 questions about six projects, weights of 2 to 1 found 0.68 of the required citations, the chunk's score
# alone 0.58, and the coverage alone 0.57 (docs/ranking.md has further trials).
CHUNK_SHARE = 2 / 3
SAYS, OPENS, IS_ABOUT = 0.4, 0.25, 0.2
"""The weights in a sentence's score for an overview: for a statement of what the subject is, for a place at
the beginning of its README, and for naming the subject first. The coverage of the question has the rest."""
OVERVIEW_WORDS = 4
"""The minimum length in words of a sentence that says what something is: "Very fast JavaScript logger."."""
LEAST_SHARE = 0.5
"""The share of the best score below which an overview keeps only sentences from its subject's documents."""
START_SHARE = 0.05
"""The weight of the position in a sentence's score, so that earlier sentences win ties (`prefer_starts`)."""
START_DECAY = 0.25
"""With this decay, the values of the positions in a chunk are 1, 0.8, 0.67, …"""

LEANING_FIT = 0.7
"""The factor for the score of a sentence that depends on its context (`Statement.leaning`)."""
SUBJECT_WORDS = 4
"""The number of words at the start of a sentence that must contain its subject."""
MAX_CHUNKS = 20
"""The number of chunks with candidates after which weaker chunks are not read."""

_WORD = re.compile(r"\w+")
_CODE_TYPES = frozenset({"code", "config", "cmd", "api"})
"""The chunk types of code. In a document, such a chunk is a fence, which is not evidence, or prose."""


def compress_evidence(
    chunks: Sequence[ScoredChunk],
    max_bullets: int,
    max_per_doc: int,
    config: CompressionConfig,
    query: str = "",
    terms: QueryTerms | None = None,
) -> list[Bullet]:
    """Return up to `max_bullets` verbatim sentences, best first.

    At most `max_per_doc` chunks of each document are used, those with the best sentences, and up to three
    bullets of each chunk. Bullets have `config.min_sentence_words` to `config.max_sentence_words` words.
    Sentences that cover much of the question, in chunks with high scores, come first; without a question,
    first sentences do. `terms` are the terms of `query` with alternatives and weights, if the caller knows
    them. With `config.include_citations`, each bullet has its lines, if the chunk's lines are known.
    """
    if max_bullets <= 0 or max_per_doc <= 0:
        return []
    terms = QueryTerms.of(query) if terms is None else terms
    chosen = _chosen(chunks, terms, max_bullets, max_per_doc, config)
    about = terms.about
    if not chosen and about and not any(_introduces(about, chunk) for chunk in chunks):
        # If no sentence introduces or names the subject, take sentences with its words: "routing" and
        # "routes".
        chosen = _chosen(chunks, evolve(terms, about=None), max_bullets, max_per_doc, config)
    sources = _source_ids(candidate.chunk for candidate in chosen)
    # Chunks of a promoted README may score more than 1. Scores are then relative to the best bullet.
    scale = max([1.0, *(candidate.score for candidate in chosen)])
    return [_bullet(candidate, scale, sources, config.include_citations) for candidate in chosen]


def _chosen(
    chunks: Sequence[ScoredChunk],
    terms: QueryTerms,
    max_bullets: int,
    max_per_doc: int,
    config: CompressionConfig,
) -> list[_Candidate]:
    candidates = _candidates(chunks, terms, config)
    least = LEAST_SHARE * candidates[0].score if terms.about and candidates else 0.0
    chosen: list[_Candidate] = []
    word_sets: list[frozenset[str]] = []
    used: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for candidate in candidates:
        if len(chosen) == max_bullets:
            break
        if candidate.score < least and not _owns(terms.about, candidate.chunk, candidate.statement):
            continue
        document, doc_id = _document(candidate.chunk), candidate.chunk.doc_id
        words = frozenset(_WORD.findall(candidate.statement.text.lower()))
        has_place = doc_id in used[document] or len(used[document]) < max_per_doc
        if has_place and not any(len(words & other) > SAME_TEXT * len(words | other) for other in word_sets):
            used[document].add(doc_id)
            chosen.append(candidate)
            word_sets.append(words)
    return chosen


def _candidates(
    chunks: Sequence[ScoredChunk], terms: QueryTerms, config: CompressionConfig
) -> list[_Candidate]:
    """Return the statements that may become bullets, best first. The weakest chunks are not read."""
    ordered = sorted(chunks, key=lambda chunk: (-chunk.score, chunk.doc_id))
    read = (_best_of(chunk, terms, config) for chunk in ordered if _may_answer(terms.about, chunk))
    return sorted(chain.from_iterable(islice(filter(None, read), MAX_CHUNKS)), key=_Candidate.order)


def _score(
    terms: QueryTerms, chunk: ScoredChunk, statement: Statement, start: float, *, is_tagline: bool
) -> float:
    alone = LEANING_FIT if statement.leaning else 1.0
    if not terms.groups:  # Only the chunk and the position count.
        return chunk.score * (CHUNK_SHARE + (1 - CHUNK_SHARE) * start * alone)
    covered = terms.coverage(statement.text)
    if about := terms.about:
        introduces = SAYS + OPENS + IS_ABOUT if is_tagline else _introduction(about, chunk, statement)
        if is_about_ownership(statement.text) or not (introduces or _adds(about, chunk, statement)):
            return 0.0
        covered = introduces + (1 - SAYS - OPENS - IS_ABOUT) * covered
    fit = (START_SHARE * start + (1 - START_SHARE) * covered) * alone
    return CHUNK_SHARE * chunk.score + (1 - CHUNK_SHARE) * fit


def _introduction(about: OverviewSubject, chunk: ScoredChunk, statement: Statement) -> float:
    """Return how well the statement introduces the subject of an overview; 0 if it does not."""
    is_head = bool(statement.head) and name_key(chunk.metadata.symbol) == about.key
    line = _first_line(chunk) + statement.first
    opens = line < TOP_LINES and _opens(about, chunk, line)
    first = " ".join(statement.text.split()[:SUBJECT_WORDS])
    is_about = not _is_code(chunk) and about.names(first)  # Code names what it uses.
    return SAYS * max(is_head, about.definition_score(statement.text)) + OPENS * opens + IS_ABOUT * is_about


def _adds(about: OverviewSubject, chunk: ScoredChunk, statement: Statement) -> bool:
    """Return whether an overview may use the statement though it does not name the subject."""
    if not _owns(about, chunk, statement):
        return False
    return _category(chunk, statement) not in (BulletCategory.OTHER, BulletCategory.DEFINITION)


def _may_answer(about: OverviewSubject | None, chunk: ScoredChunk) -> bool:
    """Return whether the chunk may give evidence. An overview uses its subject's documents and other chunks
    that name it, but no tests or lists of maintainers."""
    if about is None:
        return True
    path, headings = chunk.metadata.file_path, chunk.metadata.header_path.split(" > ")
    kind = file_kind(path)
    if kind is not FileKind.DOCS and not _is_code(chunk):  # For example, a script without a grammar.
        return False
    if kind in (FileKind.TESTS, FileKind.EXAMPLES) or is_project_upkeep(headings, path):
        return False
    line = _first_line(chunk)
    is_own = about.owns(path, chunk.collection, line) or _opens(about, chunk, line)
    return is_own or about.names(chunk.content)


def _first_line(chunk: ScoredChunk) -> int:
    return (chunk.metadata.line_range or (0, 0))[0]


def _owns(about: OverviewSubject | None, chunk: ScoredChunk, statement: Statement) -> bool:
    line = _first_line(chunk) + statement.first
    return about is not None and about.owns(chunk.metadata.file_path, chunk.collection, line)


def _opens(about: OverviewSubject, chunk: ScoredChunk, line: int) -> bool:
    place = chunk.metadata
    return about.opening(place.file_path, chunk.collection, place.header_path, line)


def _introduces(about: OverviewSubject, chunk: ScoredChunk) -> bool:
    """Return whether the chunk introduces the subject of an overview."""
    place = chunk.metadata
    return _opens(about, chunk, _first_line(chunk)) or about.describes(
        place.file_path, chunk.collection, chunk.content
    )


@frozen
class _Candidate:
    statement: Statement
    chunk: ScoredChunk
    score: float
    is_tagline: bool = False
    """Whether the statement is the first sentence of the introduction of an overview's subject."""

    def order(self) -> tuple[float, str, str, str, int, int, str]:
        """Return a sort key: the best first, and equal scores by their places."""
        collection, folder, path = _document(self.chunk)
        line = _first_line(self.chunk) + self.statement.first
        index = self.chunk.metadata.chunk_index
        return -self.score, collection, folder, path, index, line, self.statement.text


def _document(chunk: ScoredChunk) -> tuple[str, str, str]:
    return chunk.collection, chunk.metadata.folder, chunk.metadata.file_path


def _best_of(chunk: ScoredChunk, terms: QueryTerms, config: CompressionConfig) -> list[_Candidate]:
    """Return the chunk's best statements within the length limits. No statement is a part of another."""
    check_end()
    candidates: list[_Candidate] = []
    about, most = terms.about, config.max_sentence_words
    is_first = chunk.metadata.chunk_index == 0 and about is not None and _opens(about, chunk, 0)
    fewest = min(OVERVIEW_WORDS, config.min_sentence_words) if about else config.min_sentence_words
    statements = _statements(chunk, fewest)
    says_it = [about is not None and about.definition_score(statement.text) > 0 for statement in statements]
    for position, statement in enumerate(statements):
        words = len(statement.text.split())
        may_lead = is_first and not position and statement.first < TOP_LINES and not statement.leaning
        is_tagline = may_lead and not any(says_it)
        says = is_tagline or says_it[position]
        if (fewest if says else config.min_sentence_words) <= words <= most:
            start = 1 / (1 + START_DECAY * position) if config.prefer_starts else 1.0
            if score := _score(terms, chunk, statement, start, is_tagline=is_tagline):
                candidates.append(_Candidate(statement, chunk, score, is_tagline))
    lines = lines_of(chunk.content)
    best: list[_Candidate] = []
    for candidate in sorted(candidates, key=_Candidate.order):
        if len(best) == MAX_BULLETS_PER_CHUNK:
            break
        is_part = any(candidate.statement.text in other.statement.text for other in best)
        if not is_part and (verified := candidate.statement.verified(lines)):
            best.append(evolve(candidate, statement=verified))
    return best


def _statements(chunk: ScoredChunk, min_words: int) -> Sequence[Statement]:
    place = chunk.metadata
    if _is_code(chunk):
        return code_statements(chunk.content, place.signature, place.comment)
    return prose_statements(chunk.content, prose_language(place.file_path), min_words)


def _is_code(chunk: ScoredChunk) -> bool:
    place = chunk.metadata
    return place.chunk_type in _CODE_TYPES and detect_language(place.file_path) not in PROSE_LANGUAGES


def _source_ids(chunks: Iterable[ScoredChunk]) -> dict[str, str]:
    """Return an id `<collection>#<chunk index>` for each `doc_id`, with `.2`, `.3`, … at its end for further
    files of the collection that have a chunk of this index."""
    claimed: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for chunk in chunks:
        name = f"{chunk.collection}#{chunk.metadata.chunk_index}"
        owners = claimed[name]
        owners.setdefault(chunk.doc_id, f"{name}.{len(owners) + 1}" if owners else name)
    return {doc_id: name for owners in claimed.values() for doc_id, name in owners.items()}


def _category(chunk: ScoredChunk, statement: Statement) -> BulletCategory:
    # The header path of code consists of definitions; their names are not cues.
    headings = "" if _is_code(chunk) else chunk.metadata.header_path
    return categorize(statement.text, headings, statement.head)


def _bullet(candidate: _Candidate, scale: float, sources: dict[str, str], cite: bool) -> Bullet:
    chunk, statement = candidate.chunk, candidate.statement
    path, lines = chunk.metadata.file_path, _cited_lines(chunk, statement) if cite else None
    category = BulletCategory.DEFINITION if candidate.is_tagline else _category(chunk, statement)
    return Bullet(
        text=statement.text,
        citation=citation(path, lines),
        source_id=sources[chunk.doc_id],
        collection=chunk.collection,
        path=path,
        uri=file_uri(chunk.metadata.folder, path),
        range=whole_lines(*(lines or (0, 0))),
        score=candidate.score / scale,
        category=category,
    )


def _cited_lines(chunk: ScoredChunk, statement: Statement) -> tuple[int, int] | None:
    """Return the lines of the statement in its file, or those of the chunk if its text has other lines."""
    within = chunk.metadata.line_range
    if within is None or within[0] + statement.last > within[1]:
        return within  # A notebook's cell may have more lines than the file has for it.
    return within[0] + statement.first, within[0] + statement.last
