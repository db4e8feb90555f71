"""Makes questions from removed doc comments: the first sentence asks, the definition answers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence

from attrs import frozen

from cairn.chunking.chunker import chunk_text
from cairn.chunking.comments import comment_text
from cairn.chunking.definition_place import definition_lines
from cairn.chunking.lines import Lines
from cairn.chunking.model import Chunk
from cairn.chunking.outline import CALLABLE, CONTAINERS
from cairn.discovery.statements import split_sentences
from cairn.text.identifiers import identifier_words
from cairn.text.words import is_stopword

_WORDS = range(5, 31)
_NEW_WORDS = 3
"""The number of words of a sentence, apart from function words, that must not be in the definition's name."""
_SHARE = 4
"""One in this many documented definitions of a file loses its comment."""
_KINDS = (CALLABLE | CONTAINERS) - {"impl", "extension", "module"}
_COMMENT_LINES = 80
_PROSE = 0.7
"""The share of a sentence's characters that words must have."""
_SAME = 200
"""The number of characters that identify a comment, since a chunk cuts off long ones."""

_NO_QUESTION = re.compile(
    r"""^(?:[@:\[\-*<\\=] | \{@ | (?:todo|fixme|xxx|hack|note|nb|warning|deprecated|internal|private|see|same\s+as|like|
        overrid\w+|inherit\w*|ditto|cf|copyright|generated|param\w*|args?|returns?:|usage|examples?|e\.g|i\.e|eslint|istanbul|
        this\s+is\s+(?:a\s+)?(?:hack|ugly)|constructs?\s+(?:a\s+)?new|initiali[sz]es\s+a\s+new\s+instance|
        creates?\s+a\s+new\s+instance|default\s+constructor|used\s+(?:for|in|by)\s+tests?|alias|(?:this\s+)?tests?|(?:un)?comment)\b)""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)
_MARKUP = (
    (re.compile(r"\{@(?:code|link|linkplain|literal|value)\s+#?([^}\s]*)(?:\s+([^}]*))?\}"), r"\1 \2"),
    (re.compile(r"</?\w+[^>]*>"), " "),
    (re.compile(r":[a-z:]+:`~?([^`<]+)(?:<[^>]*>)?`"), r"\1"),
    (re.compile(r"\[([^\]]+)\](?:\([^)]*\)|\[[^\]]*\])?"), r"\1"),
    (re.compile(r"[`]+"), ""),
    (re.compile(r"&(?:lt|gt|amp|nbsp);"), " "),
)
_TAG = re.compile(
    r"\s(?:@\w+|:\w+\s?\w*:|\\\w+|(?:Args|Params?|Parameters|Returns|Throws|Example)s?:)(?:\s|$)"
)
_LINE_MARKS = ("//", "#", "--", ";", "%")
_BLOCKS = (("/*", "*/"), ('"""', '"""'), ("'''", "'''"), ("{-", "-}"), ("(*", "*)"), ("=begin", "=end"))
_BEFORE_BLOCK = re.compile(r"(?:@(?:module|type)?doc\s*)?(?:~[sS])?[rRuU]?")
_WORD = re.compile(r"[A-Za-z][\w'-]*")
_PLAIN = re.compile(r"[a-z0-9]+")


@frozen
class CommentQuestion:
    """A sentence, and the lines of its definition, from 1 and inclusive, after all comments are removed."""

    query: str
    path: str
    start_line: int
    end_line: int


@frozen
class _Found:
    """A comment that can be removed."""

    chunk: Chunk
    """The chunk of its definition."""
    sentence: str
    """The sentence as it is in the comment."""
    question: str
    lines: tuple[int, int]
    """The lines of the file, `[start, end)`, with the comment."""


class Words:
    """All texts of a repository as words, to find out whether they repeat a sentence."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._all = "\n".join(map(_plain, texts))

    def occurs_once(self, sentence: str) -> bool:
        """Return whether the sentence is in exactly one place."""
        return self._all.count(_plain(sentence)) == 1


def comment_questions(
    path: str, text: str, words: Words, only: Collection[str] | None = None
) -> tuple[list[CommentQuestion], str]:
    """Return questions about one file (or those of them that are in `only`), and its text without their
    comments.

    Returns None and the unchanged text if no comment can go.
    """
    lines = Lines(text).lines
    chunks = chunk_text(path, text)
    documented = [chunk for chunk in chunks if chunk.comment and chunk.symbol_kind in _KINDS]
    found: list[_Found] = []
    # The choice by words and not by place makes the first definitions of files no likelier than others.
    for chunk in sorted(documented, key=lambda chunk: chunk.content_hash):
        if len(found) >= _allowed(path, len(documented)):
            break
        region = comment_lines(chunk, lines)
        raw = raw_sentence(comment_text("".join(lines[slice(*region)]))) if region else ""
        question = question_of(raw, chunk)
        if region and question and (only is None or question in only) and words.occurs_once(raw):
            found.append(_Found(chunk, raw, question, region))
    return _without(path, lines, chunks, found) if found else ([], text)


def _allowed(path: str, documented: int) -> int:
    """Return how many comments of a file may go: one in _SHARE, with a random choice for the remainder."""
    whole, rest = divmod(documented, _SHARE)
    return whole + (hashlib.sha256(path.encode()).digest()[0] % _SHARE < rest)


def raw_sentence(comment: str) -> str:
    """Return the first sentence of a comment, without the text of tags."""
    paragraph = " ".join(_TAG.split(comment.partition("\n\n")[0], maxsplit=1)[0].split())
    spans = split_sentences(paragraph)
    return paragraph[slice(*spans[0])] if spans else ""


def question_of(sentence: str, chunk: Chunk) -> str:
    """Return the first sentence of the chunk's comment without markup; "" if that cannot be a question."""
    text = sentence
    if _NO_QUESTION.match(text) or not text.isascii():
        return ""
    for pattern, plain in _MARKUP:
        text = pattern.sub(plain, text)
    text = " ".join(text.split()).strip(" .:;,!-")
    # Go's comments begin with the name.
    text = re.sub(rf"^{re.escape(chunk.symbol)}(?:\(\))?\s+(?:-+\s+)?(?:is\s+)?", "", text)
    if re.search(rf"\b{re.escape(chunk.symbol)}\b", text, re.IGNORECASE) and len(chunk.symbol) > 3:
        return ""
    words = _WORD.findall(text)
    named = {word for name in (chunk.symbol, chunk.parent) for word in identifier_words(name)}
    content_words = {word.lower() for word in words if not is_stopword(word.lower())}
    new = {word for word in content_words if not any(_alike(word, other) for other in named)}
    is_prose = len("".join(words)) > _PROSE * len(text.replace(" ", ""))
    if len(words) not in _WORDS or len(new) < _NEW_WORDS or not is_prose:
        return ""
    return text


def comment_lines(chunk: Chunk, lines: Sequence[str]) -> tuple[int, int] | None:
    """Return the lines `[start, end)` of the file with only the chunk's comment; None if there are none."""
    first = chunk.comment.partition("\n")[0]
    wanted = " ".join(chunk.comment.split())[:_SAME]
    # A long comment is in a chunk of its own, before the definition's; the nearest counts.
    before = range(chunk.start_line - 1, max(-1, chunk.start_line - _COMMENT_LINES), -1)
    for number in (*range(chunk.start_line, chunk.end_line), *before):
        if first not in lines[number]:
            continue
        region = _line_comment(number, lines) or _block_comment(number, lines)
        # Text other than the whole comment would leave half a comment behind, or remove other text.
        if region and " ".join(comment_text("".join(lines[slice(*region)])).split())[:_SAME] == wanted:
            return region
    return None


def _line_comment(number: int, lines: Sequence[str]) -> tuple[int, int] | None:
    mark = next((mark for mark in _LINE_MARKS if lines[number].strip().startswith(mark)), None)
    if mark is None:
        return None
    start, end = number, number + 1
    while start > 0 and lines[start - 1].strip().startswith(mark):
        start -= 1
    while end < len(lines) and lines[end].strip().startswith(mark):
        end += 1
    return start, end


def _block_comment(number: int, lines: Sequence[str]) -> tuple[int, int] | None:
    start = number
    while start > max(0, number - _COMMENT_LINES) and not any(
        opener in lines[start] for opener, _ in _BLOCKS
    ):
        start -= 1
    block = next((block for block in _BLOCKS if block[0] in lines[start]), None)
    if block is None:
        return None
    opener, closer = block
    before, _, rest = lines[start].partition(opener)
    end = start
    while closer not in rest:
        end += 1
        if end >= len(lines):
            return None
        rest = lines[end]
    if not _BEFORE_BLOCK.fullmatch(before.strip()) or rest.partition(closer)[2].strip():
        return None
    return start, end + 1


def _without(
    path: str,
    lines: Sequence[str],
    chunks: Sequence[Chunk],
    found: Sequence[_Found],
) -> tuple[list[CommentQuestion], str]:
    """Return the questions, and the text without their comments, if it has the same definitions as before."""
    gone = {line for each in found for line in range(*each.lines)}
    text = "".join(line for number, line in enumerate(lines) if number not in gone)
    after = chunk_text(path, text)
    if {name for chunk in chunks for name in chunk.defines} != {
        name for chunk in after for name in chunk.defines
    }:
        return [], "".join(lines)
    questions = []
    for each in found:
        chunk = each.chunk
        head, end = definition_lines(chunk, chunk.symbol)
        end = _whole_end(chunk, chunks, end)
        start, stop = (line - sum(other < line for other in gone) for line in (head, end))
        holder = next((other for other in after if other.start_line <= start < other.end_line), None)
        if holder is None or head in gone or chunk.symbol not in holder.defines:
            return [], "".join(lines)
        if _plain(each.sentence) in _plain(holder.text):
            return [], "".join(lines)
        questions.append(CommentQuestion(each.question, path, start + 1, stop))
    return questions, text


def _whole_end(chunk: Chunk, chunks: Sequence[Chunk], end: int) -> int:
    """Return the end of the definition that a chunk begins, since a long one has several chunks."""
    for other in chunks[chunk.position + 1 :]:
        if other.header_path != chunk.header_path or other.signature:
            break
        end = other.end_line
    return end


def _alike(word: str, other: str) -> bool:
    """Return whether the words are roughly forms of one: `parses` and `parse`."""
    return word == other or (min(len(word), len(other)) >= 3 and word[:4] == other[:4])


def _plain(text: str) -> str:
    return " ".join(_PLAIN.findall(text.lower()))
