"""Find the passages of documents that explain a definition."""

from __future__ import annotations

from attrs import field, frozen

from cairn.chunking.paragraphs import read_paragraphs
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import ColumnWeights, StoredChunk
from cairn.index.references.edges import Place
from cairn.index.references.graph import ReferenceGraph
from cairn.languages.others import JUPYTER
from cairn.languages.registry import PROSE_LANGUAGES, detect_language, prose_language
from cairn.retrieval.document_names import DocumentName, Mark, read_document
from cairn.retrieval.file_names import former, is_release_notes, without_language
from cairn.retrieval.shown_code import Meanings
from cairn.text.inline_markup import strip_inline
from cairn.text.sentences import split_sentences
from cairn.text.verbatim import find_words, lines_of
from cairn.workspace.collections import FileKind

_TEXT_ONLY = ColumnWeights(text=1.0, identifiers=0.0, symbol=0.0)
_MOST_READ = 24
"""The maximum number of passages with the name that are read."""
_LONGEST = 240
"""The maximum length of a sentence in characters. A longer one is cut."""


@frozen
class Explanation:
    """A passage of a document that is about a definition."""

    stored: StoredChunk
    line: int
    """The 0-based line of the document that names the definition."""
    sentence: str
    """The sentence that names it, without markup except for marks of code; the passage's heading if a heading
    or a code block names it."""
    strength: float = field(kw_only=True)
    """How likely the passage is about the definition, 0 to 1."""


def explaining(
    reader: IndexReader, definition: Place, most: int, graph: ReferenceGraph | None = None
) -> list[Explanation]:
    """Return up to `most` passages that name the definition as code, one of each document, the surest first.

    Release notes and documents of former versions explain nothing.
    """
    meanings = Meanings.of_names(reader, graph or ReferenceGraph(reader), [definition.name])
    kinds = (FileKind.DOCS, FileKind.EXAMPLES)
    documents = tuple(each.name for each in reader.stats().collections if each.kind in kinds)
    if not documents:
        return []
    only = ChunkFilter(collections=documents)
    hits = reader.keywords([definition.name], _TEXT_ONLY, _MOST_READ, only)
    scores = {hit.chunk_id: hit.score for hit in hits}
    found: dict[str, tuple[float, Explanation]] = {}
    chunks = reader.chunks(scores)
    gone = former((stored.path for stored in chunks.values()), definition.path)
    for chunk_id, stored in chunks.items():
        if stored.path in gone or not _explains(stored) or find_words(definition.name, stored.chunk.text) < 0:
            continue
        mentions = [each for each in read_document(stored).names if each.name == definition.name]
        meant = [each for each in mentions if _means(definition, meanings.of(each, stored.path))]
        if not meant:
            continue
        best = max(meant, key=lambda each: (each.mark, -each.line))
        strength = sum(_STRENGTHS[each.mark] for each in meant)
        strength /= strength + 2
        document, language = without_language(stored.path)
        is_translated = language not in ("", "en")
        rank = strength + scores[chunk_id] / 1_000 - is_translated
        if document not in found or rank > found[document][0]:
            explanation = Explanation(stored, best.line, _sentence(stored, best), strength=strength)
            found[document] = rank, explanation
    ranked = sorted(found.values(), key=lambda each: (-each[0], each[1].stored.path))
    return [each for _, each in ranked[:most]]


def _means(definition: Place, places: list[Place]) -> bool:
    """Whether the definition, or another with its signature, is among the places."""
    return any((place.path, place.qualified) == (definition.path, definition.qualified) for place in places)


_STRENGTHS = {Mark.IN_BLOCK: 1.0, Mark.WRITTEN: 1.0, Mark.CODE: 2.0, Mark.HEADING: 6.0}


def _explains(stored: StoredChunk) -> bool:
    """Return whether a chunk is of a document that may explain code. A folder of documents can also have the
    programs that make them, and plain text is mostly made by a program."""
    language = detect_language(stored.path)
    is_document = language in PROSE_LANGUAGES or language == JUPYTER.name
    return is_document and not stored.path.endswith(".txt") and not is_release_notes(stored.path)


def _sentence(stored: StoredChunk, mention: DocumentName) -> str:
    chunk = stored.chunk
    if mention.mark in (Mark.CODE, Mark.WRITTEN):
        at = mention.line - chunk.start_line
        for paragraph in read_paragraphs(prose_language(stored.path), chunk.text):
            if paragraph.first <= at < paragraph.last:
                text = strip_inline(paragraph.source).text
                sentences = [text[start:end] for start, end in split_sentences(text)]
                named = [each for each in sentences if find_words(mention.name, each) >= 0]
                return _shortened(next(iter(named), text), mention.name)
    return chunk.title or lines_of(chunk.text)[0].strip()


def _shortened(text: str, name: str) -> str:
    if len(text) <= _LONGEST:
        return text
    start = max(0, min(text.find(name) - _LONGEST // 2, len(text) - _LONGEST))
    cut = text[start : start + _LONGEST].strip()
    return f"{'…' if start else ''}{cut}{'…' if start + _LONGEST < len(text) else ''}"
