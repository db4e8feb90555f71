"""Stage 7: the few sentences that carry the answer, each with the lines it can be checked on.

A bullet is quoted, never rewritten: whitespace is collapsed, inline markup and the marks of lists and
comments are left out; nothing else changes (`cairn.discovery.verbatim`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from attrs import frozen

from cairn.config import BulletCategory, CompressionConfig
from cairn.discovery.categories import categorize
from cairn.discovery.code_evidence import code_passages
from cairn.discovery.model import Bullet, ScoredChunk
from cairn.discovery.passages import Passage, prose_passages
from cairn.discovery.similarity import distinct, word_masks
from cairn.discovery.terms import QueryTerms
from cairn.discovery.verbatim import lines_of, stands_in

MAX_BULLETS_PER_CHUNK = 3
"""More from one passage is the passage itself, not its evidence."""
SAME_TEXT = 0.85
"""Jaccard similarity of word sets above which two bullets say the same (S1's threshold for chunks). One
other word in ten makes another bullet (0.82), as where a comment names another function; one in twenty does
not (0.90)."""

# A bullet's score is its chunk's, less what the sentence lacks: at worst half of it. The terms weigh
# most, because the chunk's score says nothing about which of its sentences answers.
CHUNK_SHARE = 0.5
TERM_SHARE = 0.6
DEFINITION_SHARE = 0.2
"""To a definition whose subject is a term, where the question asks what something is."""
START_DECAY = 0.25
"""First sentences introduce (`prefer_starts`): 1, 0.8, 0.67, … by position in the chunk."""

LEANING_FIT = 0.7
"""What remains of the fit of a sentence that leans on its surroundings (`Passage.leaning`)."""
SUBJECT_WORDS = 4
"""A subject stands within a sentence's first words."""

_DEFINITION_QUESTION = re.compile(
    r"\s*(?:what(?:'s|’s| is| are)|define|o que (?:é|são)|qual é)\b", re.IGNORECASE
)
_CODE_TYPES = frozenset({"code", "config", "cmd", "api"})
"""In a document these types are fences, which are no evidence, or text about them, which is prose."""
_PROSE_EXTENSIONS = frozenset({"md", "markdown", "mdx", "mkd", "rst", "txt", "adoc", "asciidoc", "org"})
_MARKDOWN_EXTENSIONS = frozenset({"", "md", "markdown", "mdx", "mkd", "ipynb"})


def compress_evidence(
    chunks: Sequence[ScoredChunk],
    max_bullets: int,
    max_per_doc: int,
    config: CompressionConfig,
    query: str = "",
) -> list[Bullet]:
    """Up to `max_bullets` verbatim sentences, best first (S1, stage 7).

    Of each document the first `max_per_doc` chunks that hold evidence contribute, up to three bullets
    each. Bullets have `config.min_sentence_words` to `config.max_sentence_words` words. Sentences that
    hold the terms of `query` win; without a query, those that stand first. A score is the chunk's, less
    up to half for what the sentence lacks. With `config.include_citations` each bullet has the lines it
    stands on, where the chunk's own are known.
    """
    if max_bullets <= 0 or max_per_doc <= 0:
        return []
    question = _Question.of(query)
    contributions: Counter[tuple[str, str, str]] = Counter()
    candidates: list[_Candidate] = []
    for chunk in chunks:
        document = _document(chunk)
        if contributions[document] < max_per_doc and (best := _best_of(chunk, question, config)):
            contributions[document] += 1
            candidates.extend(best)
    candidates.sort(key=_Candidate.order)
    unique = distinct(word_masks([candidate.passage.text for candidate in candidates]), SAME_TEXT)
    chosen = [candidates[i] for i in unique[:max_bullets]]
    sources = _source_ids(candidate.chunk for candidate in chosen)
    # The chunks of a promoted README may score more than 1; their bullets are the measure then.
    scale = max([1.0, *(candidate.score for candidate in chosen)])
    return [_bullet(candidate, scale, sources, config.include_citations) for candidate in chosen]


@frozen
class _Question:
    """What is asked for."""

    terms: QueryTerms
    asks_for_definition: bool

    @classmethod
    def of(cls, query: str) -> _Question:
        return cls(QueryTerms.of(query), bool(_DEFINITION_QUESTION.match(query)))

    def fit(self, text: str, start: float) -> float:
        """How well a sentence answers, 0 to 1; `start` is the worth of its position, 0 to 1."""
        if not self.terms.stems:
            return start
        fit = TERM_SHARE * self.terms.coverage(text) + (1 - TERM_SHARE - DEFINITION_SHARE) * start
        if not self.asks_for_definition:
            return fit / (1 - DEFINITION_SHARE)
        subject = " ".join(text.split()[:SUBJECT_WORDS])
        defines = categorize(text) is BulletCategory.DEFINITION and self.terms.coverage(subject) > 0
        return fit + DEFINITION_SHARE * defines


@frozen
class _Candidate:
    """A passage that may become a bullet."""

    passage: Passage
    chunk: ScoredChunk
    score: float

    def order(self) -> tuple[float, str, str, str, int, int, str]:
        """Best first; equals by where they stand."""
        collection, folder, path = _document(self.chunk)
        line = (self.chunk.metadata.line_range or (0, 0))[0] + self.passage.first
        index = self.chunk.metadata.chunk_index
        return -self.score, collection, folder, path, index, line, self.passage.text


def _document(chunk: ScoredChunk) -> tuple[str, str, str]:
    return chunk.collection, chunk.metadata.folder, chunk.metadata.file_path


def _best_of(chunk: ScoredChunk, question: _Question, config: CompressionConfig) -> list[_Candidate]:
    """The chunk's best passages within the word window, none of them part of another."""
    candidates = [
        _Candidate(passage, chunk, chunk.score * _worth(passage, position, question, config))
        for position, passage in enumerate(_passages(chunk, config.min_sentence_words))
        if config.min_sentence_words <= len(passage.text.split()) <= config.max_sentence_words
    ]
    lines = lines_of(chunk.content)
    best: list[_Candidate] = []
    for candidate in sorted(candidates, key=_Candidate.order):
        passage = candidate.passage
        if (
            len(best) < MAX_BULLETS_PER_CHUNK
            and not any(passage.text in other.passage.text for other in best)
            and stands_in(passage.text, lines[passage.first : passage.last])
        ):
            best.append(candidate)
    return best


def _worth(passage: Passage, position: int, question: _Question, config: CompressionConfig) -> float:
    """What share of its chunk's score the passage keeps, `CHUNK_SHARE` to 1."""
    start = 1 / (1 + START_DECAY * position) if config.prefer_starts else 1.0
    fit = question.fit(passage.text, start) * (LEANING_FIT if passage.leaning else 1.0)
    return CHUNK_SHARE + (1 - CHUNK_SHARE) * fit


def _passages(chunk: ScoredChunk, min_words: int) -> list[Passage]:
    if _is_code(chunk):
        return code_passages(chunk.content, chunk.metadata, min_words)
    return prose_passages(chunk.content, _extension_of(chunk) in _MARKDOWN_EXTENSIONS, min_words)


def _is_code(chunk: ScoredChunk) -> bool:
    return chunk.metadata.chunk_type in _CODE_TYPES and _extension_of(chunk) not in _PROSE_EXTENSIONS


def _headings(chunk: ScoredChunk) -> str:
    """The headings above a chunk; of code the path is of definitions, whose names tell nothing."""
    return "" if _is_code(chunk) else chunk.metadata.header_path


def _extension_of(chunk: ScoredChunk) -> str:
    return chunk.metadata.file_extension.lower() or _extension(chunk.metadata.file_path)


def _extension(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""


def _source_ids(chunks: Iterable[ScoredChunk]) -> dict[str, str]:
    """`<collection>#<chunk index>` for each `doc_id` (S1).

    An index counts within a file, so two files of a collection can claim the same id; the second and
    later ones get `.2`, `.3`, … behind it: a citation must name one source.
    """
    claimed: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for chunk in chunks:
        name = f"{chunk.collection}#{chunk.metadata.chunk_index}"
        owners = claimed[name]
        owners.setdefault(chunk.doc_id, f"{name}.{len(owners) + 1}" if owners else name)
    return {doc_id: name for owners in claimed.values() for doc_id, name in owners.items()}


def _bullet(candidate: _Candidate, scale: float, sources: dict[str, str], cite: bool) -> Bullet:
    chunk, passage = candidate.chunk, candidate.passage
    return Bullet(
        text=passage.text,
        source_id=sources[chunk.doc_id],
        collection=chunk.collection,
        file_path=chunk.metadata.file_path,
        score=candidate.score / scale,
        category=categorize(passage.text, _headings(chunk), passage.head),
        line_range=_cited_lines(chunk, passage) if cite else None,
        folder=chunk.metadata.folder,
    )


def _cited_lines(chunk: ScoredChunk, passage: Passage) -> tuple[int, int] | None:
    """The lines of the file that hold the passage; all of the chunk's where they do not follow its text's lines."""
    within = chunk.metadata.line_range
    if within is None or within[0] + passage.last > within[1]:
        return within  # a notebook's cell that is written on fewer lines than it has
    return within[0] + passage.first, within[0] + passage.last
