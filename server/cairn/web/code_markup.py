"""Shows source code as lines of HTML with colours, and the lines of passages, which all answers show alike.

Only this module builds markup without a template. All text passes through `escape`.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from attrs import frozen
from cachetools import LRUCache
from markupsafe import Markup, escape

from cairn import protocol
from cairn.agents.result_text import FurtherPassage, Lines, Part, ResultText, pieces
from cairn.languages.registry import detect_language
from cairn.web.highlighting import TEXT_SECONDS, Highlighting, Text, Token, current

MOST_COLOURED = 200_000
"""The maximum length of a highlighted text in characters. A longer one has no colours: the time limit
of a response would end them early."""
_BEGINS = r"(?:(?<![^\W\d_])|(?<=[a-z0-9])(?=[A-Z]))"
_CACHED_TEXTS = 512
_MOST_CACHED_CHARACTERS = 20_000


def code_lines(
    text: str, language: str, path: str, terms: Sequence[str] = (), most: int | None = None
) -> list[Markup]:
    """Return each line as markup without its end: tokens as `<span class="k">`, the words `terms` in
    `<mark>`.

    `most` limits the number of lines that are highlighted and returned.
    """
    return list(itertools.islice(streamed_lines(text, language, path, terms, most), most))


def code_line(line: str, path: str, language: str = "") -> Markup:
    """Return one line of a file as markup, without the blanks around it."""
    text = line.strip()
    shown = code_lines(text, language or detect_language(path), path) if text else []
    return shown[0] if shown else Markup("")


def streamed_lines(
    text: str, language: str, path: str, terms: Sequence[str] = (), most: int | None = None
) -> Iterator[Markup]:
    """Yield the lines that `code_lines` returns, so that the first can be sent before the rest is
    highlighted. Text after the first `most` lines, and what takes too long, has no colours."""
    text = _with_plain_ends(text)
    tokens: Iterable[Token] = ()
    if len(text) <= MOST_COLOURED:
        wanted = Text(text, language, path.rpartition("/")[2], most)
        tokens = _short(wanted) if len(text) <= _MOST_CACHED_CHARACTERS else _colours().tokens(wanted)
    return _lines(_parts(text, tokens), terms)


def _colours() -> Highlighting:
    return current.get(None) or Highlighting()


_cache = LRUCache[Text, tuple[Token, ...]](_CACHED_TEXTS)
"""The tokens of short texts. Marks are added later, since they change during typing."""
_cache_lock = threading.Lock()


def _short(text: Text) -> tuple[Token, ...]:
    with _cache_lock:
        known = _cache.get(text)
    if known is None:
        colours = _colours()
        known = tuple(colours.tokens(text, TEXT_SECONDS))
        # A text that took its whole time would take it again, but a response may have ended before.
        if not colours.is_over:
            with _cache_lock:
                _cache[text] = known
    return known


def _parts(text: str, tokens: Iterable[Token]) -> Iterator[tuple[str, str]]:
    """Yield the class and the text of each token, and then the rest of the text."""
    end = 0
    for name, length in tokens:
        start, end = end, end + length
        yield name, text[start:end]
    yield "", text[end:]


def _lines(tokens: Iterable[tuple[str, str]], terms: Sequence[str]) -> Iterator[Markup]:
    marked = _pattern(terms)
    line: list[str] = []
    for name, value in tokens:
        first, *others = value.split("\n")
        line.append(_span(first, name, marked))
        for part in others:
            yield Markup("".join(line))
            line = [_span(part, name, marked)]
    if any(line):
        yield Markup("".join(line))


_QUOTED_CODE = re.compile(r"`([^`]+)`")


def with_code(text: str) -> Markup:
    """Return a sentence with the names in backticks as code."""
    parts = _QUOTED_CODE.split(text)
    names = (Markup("<code>{}</code>").format(part) for part in parts[1::2])
    sentences = map(escape, parts[::2])
    return Markup("").join(part for pair in zip(sentences, [*names, ""], strict=True) for part in pair)


_TAG_OR_CHARACTER = re.compile(r"<[^>]*>|&[^;]*;|.", re.DOTALL)


def with_marks(line: Markup, ranges: Iterable[tuple[int, int]]) -> Markup:
    """Return a line of markup with `<mark>` around the characters in these ranges."""
    places = {place for start, end in ranges for place in range(start, end)}
    parts, at = list[str](), 0
    for piece in _TAG_OR_CHARACTER.findall(line):
        is_tag = piece.startswith("<")
        # A mark does not cross a tag, so that elements stay nested.
        parts.append(f"<mark>{piece}</mark>" if not is_tag and at in places else piece)
        at += not is_tag
    return Markup("".join(parts).replace("</mark><mark>", ""))


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _span(text: str, name: str, marked: re.Pattern[str] | None) -> str:
    if not text:
        return ""
    shown = str(escape(text)) if marked is None else _with_marks(text, marked)
    return f'<span class="{name}">{shown}</span>' if name and not text.isspace() else shown


def _with_marks(text: str, marked: re.Pattern[str]) -> str:
    parts, end = [], 0
    for match in marked.finditer(text):
        parts += [escape(text[end : match.start()]), Markup("<mark>"), escape(match[0]), Markup("</mark>")]
        end = match.end()
    return "".join([*parts, escape(text[end:])])


def _pattern(terms: Sequence[str]) -> re.Pattern[str] | None:
    """Return a pattern that finds words, parts of compound names, and prefixes of both, in any case."""
    words = sorted({term for term in terms if term.strip()}, key=len, reverse=True)
    if not words:
        return None
    return re.compile("|".join(map(_word_pattern, words)))


def _word_pattern(word: str) -> str:
    # A word begins after a character that is not a letter, or with a capital letter in a name.
    is_plain = word[0].isascii() and word[0].isalpha()
    return f"{_BEGINS if is_plain else ''}(?i:{re.escape(word)})"


# --- the lines of passages ---------------------------------------------------------------------------


_LINES, _FURTHER = 7, 3
"""The number of lines shown of a result, and of a further passage of the same file."""
_MARKED = re.compile("<mark>([^<]*)</mark>")


@frozen
class CodeLine:
    number: int
    """The 1-based number of the line."""
    markup: Markup
    is_marked: bool = False
    is_after_gap: bool = False
    """Whether lines above it are left out."""


def matched_line(line: protocol.MatchedLine) -> CodeLine:
    """Return the line of a result that matches best, with the words of the query in `<mark>`."""
    parts = [
        Markup("<mark>{}</mark>").format(text) if is_mark else escape(text) for text, is_mark in pieces(line)
    ]
    return CodeLine(line.line + 1, Markup("").join(parts))


def result_lines(result: protocol.SearchResult, text: ResultText) -> tuple[CodeLine, ...]:
    """Return the lines of a result that match best. The best ones are marked, or those with several words."""
    return _shown(text.parts(_LINES), text.text, result.snippet, result)


def passage_lines(
    passage: protocol.FilePassage, text: FurtherPassage, result: protocol.SearchResult
) -> tuple[CodeLine, ...]:
    """Return the lines that match best of a further passage of a result's file."""
    return _shown(text.text.parts(_FURTHER), text.text, passage.text, result)


