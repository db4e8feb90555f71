"""Stage 7: the few sentences that carry the answer, each with the lines it can be checked on.

A bullet is quoted, never rewritten: whitespace is collapsed, inline markup and the marks of lists and
comments are left out; nothing else changes (`cairn.text.verbatim`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from attrs import evolve, frozen

from cairn.discovery.categories import categorize
from cairn.discovery.code_evidence import code_passages
from cairn.discovery.passages import Passage, prose_passages
from cairn.discovery.terms import QueryTerms
from cairn.protocol.evidence import Bullet, ScoredChunk
from cairn.protocol.places import citation, whole_lines
from cairn.retrieval.introductions import TOP_LINES, Introduced, is_furniture, key_of_name, tells_who_owns
from cairn.settings.discovery import BulletCategory, CompressionConfig
from cairn.text.uris import file_uri
from cairn.text.verbatim import lines_of, stands_in
from cairn.workspace.collections import FileKind, file_kind

MAX_BULLETS_PER_CHUNK = 3
"""More from one passage is the passage itself, not its evidence."""
SAME_TEXT = 0.85
"""Jaccard similarity of word sets above which two bullets say the same (S1's threshold for chunks). One
other word in ten makes another bullet (0.82), as where a comment names another function; one in twenty does
not (0.90)."""

# A bullet's score is a weighted mean. Over 60 questions about six projects twice the chunk's score and once the share
# of the question that the sentence holds found 0.68 of what must be cited, the chunk's score alone 0.58, the share
# alone 0.57 (docs/ranking.md has what was tried besides).
CHUNK_SHARE = 2 / 3
SAYS, OPENS, IS_ABOUT = 0.4, 0.25, 0.2
"""Shares of the sentence's part where an overview is asked for: for saying what the subject is, for standing at the beginning of
its README, and for naming it first. The rest is for the words of the question that it holds."""
OVERVIEW_WORDS = 4
"""What says what something is may be short: "Very low overhead JavaScript logger."."""
LEAST_SHARE = 0.5
"""Of the best sentence's score: below it an overview keeps only what stands in the documents that introduce its subject."""
START_SHARE = 0.05
"""Of the sentence's part: first sentences introduce (`prefer_starts`), so that they win where others say as much."""
START_DECAY = 0.25
"""1, 0.8, 0.67, … by position in the chunk."""

LEANING_FIT = 0.7
"""What remains of the sentence's part where it leans on its surroundings (`Passage.leaning`)."""
SUBJECT_WORDS = 4
"""A subject stands within a sentence's first words."""
_MOST_READ = 1_000
_read_code = lru_cache(maxsize=_MOST_READ)(code_passages)
_read_prose = lru_cache(maxsize=_MOST_READ)(prose_passages)
"""Chunks whose passages are remembered: 2.7 MB beside their texts for both. The next question often finds the same ones."""
_SPARE = 2.0
"""Candidates for each bullet, from which no weaker chunk is read: near-copies and the limits of documents take some."""

_WORD = re.compile(r"\w+")
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
    terms: QueryTerms | None = None,
) -> list[Bullet]:
    """Up to `max_bullets` verbatim sentences, best first (S1, stage 7).

    Of each document at most `max_per_doc` chunks contribute, those with the best sentences, up to three bullets
    each. Bullets have `config.min_sentence_words` to `config.max_sentence_words` words. Sentences of good chunks
    that hold much of the question win; without a question, those that stand first. `terms` are those of `query` where
    the caller knows more of them: what else counts as each, and its weight. With `config.include_citations`
    each bullet has the lines it stands on, where the chunk's own are known.
    """
    if max_bullets <= 0 or max_per_doc <= 0:
        return []
    terms = QueryTerms.of(query) if terms is None else terms
    chosen = _chosen(chunks, terms, max_bullets, max_per_doc, config)
    if not chosen and terms.about and not any(_introduces(terms.about, chunk) for chunk in chunks):
        # Of what has no introduction, and is not named, sentences that hold its words: "routing" and "routes".
        chosen = _chosen(chunks, evolve(terms, about=None), max_bullets, max_per_doc, config)
    sources = _source_ids(candidate.chunk for candidate in chosen)
    # The chunks of a promoted README may score more than 1; their bullets are the measure then.
    scale = max([1.0, *(candidate.score for candidate in chosen)])
    return [_bullet(candidate, scale, sources, config.include_citations) for candidate in chosen]


def _candidates(
    chunks: Sequence[ScoredChunk], scorer: _Scorer, config: CompressionConfig, max_bullets: int
) -> list[_Candidate]:
    """The passages that may become bullets, best first; chunks that cannot hold any of the best are not read."""
    bounds = [(scorer.most(chunk), chunk) for chunk in chunks if scorer.takes(chunk)]
    bounds.sort(key=lambda pair: -pair[0])
    found: list[_Candidate] = []
    for bound, chunk in bounds:
        if sum(candidate.score >= bound for candidate in found) >= _SPARE * max_bullets:
            break
        found.extend(_best_of(chunk, scorer, config))
    return sorted(found, key=_Candidate.order)


