"""Extracts short descriptions of documented definitions, as questions whose answer is the file that has them.

kernel-doc has `name - short description` in the first line of a comment, Javadoc has it in the first
sentence. They are weak labels: other files may answer as well. Remove the sentence from the file before
asking it (`without`).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from large.sampling import evenly, half_of
from large.sets import Question, Target

_SUFFIXES = {"kernel": (".c", ".h"), "jdk": (".java",)}
_WORDS = range(6, 31)
_BLOCK = re.compile(r"/\*\*(?![*/])(.*?)\*/", re.DOTALL)
_LINE = re.compile(r"[ \t]*(?:\*+(?!/))?[ \t]*(.*?)[ \t\r]*(?:\n|\Z)")
_KERNEL_DOC = re.compile(
    r"(?:(?:struct|union|enum|typedef|function|define|macro)\s+)?([A-Za-z_]\w*)\s*(?:\([^)]*\))?\s*[-:]+\s+(?=\S)"
)
_SECTION = re.compile(r"@|[A-Z][\w ]*:\s*$|(?:Returns?|Context|Note|Description)\b\s*:")
_END = re.compile(r"[.!?](?=\s|$)")
_DECLARATION = re.compile(r"\s*(?:@[\w.]+(?:\([^)]*\))?\s*)*([^{;=()]*)")
_TYPES = re.compile(r"<[^<>]*(?:<[^<>]*(?:<[^<>]*>[^<>]*)*>[^<>]*)*>")
_NOT_THE_NAME = re.compile(r"\b(?:extends|implements|throws)\b.*", re.DOTALL)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")
_MARKUP = (
    (re.compile(r"\{@(?:code|link|linkplain|literal|value)\s+#?([^}\s]*)(?:\s+([^}]*))?\}"), r"\1 \2"),
    (re.compile(r"</?[A-Za-z]\w*[^>]*>"), " "),
    (re.compile(r"&(?:lt|gt|amp|nbsp);"), " "),
    (re.compile(r"[%&#](?=[A-Za-z_])"), ""),
)
_UNREADABLE = re.compile(r"[@{}<>\\|*=]")


@frozen
class DocSentence:
    """The first sentence of a doc comment about a definition."""

    path: str
    name: str
    text: str
    """The sentence without markup."""
    spans: tuple[tuple[int, int], ...]
    """The characters of the file, `[start, end)`, with the sentence, a span for each line."""


def read_text(file: Path) -> str:
    """Return the text of a file, byte for byte; `encoded` restores bytes that are not UTF-8."""
    return file.read_bytes().decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def doc_sentences(path: str, text: str) -> Iterator[DocSentence]:
    """Yield a file's sentences that read as a question: 6 to 30 ASCII words without the definition's name."""
    find = _javadoc if path.endswith(".java") else _kernel_doc
    for block in _BLOCK.finditer(text):
        found = find(text, block)
        if found is None:
            continue
        name, pieces = found
        sentence, spans = _first_sentence(text, pieces)
        plain = _plain(sentence)
        if _asks(plain, name):
            yield DocSentence(path, name, plain, tuple(spans))


def without(text: str, sentences: Iterable[DocSentence]) -> str:
    """Return the text without these sentences, with the same number of lines."""
    spans = sorted((span for each in sentences for span in each.spans), reverse=True)
    for start, end in spans:
        text = text[:start] + text[end:]
    return text


def drawn(tree: str, folder: Path, count: int, seed: int) -> list[DocSentence]:
    """Draw `count` sentences of the tree, evenly over its folders, at most one from each file; no two
    definitions have the same."""
    by_file = {
        path: list(doc_sentences(path, read_text(folder / path))) for path in _files(folder, _SUFFIXES[tree])
    }
    times = Counter(_same(each) for found in by_file.values() for each in found)
    chance = random.Random(seed)
    offered = []
    for found in by_file.values():
        if once := [each for each in found if times[_same(each)] == 1]:
            offered.append(chance.choice(once))
    return evenly(offered, lambda each: each.path, count, chance)


def questions_of(tree: str, sentences: Iterable[DocSentence]) -> list[Question]:
    """Return a question for each sentence; its half is that of the file's folder."""
    questions = []
    for each in sentences:
        half = half_of(each.path)
        id_ = f"{tree}-{half}-sentence-{each.path}:{each.name}"
        questions.append(Question(id_, tree, half, each.text, "sentence", (Target(each.path),)))
    return questions


def _files(folder: Path, suffixes: Sequence[str]) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix in suffixes and path.is_file() and not path.is_symlink()
    )


Pieces = list[tuple[int, int]]


def _kernel_doc(text: str, block: re.Match[str]) -> tuple[str, Pieces] | None:
    """Return the name, and the position of its description in the file, line by line."""
    pieces = _pieces(text, block)
    if not pieces or (head := _KERNEL_DOC.match(text[slice(*pieces[0])])) is None:
        return None
    start, end = pieces[0]
    described = [(start + head.end(), end)]
    for start, end in pieces[1:]:
        if start == end or _SECTION.match(text[start:end]):
            break
        described.append((start, end))
    return head.group(1), described


def _javadoc(text: str, block: re.Match[str]) -> tuple[str, Pieces] | None:
    declared = _DECLARATION.match(text, block.end())
    names = _IDENTIFIER.findall(_NOT_THE_NAME.sub("", _TYPES.sub("", declared[1]))) if declared else []
    if not names or names[0] in {"package", "module", "import"}:
        return None
    described = []
    for start, end in _pieces(text, block):
        if start == end or text.startswith("@", start):
            break
        described.append((start, end))
    return (names[-1], described) if described else None


def _pieces(text: str, block: re.Match[str]) -> Pieces:
    """Return the text of each line of a comment, from the first that has any; empty lines stay empty."""
    start, end = block.span(1)
    pieces = []
    while start < end and (line := _LINE.match(text, start, end)):
        pieces.append(line.span(1))
        start = line.end()
    while pieces and pieces[0][0] == pieces[0][1]:
        del pieces[0]
    return pieces


def _first_sentence(text: str, pieces: Pieces) -> tuple[str, Pieces]:
    """Return the first sentence of the joined pieces, and its own pieces."""
    said, spans = [], []
    for start, end in pieces:
        stop = _END.search(text, start, end)
        spans.append((start, stop.end() if stop else end))
        said.append(text[slice(*spans[-1])])
        if stop:
            break
    return " ".join(said), spans


def _plain(sentence: str) -> str:
    for pattern, plain in _MARKUP:
        sentence = pattern.sub(plain, sentence)
    return " ".join(sentence.split()).strip(" .:;,!-")


def _asks(sentence: str, name: str) -> bool:
    return (
        len(sentence.split()) in _WORDS
        and sentence.isascii()
        and not _UNREADABLE.search(sentence)
        and name.lower() not in sentence.lower()
    )


def _same(sentence: DocSentence) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", sentence.text.lower()))
