"""Makes weakly labelled pairs from a repository: a question-like text, and the code or prose that it is
about.

There are no human labels: a commit's subject is about the definitions that the commit changed, a doc comment
about the definition below it, a test's title about its subject, a heading about its section. The text to be
found has the shape that Cairn embeds (`cairn.chunking.composite`), without the words that the question was
taken from.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, field, frozen
from repositories import Repository
from sources import Source

from cairn.chunking.chunker import chunk_text
from cairn.chunking.composite import composite_text
from cairn.chunking.model import Chunk
from cairn.languages.language import Category
from cairn.languages.registry import category, detect_language
from cairn.text.identifiers import identifier_words
from cairn.workspace.collections import FileKind, file_kind

_CHUNKS = 20_000
"""The limit of chunks for one repository, so that large ones do not dominate."""
_TEXT = 700
_BODY = 1_000
_QUERY = 200
_MESSAGE = 1_200
_MESSAGE_WORDS = 12
"""Shorter messages say no more than the subject, or are references."""
_LINES = 400


@frozen
class Pair:
    """A pair in which `text` answers `query`."""

    source: Source
    query: str
    text: str
    path: str
    """The path of the text's file."""
    body: str = ""
    """The code of which `text` is the skeleton."""
    place: str = ""
    """The same for all pairs at one definition or section."""


@frozen
class _File:
    path: str
    chunks: tuple[Chunk, ...]

    @property
    def is_code(self) -> bool:
        return category(detect_language(self.path)) is Category.CODE


@frozen
class _Sources:
    """The parsed files of a repository."""

    name: str
    files: dict[str, _File] = field(factory=dict)
    by_stem: dict[str, list[tuple[str, Chunk]]] = field(factory=lambda: defaultdict(list))
    """The named chunks of code files other than tests, by the file's name in lower case."""

    def skeleton(self, path: str, chunk: Chunk, **changes: Any) -> str:
        """Return the embedded text of the chunk, with some fields changed."""
        return composite_text(path, self.name, evolve(chunk, **changes))


def pairs_of(repository: Repository) -> Iterator[Pair]:
    """Yield all pairs of a repository, in a fixed order."""
    sources = _read(repository)
    for file in sources.files.values():
        if not file.is_code:
            yield from _prose_pairs(sources, file)
        elif file_kind(file.path) == FileKind.TESTS:
            yield from _test_pairs(sources, file)
        else:
            yield from _code_pairs(sources, file)
    yield from _mentions(sources)
    yield from _commit_pairs(sources, repository.log())


def _read(repository: Repository) -> _Sources:
    paths = sorted(repository.files())
    random.Random(repository.name).shuffle(paths)
    sources = _Sources(repository.name.partition("/")[2])
    chunks = 0
    for path, text in repository.texts(paths):
        file = _File(path, tuple(chunk_text(path, text)))
        sources.files[path] = file
        if file.is_code and file_kind(path) != FileKind.TESTS:
            sources.by_stem[_stem(path).lower()] += [(path, chunk) for chunk in file.chunks if chunk.symbol]
        chunks += len(file.chunks)
        if chunks >= _CHUNKS:
            break
    return sources


# --- code -----------------------------------------------------------------------------------------


def _code_pairs(sources: _Sources, file: _File) -> Iterator[Pair]:
    for chunk in file.chunks:
        query = first_sentence(chunk.comment)
        if query and chunk.symbol:
            body = _without(chunk.text, chunk.comment)[:_BODY]
            text = sources.skeleton(file.path, chunk, comment="")
            yield Pair(Source.COMMENT, query, text, file.path, body, _place(file.path, chunk))
        words = [*identifier_words(chunk.parent), *identifier_words(chunk.symbol)] if chunk.symbol else []
        if len(set(words)) > 1:
            nameless = dict.fromkeys(("symbol", "parent", "signature", "title", "header_path"), "")
            text = sources.skeleton(file.path, chunk, defines=(), **nameless)
            body = _without_name(chunk.text, chunk.symbol)[:_BODY]
            query = " ".join(dict.fromkeys(words))
            yield Pair(Source.NAME, query, text, file.path, body, _place(file.path, chunk))
        yield from _inline(file, chunk)
    named = [chunk for chunk in file.chunks if chunk.symbol]
    place = _path_words(file.path)
    for chunk in random.Random(file.path).sample(named, min(3, len(named))):
        if len(place.split()) > 1:
            text = sources.skeleton("", chunk)
            yield Pair(Source.PATH, place, text, file.path, chunk.text[:_BODY], _place(file.path, chunk))


_COMMENT_LINE = re.compile(r"^\s*(?://+|#+|--+|;+|%+)\s+(\S.*)$")