def _chosen(
    chunks: Sequence[ScoredChunk],
    terms: QueryTerms,
    max_bullets: int,
    max_per_doc: int,
    config: CompressionConfig,
) -> list[_Candidate]:
    candidates = _candidates(chunks, _Scorer(terms), config, max_bullets)
    least = LEAST_SHARE * candidates[0].score if terms.about and candidates else 0.0
    chosen: list[_Candidate] = []
    word_sets: list[frozenset[str]] = []
    contributing: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for candidate in candidates:
        if len(chosen) == max_bullets:
            break
        if candidate.score < least and not _owns(terms.about, candidate.chunk, candidate.passage):
            continue
        documents = contributing[_document(candidate.chunk)]
        words = frozenset(_WORD.findall(candidate.passage.text.lower()))
        has_place = candidate.chunk.doc_id in documents or len(documents) < max_per_doc
        if has_place and not any(len(words & other) > SAME_TEXT * len(words | other) for other in word_sets):
            documents.add(candidate.chunk.doc_id)
            chosen.append(candidate)
            word_sets.append(words)
    return chosen


@frozen
class _Scorer:
    """Scores passages by what is asked for."""

    terms: QueryTerms

    def score(self, chunk: ScoredChunk, passage: Passage, start: float, *, is_tagline: bool = False) -> float:
        """What a passage of the chunk is worth; `start` is the worth of its position, 0 to 1."""
        alone = LEANING_FIT if passage.leaning else 1.0
        if not self.terms.groups:  # only its chunk and its place tell
            return chunk.score * (CHUNK_SHARE + (1 - CHUNK_SHARE) * start * alone)
        held = self.terms.coverage(passage.text)
        if self.terms.about:
            about = self.terms.about
            if tells_who_owns(passage.text):
                return 0.0
            introduces = SAYS + OPENS + IS_ABOUT if is_tagline else self._about(about, chunk, passage)
            if not introduces and not self._adds(about, chunk, passage):
                return 0.0
            held = introduces + (1 - SAYS - OPENS - IS_ABOUT) * held
        fit = (START_SHARE * start + (1 - START_SHARE) * held) * alone
        return CHUNK_SHARE * chunk.score + (1 - CHUNK_SHARE) * fit

    def _adds(self, about: Introduced, chunk: ScoredChunk, passage: Passage) -> bool:
        """Whether the passage has its section in an overview, though it does not name the subject: its own documents are about it."""
        category = _category(chunk, passage)
        is_placed = category not in (BulletCategory.OTHER, BulletCategory.DEFINITION)
        return is_placed and _owns(about, chunk, passage)

    def most(self, chunk: ScoredChunk) -> float:
        """What no passage of the chunk can exceed."""
        if not self.terms.groups:
            return chunk.score
        held = 1.0 if self.terms.about else self.terms.coverage(chunk.content)
        fit = START_SHARE + (1 - START_SHARE) * held
        return CHUNK_SHARE * chunk.score + (1 - CHUNK_SHARE) * fit

    def is_first(self, chunk: ScoredChunk) -> bool:
        """Whether the document that introduces what an overview is asked of begins with the chunk."""
        is_first = chunk.metadata.chunk_index == 0
        return is_first and self.terms.about is not None and _opens(self.terms.about, chunk, 0)

    def takes(self, chunk: ScoredChunk) -> bool:
        """Whether its passages may be evidence: who asks what something is wants neither its tests nor its maintainers."""
        if self.terms.about is None:
            return True
        path, headings = chunk.metadata.file_path, chunk.metadata.header_path.split(" > ")
        kind = file_kind(path)
        if kind is not FileKind.DOCS and not _is_code(chunk):  # such as scripts that nothing reads as code
            return False
        return kind not in (FileKind.TESTS, FileKind.EXAMPLES) and not is_furniture(headings, path)

    def _about(self, about: Introduced, chunk: ScoredChunk, passage: Passage) -> float:
        """How well the passage introduces what an overview is asked of; 0 for one that is about something else."""
        is_head = bool(passage.head) and key_of_name(chunk.metadata.symbol) == about.key
        line = _first_line(chunk) + passage.first
        opens = line < TOP_LINES and _opens(about, chunk, line)
        first = " ".join(passage.text.split()[:SUBJECT_WORDS])
        is_about = not _is_code(chunk) and about.names(first)  # what code names, it uses
        return SAYS * max(is_head, about.said_in(passage.text)) + OPENS * opens + IS_ABOUT * is_about


def _may_be_tagline(passage: Passage) -> bool:
    return passage.first < TOP_LINES and not passage.leaning


def _first_line(chunk: ScoredChunk) -> int:
    return (chunk.metadata.line_range or (0, 0))[0]


def _owns(about: Introduced | None, chunk: ScoredChunk, passage: Passage) -> bool:
    line = _first_line(chunk) + passage.first
    return about is not None and about.owns(chunk.metadata.file_path, chunk.collection, line)


