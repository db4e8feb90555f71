"""Highlights source code as lines of HTML with Pygments, which knows 500 languages and is installed for rich.

Only this module builds markup without a template. All text passes through `escape`.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.lexers.special import TextLexer
from pygments.token import STANDARD_TYPES, _TokenType
from pygments.util import ClassNotFound

MOST_COLOURED = 200_000
"""The maximum length of a highlighted text in characters: Pygments takes about a second per million."""
_ALIASES = {
    "csharp": "csharp",
    "objc": "objective-c",
    "jsx": "jsx",
    "tsx": "tsx",
    "vimdoc": "text",
    "proto": "protobuf",
    "requirements": "text",
    "gitignore": "text",
}
"""Pygments' names of languages by Cairn's names, where they differ."""
_COLOURED = re.compile(r"k.?|c[^s].?|c|s.?|m.?|g[ehsu]|n[abcdefot]|bp|fm|il|ld|dl|ow")
"""The classes that have a colour in base.css. Half of all tokens, such as names, have none."""
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


def line_count(text: str) -> int:
    text = _with_plain_ends(text)
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def streamed_lines(
    text: str, language: str, path: str, terms: Sequence[str] = (), most: int | None = None
) -> Iterator[Markup]:
    """Yield the lines that `code_lines` returns, so that the first can be sent before the rest is
    highlighted. Lines after the first `most` may be incomplete or missing."""
    if len(text) <= _MOST_CACHED_CHARACTERS:
        return _lines(_cached_tokens(text, language, path, most), terms)
    return _lines(_tokens(text, language, path), terms)


@functools.lru_cache(_CACHED_TEXTS)
def _cached_tokens(text: str, language: str, path: str, most: int | None) -> tuple[tuple[str, str], ...]:
    """Return the tokens of the first `most` lines. Marks are added later, since they change during typing."""
    tokens, ends = [], 0
    for token in _tokens(text, language, path):
        tokens.append(token)
        ends += token[1].count("\n")
        if most is not None and ends >= most:
            break
    return tuple(tokens)


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


def _tokens(text: str, language: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield the class and the text of each token."""
    lexer = _lexer(language, path.rpartition("/")[2]) if len(text) <= MOST_COLOURED else TextLexer()
    # `get_tokens` would strip lines and expand tabs.
    for _, kind, value in lexer.get_tokens_unprocessed(_with_plain_ends(text)):
        yield _class(kind), value


def _with_plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@functools.lru_cache(256)
def _lexer(language: str, name: str) -> Lexer:
    with suppress(ClassNotFound):
        return get_lexer_by_name(_ALIASES.get(language, language))
    with suppress(ClassNotFound):
        return get_lexer_for_filename(name)
    return TextLexer()


@functools.lru_cache(1024)
def _class(kind: _TokenType) -> str:
    """Return the CSS class of a kind of token or its nearest ancestor; "" for a class without a colour."""
    while kind not in STANDARD_TYPES and kind.parent is not None:
        kind = kind.parent
    name = STANDARD_TYPES.get(kind, "")
    return name if _COLOURED.fullmatch(name) else ""


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