def _shown(
    parts: Sequence[Part], text: Lines, source: str, result: protocol.SearchResult
) -> tuple[CodeLine, ...]:
    shown = [number for first, lines in parts for number in range(first, first + len(lines))]
    most = max(shown, default=0) - text.first + 1
    coloured = partial(code_lines, language=result.language, path=result.path, terms=text.terms)
    markup = dict(enumerate(coloured(source, most=max(0, most)), text.first))
    if text.head_above is not None:
        number, head = text.head_above
        markup |= enumerate(coloured(head[0]), number)
    shown = [number for number in shown if number in markup]
    start, end = text.best or (0, 0)
    best = {number for number in shown if start <= number - text.first < end}
    matching = _matching([markup[number] for number in shown])
    marks = best if 0 < len(best) < len(shown) else {shown[place] for place in matching}
    return tuple(
        CodeLine(number, markup[number], number in marks, number > shown[0] and number - 1 not in shown)
        for number in shown
    )


def all_lines(text: str, start: int, language: str, path: str) -> tuple[CodeLine, ...]:
    """Return all lines of a text that begins at the 0-based line `start`."""
    lines = code_lines(text, language, path)
    return tuple(CodeLine(start + n + 1, line) for n, line in enumerate(lines))


def _matching(markup: Sequence[Markup]) -> set[int]:
    """Return the lines with several words of the query, or else those with one."""
    words = [len({word.lower() for word in _MARKED.findall(line)}) for line in markup]
    enough = min(2, max(words, default=0))
    return {n for n, count in enumerate(words) if count >= enough > 0}