def _inline(file: _File, chunk: Chunk) -> Iterator[Pair]:
    """Yield comments inside a definition, with the lines that follow each."""
    lines = chunk.text.splitlines()
    comment: list[str] = []
    for number, line in enumerate(lines):
        found = _COMMENT_LINE.match(line)
        if found and number:
            comment.append(found[1])
            continue
        if comment:
            said = first_sentence(" ".join(comment))
            if said and said not in chunk.comment:
                heading = [_path_words(file.path), chunk.symbol] if chunk.symbol else [_path_words(file.path)]
                text = "\n".join(heading + lines[number : number + 6])
                yield Pair(Source.INLINE, said, text[:_LINES], file.path, place=_place(file.path, chunk))
        comment = []


# --- tests ----------------------------------------------------------------------------------------

_TITLE = re.compile(
    r"""\b(?:it|test|describe|specify|context|scenario|should|testWidgets|bench|TEST_CASE|SECTION)
        \s*[.(]?\s*\(?\s*
        (?:"([^"\n]{12,160})"|'([^'\n]{12,160})'|`([^`\n]{12,160})`)""",
    re.VERBOSE,
)
_TEST_NAME = re.compile(r"^(?:test_?|Test|should_?|it_?)+|(?:_?test|Tests?|Spec)$")
_TEST_FILE = re.compile(
    r"^(?i:tests?|specs?)[-_]|^(?:Test|Spec)s?(?=[A-Z])|"
    r"[-_](?i:tests?|specs?|it)$|(?<=[a-z0-9])(?:Tests?|Specs?|IT)$"
)


def _test_pairs(sources: _Sources, file: _File) -> Iterator[Pair]:
    """Yield titles of tests with the test, and with the tested code if a source file has the test's name."""
    tested = sources.by_stem.get(_TEST_FILE.sub("", _stem(file.path)).lower(), ())
    for chunk in file.chunks:
        titles = [next(filter(None, found)) for found in _TITLE.findall(chunk.text)]
        words = identifier_words(_TEST_NAME.sub("", chunk.symbol))
        for title in [*titles, " ".join(words)][:4]:
            query = first_sentence(title, least=3)
            if not query:
                continue
            at = chunk.text.find(title)
            test = _without_name(chunk.text, chunk.symbol) if at < 0 else chunk.text[at + len(title) :]
            yield Pair(Source.TEST, query, test[:_LINES], file.path, place=_place(file.path, chunk))
            best = _most_alike(query + " " + test[:_LINES], tested)
            if best is not None:
                text, body = sources.skeleton(*best), best[1].text[:_BODY]
                yield Pair(Source.TESTED, query, text, best[0], body, _place(*best))


def _most_alike(text: str, candidates: Sequence[tuple[str, Chunk]]) -> tuple[str, Chunk] | None:
    """Return the candidate whose defined names have the most words in the text."""
    if not candidates:
        return None
    words = set(identifier_words(text))

    def shared(candidate: tuple[str, Chunk]) -> float:
        named = {word for name in candidate[1].defines for word in identifier_words(name)}
        return len(named & words) / (len(named) + 3)

    return max(candidates[:200], key=shared)


# --- prose ----------------------------------------------------------------------------------------

_CODE_SPAN = re.compile(r"`+([A-Za-z_][\w.:#]*(?:\(\))?)`+")
_FENCE = re.compile(r"^(```|~~~).*?^\1", re.DOTALL | re.MULTILINE)
_MARKUP = re.compile(r"\s*(?:#|[=\-~^\"*+]{3,}|\.\. |:\w+:)")
"""The beginnings of lines that are headings, rules or directives."""


def _prose_pairs(sources: _Sources, file: _File) -> Iterator[Pair]:
    for chunk in file.chunks:
        body = _prose(chunk.text)
        if len(body.split()) < 12:
            continue
        heading = " ".join(chunk.header_path.split(" > ")[-2:]) or chunk.title
        if len(identifier_words(heading)) > 1:
            text = sources.skeleton(file.path, chunk, title="", header_path="", text=body)
            yield Pair(
                Source.HEADING, heading[:_QUERY], text[:_TEXT], file.path, place=_place(file.path, chunk)
            )
        query = first_sentence(body)
        rest = body[body.find(query) + len(query) :] if query else ""
        if query and len(rest.split()) > 8:
            text = sources.skeleton(file.path, chunk, text=rest)
            yield Pair(Source.SENTENCE, query, text[:_TEXT], file.path, place=_place(file.path, chunk))


def _prose(text: str) -> str:
    """Return a section without its heading and code."""
    lines = _FENCE.sub("", text).splitlines()
    return " ".join(" ".join(line for line in lines if not _MARKUP.match(line)).split())