def _opens(about: Introduced, chunk: ScoredChunk, line: int) -> bool:
    place = chunk.metadata
    return about.opening(place.file_path, chunk.collection, place.header_path, line)


def _introduces(about: Introduced, chunk: ScoredChunk) -> bool:
    """Whether the chunk introduces what an overview is asked of, though no sentence of it may say so."""
    place = chunk.metadata
    return _opens(about, chunk, _first_line(chunk)) or about.describes(
        place.file_path, chunk.collection, chunk.content
    )


@frozen
class _Candidate:
    """A passage that may become a bullet."""

    passage: Passage
    chunk: ScoredChunk
    score: float
    is_tagline: bool = False
    """Whether it is the first sentence of what introduces the subject of an overview."""

    def order(self) -> tuple[float, str, str, str, int, int, str]:
        """Best first; equals by where they stand."""
        collection, folder, path = _document(self.chunk)
        line = _first_line(self.chunk) + self.passage.first
        index = self.chunk.metadata.chunk_index
        return -self.score, collection, folder, path, index, line, self.passage.text


def _document(chunk: ScoredChunk) -> tuple[str, str, str]:
    return chunk.collection, chunk.metadata.folder, chunk.metadata.file_path


def _best_of(chunk: ScoredChunk, scorer: _Scorer, config: CompressionConfig) -> list[_Candidate]:
    """The chunk's best passages within the word window, none of them part of another."""
    candidates: list[_Candidate] = []
    about, most = scorer.terms.about, config.max_sentence_words
    is_first = scorer.is_first(chunk)
    fewest = min(OVERVIEW_WORDS, config.min_sentence_words) if about else config.min_sentence_words
    passages = _passages(chunk, fewest)
    says_it = [about is not None and about.said_in(passage.text) > 0 for passage in passages]
    for position, passage in enumerate(passages):
        words = len(passage.text.split())
        is_tagline = is_first and not position and _may_be_tagline(passage) and not any(says_it)
        says = is_tagline or says_it[position]
        if (fewest if says else config.min_sentence_words) <= words <= most:
            start = 1 / (1 + START_DECAY * position) if config.prefer_starts else 1.0
            if score := scorer.score(chunk, passage, start, is_tagline=is_tagline):
                candidates.append(_Candidate(passage, chunk, score, is_tagline))
    lines = lines_of(chunk.content)
    best: list[_Candidate] = []
    for candidate in sorted(candidates, key=_Candidate.order):
        passage = candidate.passage
        if len(best) == MAX_BULLETS_PER_CHUNK:
            break
        if not any(passage.text in other.passage.text for other in best) and stands_in(
            passage.text, lines[passage.first : passage.last]
        ):
            best.append(candidate)
    return best


def _passages(chunk: ScoredChunk, min_words: int) -> list[Passage]:
    metadata = chunk.metadata
    if _is_code(chunk):
        language = (metadata.language or metadata.file_extension).lower()
        return _read_code(chunk.content, language, metadata.signature, min_words)
    return _read_prose(chunk.content, _extension_of(chunk) in _MARKDOWN_EXTENSIONS, min_words)


def _is_code(chunk: ScoredChunk) -> bool:
    return chunk.metadata.chunk_type in _CODE_TYPES and _extension_of(chunk) not in _PROSE_EXTENSIONS


def _extension_of(chunk: ScoredChunk) -> str:
    place = chunk.metadata
    return (place.file_extension or PurePosixPath(place.file_path).suffix.removeprefix(".")).lower()


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


def _category(chunk: ScoredChunk, passage: Passage) -> BulletCategory:
    # Of code the path is of definitions, whose names tell nothing.
    headings = "" if _is_code(chunk) else chunk.metadata.header_path
    return categorize(passage.text, headings, passage.head)


def _bullet(candidate: _Candidate, scale: float, sources: dict[str, str], cite: bool) -> Bullet:
    chunk, passage = candidate.chunk, candidate.passage
    path, lines = chunk.metadata.file_path, _cited_lines(chunk, passage) if cite else None
    category = BulletCategory.DEFINITION if candidate.is_tagline else _category(chunk, passage)
    return Bullet(
        text=passage.text,
        citation=citation(path, lines),
        source_id=sources[chunk.doc_id],
        collection=chunk.collection,
        path=path,
        uri=file_uri(chunk.metadata.folder, path),
        range=whole_lines(*(lines or (0, 0))),
        score=candidate.score / scale,
        category=category,
    )


def _cited_lines(chunk: ScoredChunk, passage: Passage) -> tuple[int, int] | None:
    """The lines of the file that hold the passage; all of the chunk's where they do not follow its text's lines."""
    within = chunk.metadata.line_range
    if within is None or within[0] + passage.last > within[1]:
        return within  # a notebook's cell that is written on fewer lines than it has
    return within[0] + passage.first, within[0] + passage.last
