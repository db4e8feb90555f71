"""Compose the text of a chunk that is embedded: prose with its place, code as a skeleton."""

from __future__ import annotations

import re
from functools import lru_cache

from cairn.chunking.comments import comment_text
from cairn.chunking.model import Chunk
from cairn.languages.language import Category
from cairn.languages.registry import category, detect_language
from cairn.text.identifiers import identifier_words, words_in

# The maximum number of folders of the path in a skeleton. The model reads about 64 tokens of it, and the
# folders nearest to the file say most.
_FOLDERS = 3
_NAMES = 12
_SIGNATURE = 160
_SENTENCES = 240
_FIRST_LINES = 400
# The number of characters to read of a chunk, enough to get past a licence.
_PROBE = 4000


def composite_text(path: str, source: str, chunk: Chunk) -> str:
    """Return the text to embed for a chunk of the file at `path` in the collection or project `source`.

    Documents and configuration follow a fixed template. Code becomes a skeleton with the most distinctive
    part first, because the model cuts off a long text: the words of the path, the names, the first sentences
    of the comment, the signature.
    """
    language = detect_language(path)
    if category(chunk.language if language == "jupyter" else language) is Category.CODE:
        return _skeleton(path, chunk)
    place = f"{path} > {chunk.header_path}" if chunk.header_path else path
    head = f"Title: {chunk.title}\nSource: {source}\nPath: {place}\nType: {chunk.type.value}"
    return f"{head}\n---\n{chunk.text.strip()}"


def _skeleton(path: str, chunk: Chunk) -> str:
    parts = [_path_words(path), _names(chunk), _first_sentences(chunk.comment), chunk.signature[:_SIGNATURE]]
    if not chunk.signature and not chunk.comment:
        # A licence at the top of a file does not describe the file.
        text = comment_text(chunk.text[:_PROBE], is_header=chunk.position == 0)
        parts.append(" ".join(text.split())[:_FIRST_LINES])
    return "\n".join(filter(None, parts))


@lru_cache(maxsize=64)
def _path_words(path: str) -> str:
    *folders, name = re.split(r"[/\\]", path)
    stem = name.partition(".")[0] or name
    return " / ".join(" ".join(identifier_words(part)) or part for part in (*folders[-_FOLDERS:], stem))


def _names(chunk: Chunk) -> str:
    """Return the chunk's qualified name, the names defined in it, and the words in these names."""
    names = dict.fromkeys(filter(None, (chunk.parent, chunk.symbol, *chunk.defines[:_NAMES])))
    words = dict.fromkeys(word for name in names for word in words_in(name))
    title = [chunk.title] if not chunk.symbol and chunk.header_path else []
    spelled = [name for name in names if name.lower() not in words]
    return " ".join([*title, *spelled, *words])


def _first_sentences(comment: str) -> str:
    """Return the first paragraph of a comment, cut at the end of a sentence."""
    paragraph = " ".join(comment.partition("\n\n")[0].split())
    if len(paragraph) <= _SENTENCES:
        return paragraph
    end = max(paragraph.rfind(mark, 0, _SENTENCES) for mark in (". ", "! ", "? "))
    return paragraph[: end + 1] if end > 0 else paragraph[:_SENTENCES]