def _mentions(sources: _Sources) -> Iterator[Pair]:
    """Yield sentences of documentation that name a definition, without the name, and the definition."""
    definitions: dict[str, dict[tuple[str, str], Chunk]] = defaultdict(dict)
    for file in sources.files.values():
        if file.is_code and file_kind(file.path) not in (FileKind.TESTS, FileKind.EXAMPLES):
            for chunk in file.chunks:
                if chunk.symbol:  # A long definition has several chunks, of which the first is its beginning.
                    definitions[chunk.symbol].setdefault((file.path, chunk.parent), chunk)
    for file in sources.files.values():
        if file.is_code:
            continue
        for chunk in file.chunks:
            heading = chunk.header_path.split(" > ")[-1]
            for paragraph in re.split(r"\n\s*\n|\n\s*[-*] ", _FENCE.sub("", chunk.text)):
                queries: dict[str, str] = {}
                for sentence in _SENTENCE_END.split(paragraph):
                    query = first_sentence(" ".join(_CODE_SPAN.sub(" ", sentence).split()))
                    for span in _CODE_SPAN.findall(sentence) if query else ():
                        queries.setdefault(re.split(r"[.:#]+", span.rstrip("()"))[-1], query)
                for name, said in queries.items():
                    query = said if name in heading else f"{heading} {said}"
                    known = definitions.get(name, {})
                    if len(name) > 3 and 0 < len(known) <= 2:
                        (path, _), found = next(iter(known.items()))
                        text, body = sources.skeleton(path, found), found.text[:_BODY]
                        yield Pair(Source.MENTION, query[:_QUERY], text, path, body, _place(path, found))


# --- history --------------------------------------------------------------------------------------

_PREFIX = re.compile(
    r"^(?:\[[^\]]{1,40}\]\s*|"
    r"(?:fix|feat|feature|chore|docs?|refactor|perf|test|tests|build|ci|style|revert|bug|bugfix)"
    r"(?:\([^)]*\))?!?:\s*|[\w./{},*-]{1,40}:\s+)+",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"\s*\(?(?:#|gh-|!)\d+\)?|\b(?:closes|fixes|resolves|refs?|see)\b\s*(?=$|[:,.])", re.IGNORECASE
)
_EMPTY_SUBJECT = re.compile(
    r"^(?:merge (?:branch|pull|remote|tag|commit|upstream|master|main|from|into|pr|the|')|revert|bump|"
    r"upgrade|release\W*(?:$|v?\d|note|version|candidate|for|prep)|releas(?:ed|ing) |"
    r"prepare (?:for |the |next |v?\d|rel)|update (?:dependenc|changelog|version|readme|to)|v?\d+\.\d+|"
    r"version (?:bump|v?\d|up)|wip\b|typos?|fix(?:ed)? typos?|"
    r"format(?:ted|ting)?(?:$|\W+(?:code|file|source|with|all|the))|lint|clean ?up|changelog|"
    r"initial (?:commit|import|version|revision|release|check)|import (?:from|sort|order|clean)|"
    r"more (?:fix|clean|test|doc)|auto(?:$|\W*(?:format|generated|update|merge|commit|bump|fix))|"
    r"apply (?:suggest|review|patch|change|fix|lint|format|clang|rustfmt|prettier|black|ruff|clippy)|"
    r"address(?:e[ds]|ing)? (?:review|comment|feedback|pr |nit|clippy|lint|warning)|code review|review|minor|"
    r"oops|fixup|squash|remove unused|whitespace|copyright|spelling|"
    r"start (?:version|work|next|develop|v?\d))",
    re.IGNORECASE,
)
_HEADER = re.compile(r"^@@ -\S+ \+\S+ @@ ?(.*)$")
_MOST_FILES = 6
_MOST_OF_A_FILE = 2


def clean_subject(subject: str) -> str:
    """Return a commit's subject without prefixes and references; "" for one that says nothing about code."""
    text = _REFERENCE.sub("", subject).strip()
    if _EMPTY_SUBJECT.match(text):
        return ""
    text = _PREFIX.sub("", text).strip(" .")
    if _EMPTY_SUBJECT.match(text):
        return ""
    return text[:_QUERY] if len(identifier_words(text)) >= 3 else ""


_TRAILER = re.compile(
    r"^(?:(?:[a-z][\w-]+-by|change-id|cc|link|see|pr|issue|git-svn-id|bug|reviewed-on)\s*:|"
    r"(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|refs?)\b[\s:]*\S*#\d).*$",
    re.IGNORECASE | re.MULTILINE,
)
_ADDRESS = re.compile(r"https?://\S+")


def clean_body(below: str) -> str:
    """Return the text of a commit's message below its subject, in one line; "" if it is short."""
    text = _REFERENCE.sub("", _ADDRESS.sub("", _TRAILER.sub("", below.partition("\x03")[0])))
    text = " ".join(text.split())[:_MESSAGE]
    return text if len(identifier_words(text)) >= _MESSAGE_WORDS else ""


