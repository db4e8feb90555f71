"""Reduce comments to plain text: remove their marks, licence headers and directives to tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from cairn.text.verbatim import lines_of

# The marks that open, continue or close a comment at either end of a line, in all languages with a grammar.
_OPENERS = re.compile(
    r"""^\s*(?:
        /\*+!? | \*+/ | \*(?=\s|$) | //[/!]* | \#+[!'|:]?(?=\s|$) | \#(?=\w) | --+(?:[ ]?[|^])? | ;+ | %+ |
        \(\*+ | \{-[|]? | <!--+ | <\# | =begin\b | =end\b |
        @(?:module|type|short)?doc\b\s*(?:~[sS])? | [rRuUbBfF]{0,2}(?=\"\"\"|''')
    )\s?""",
    re.VERBOSE,
)
_CLOSERS = re.compile(r"(?:\*+/|\*+\)|-\}|--+>|\#>)$")
_LAST_OF_CLOSERS = ("/", ")", "}", ">")
_FIRST_OF_OPENERS = frozenset("/*#-;%({<=@\"'rRuUbBfF")
_QUOTES = re.compile(r"^\s*(?:\"\"\"|'''|\"|')|(?:\"\"\"|'''|\"|')\s*$")
_RULER = re.compile(r"^[\s=\-*#~_/+.:<>|]{3,}$")
_XML_TAG = re.compile(
    r"</?(?:summary|remarks|param|returns|para|c|code|see|value|typeparam|inheritdoc|example)\b[^>]*>"
)

_LICENCE = re.compile(
    r"""copyright\b | © | \(c\)\s*(?:19|20)\d\d | spdx- | all\s+rights\s+reserved | permission\s+is\s+hereby |
        \blicen[sc]ed?\s+(?:under|to\s+you|file|agreement|is|at) | see\s+.{0,40}licen[sc]e | @licen[sc]e |
        \b(?:mit|bsd|apache|gnu|mozilla)\b.{0,20}\blicen[sc]e | permission\s+notice | warrant(?:y|ies) |
        redistribut | free\s+software | licenses/LICENSE-2 | general\s+public\s+license |
        found\s+in\s+the\s+LICENSE""",
    re.VERBOSE | re.IGNORECASE,
)
_DIRECTIVE = re.compile(
    r"""^\s*(?:
        \#?!/ | -\*-.*-\*- | coding[:=] | vim?: | eslint | jshint | jslint | prettier- | @ts- | ts- |
        istanbul | c8\s | pylint: | noqa | type:\s*ignore | mypy: | pyright: | ruff: | flake8: | fmt: |
        isort: | yapf: | pragma:? | rubocop: | frozen_string_literal: | typed: | swiftlint: | nolint | go:\w |
        \+build | lint: | ktlint | shellcheck | cspell | clang-format | NOLINT | @flow | @jsx | @format |
        use\s+strict | region\b | endregion\b
    )""",
    re.VERBOSE,
)

# The maximum numbers of characters to read of a comment and of each line. A licence may precede the text of a
# header.
_RAW_LIMIT = 20_000
_LINE_LIMIT = 1000
_LICENCE_SHARE = 0.2
# The maximum number of characters to keep of a comment, about 150 tokens. This is more than is embedded, and
# enough for evidence and ranking.
COMMENT_LIMIT = 600


def is_licence(text: str) -> bool:
    """Return whether most of a text is about its licence."""
    lines = [line for line in text.splitlines() if line.strip()]
    return (
        bool(lines)
        and _LICENCE.search(text) is not None
        and (sum(1 for line in lines if _LICENCE.search(line)) >= _LICENCE_SHARE * len(lines))
    )


def comment_text(raw: str, *, is_header: bool = False) -> str:
    """Return the words of the comment or docstring `raw`, line by line, at most `COMMENT_LIMIT` characters.
    For a file's header (`is_header`), paragraphs of licence text are left out."""
    texts: list[str] = []
    size = 0
    for has_text, lines in groupby(_unmarked(raw), key=bool):
        paragraph = list(lines)
        if not has_text or (is_header and _LICENCE.search(" ".join(paragraph))):
            continue
        texts.append("\n".join(paragraph))
        size += len(texts[-1]) + 2
        if size > COMMENT_LIMIT + 2:
            # The rest would be cut off anyway.
            break
    return shortened("\n\n".join(texts), COMMENT_LIMIT)


def shortened(text: str, limit: int) -> str:
    """Return `text`, cut at a space if it has more than `limit` characters."""
    if len(text) <= limit:
        return text
    cut = max(text.rfind(" ", 0, limit), text.rfind("\n", 0, limit))
    return text[: cut if cut > limit // 2 else limit].rstrip()


def _unmarked(raw: str) -> Iterator[str]:
    for line in lines_of(raw[:_RAW_LIMIT]):
        # Most lines match no pattern, and testing for a character is faster than running a pattern.
        line = line[:_LINE_LIMIT].strip()
        if line[:1] in _FIRST_OF_OPENERS:
            line = _OPENERS.sub("", line, count=1)
        if line.endswith(_LAST_OF_CLOSERS):
            line = _CLOSERS.sub("", line)
        if '"' in line or "'" in line:
            line = _QUOTES.sub("", line)
        if "<" in line:
            line = _XML_TAG.sub("", line)
        line = line.strip()
        yield "" if _DIRECTIVE.match(line) or _RULER.match(line) else line
