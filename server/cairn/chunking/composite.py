"""The text of a chunk that is embedded (R1.8): prose with its place, code as a skeleton."""

from __future__ import annotations

import re
from functools import lru_cache

from cairn.chunking.comments import comment_text
from cairn.chunking.model import Chunk
from cairn.text.identifiers import identifier_words, words_in
from cairn.text.languages import Category, category, detect_language

# The model reads about 64 tokens of a skeleton: folders close to the file say more than those further up.
_FOLDERS = 3
_NAMES = 12
_SIGNATURE = 160
_SENTENCES = 240
_FIRST_LINES = 400
# Enough text to get past a licence.
_PROBE = 4000


def composite_text(path: str, source: str, chunk: Chunk) -> str:
    """What is embedded for `chunk` of the file at `path` in the collection or project `source`.

    S4's template (2.2) for documents and configuration; for code its skeleton, the most telling first: the path's
    words, the names, the comment's first sentences, the signature. The model cuts it off where it is too long.
    """
    language = detect_language(path)
    # A notebook holds both.
    if category(chunk.language if language == "jupyter" else language) is Category.CODE:
        return _skeleton(path, chunk)
    place = f"{path} > {chunk.header_path}" if chunk.header_path else path
    return f"Title: {chunk.title}\nSource: {source}\nPath: {place}\nType: {chunk.type.value}\n---\n{chunk.text.strip()}"


def _skeleton(path: str, chunk: Chunk) -> str:
    parts = [_path_words(path), _names(chunk), _first_sentences(chunk.comment), chunk.signature[:_SIGNATURE]]
    if not chunk.signature and not chunk.comment:
        # A file's licence is about no file in particular.
        text = comment_text(chunk.text[:_PROBE], is_header=chunk.position == 0)
        parts.append(" ".join(text.split())[:_FIRST_LINES])
    return "\n".join(filter(None, parts))


# All chunks of a file ask for the same.
@lru_cache(maxsize=64)
def _path_words(path: str) -> str:
    *folders, name = re.split(r"[/\\]", path)
    stem = name.partition(".")[0] or name
    return " / ".join(" ".join(identifier_words(part)) or part for part in (*folders[-_FOLDERS:], stem))


def _names(chunk: Chunk) -> str:
    """The chunk's qualified name, the names defined in it, and the words that these are made of."""
    names = dict.fromkeys(filter(None, (chunk.parent, chunk.symbol, *chunk.defines[:_NAMES])))
    words = dict.fromkeys(word for name in names for word in words_in(name))
    title = [chunk.title] if not chunk.symbol and chunk.header_path else []
    spelled = [name for name in names if name.lower() not in words]
    return " ".join([*title, *spelled, *words])


def _first_sentences(comment: str) -> str:
    """The first paragraph of a comment, up to the end of a sentence."""
    paragraph = " ".join(comment.partition("\n\n")[0].split())
    if len(paragraph) <= _SENTENCES:
        return paragraph
    end = max(paragraph.rfind(mark, 0, _SENTENCES) for mark in (". ", "! ", "? "))
    return paragraph[: end + 1] if end > 0 else paragraph[:_SENTENCES]