def _commit_pairs(sources: _Sources, log: Iterable[str]) -> Iterator[Pair]:
    """Yield the subject of each commit of few files, alone and with the text below it, with the definitions
    that the commit changed."""
    for subject, below, changes in _commits(log):
        query = clean_subject(subject)
        message = f"{query}. {below}" if (below := clean_body(below)) else ""
        if not query or not 0 < len(changes) <= _MOST_FILES:
            continue
        for path, (new, hunks) in changes.items():
            file = sources.files.get(path)  # There are none if the file may not be used.
            if file is None or not file.is_code or file_kind(path) == FileKind.TESTS:
                continue
            chunks_by_line: dict[int, Chunk] = {}
            if new:
                best = _most_alike(query, [(path, chunk) for chunk in file.chunks if chunk.symbol])
                if best is not None:
                    chunks_by_line[best[1].position] = best[1]
            for context, added in () if new else hunks[:4]:
                chunk = _definition(file, context, added)
                if chunk is not None and len(chunks_by_line) < _MOST_OF_A_FILE:
                    chunks_by_line.setdefault(chunk.position, chunk)
            for chunk in chunks_by_line.values():
                text, body = sources.skeleton(path, chunk), chunk.text[:_BODY]
                yield Pair(Source.COMMIT, query, text, path, body, _place(path, chunk))
                if message:
                    yield Pair(Source.MESSAGE, message, text, path, body, _place(path, chunk))


_Hunk = tuple[str, str]
"""Git's context of the changed lines, and the lines as they were written."""
_Change = tuple[bool, list[_Hunk]]
"""The change of one file: whether the commit added it, and the hunks."""


def _commits(log: Iterable[str]) -> Iterator[tuple[str, str, dict[str, _Change]]]:
    """Yield the subject, the text below it, and the files of each commit."""
    subject, below, in_message, path, new = "", "", False, "", False
    changes: dict[str, _Change] = {}
    for line in log:
        if line.startswith("\x01"):
            if subject:
                yield subject, below, changes
            subject, _, below = line[1:].partition("\x02")
            changes, path = {}, ""
            in_message = "\x03" not in line
        elif in_message:
            below += line
            in_message = "\x03" not in line
        elif line.startswith("diff --git "):
            path, new = "", False
        elif not path and line.startswith("new file "):
            new = True
        elif not path and line.startswith("+++ b/"):
            path = line[6:].rstrip("\n").rstrip("\t")
            if len(changes) <= _MOST_FILES:
                changes[path] = (new, [])
        elif path in changes:
            hunks = changes[path][1]
            if found := _HEADER.match(line):
                hunks.append((found[1], ""))
            elif line.startswith("+") and hunks and len(hunks[-1][1]) < _LINES:
                hunks[-1] = (hunks[-1][0], hunks[-1][1] + line[1:])
    if subject:
        yield subject, below, changes


def _definition(file: _File, context: str, added: str) -> Chunk | None:
    """Return the chunk that still has a hunk's longest line, or else one that defines a name in its
    context."""
    # The line has priority, since git knows the innermost definition in few languages.
    longest = max((line.strip() for line in added.splitlines()), key=len, default="")
    if len(longest) >= 25:
        for chunk in file.chunks:
            if chunk.symbol and longest in chunk.text:
                return chunk
    names = set(re.findall(r"\w{3,}", context))
    return next((c for c in file.chunks if c.symbol and c.symbol.split(".")[-1] in names), None)


# --- words ----------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n\s*\n|\n\s*[@:\\-]")
_LICENCE = re.compile(r"(?i)licen[cs]e|copyright|todo|fixme|noqa|eslint|all rights")


def first_sentence(text: str, least: int = 4) -> str:
    """Return the first sentence; "" if it has fewer than `least` words, or is not about its place."""
    said = " ".join(_SENTENCE_END.split(text.strip(), maxsplit=1)[0].split())[:_QUERY]
    words = identifier_words(said)
    if len(words) < least or _LICENCE.search(said) or sum(map(len, words)) < 0.55 * len(said):
        return ""
    return said


def _without(text: str, comment: str) -> str:
    """Return `text` without the lines that are in `comment`."""
    said = {line.strip() for line in comment.splitlines()}
    return "\n".join(
        line for line in text.splitlines() if not any(part and part in line for part in said if len(part) > 8)
    )


def _without_name(text: str, name: str) -> str:
    """Return `text` without the name of its definition, also without qualifiers of that name."""
    return re.sub(rf"(?<!\w){re.escape(re.split(r'[.:#]+', name)[-1])}(?!\w)", "", text) if name else text


def _place(path: str, chunk: Chunk) -> str:
    return f"{path}:{chunk.position}"


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _path_words(path: str) -> str:
    *folders, _ = path.split("/")
    return " ".join(" ".join(identifier_words(part)) for part in (*folders[-2:], _stem(path)))
