"""Lay out excerpts and named places as text for a reader or a language model, in as few tokens as they need.

A path stands once for all its lines. The indentation that all lines of an excerpt share is cut. Line numbers
stand at the first line of an excerpt and at each fifth, so that the others can be counted: with a
number on each line, fewer lines fit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from textwrap import dedent
from typing import Any, TypeVar

from cairn.protocol.discovery_messages import Excerpt, NamedPlace
from cairn.settings.discovery import FormatStyle, PromptRenderConfig
from cairn.text.verbatim import lines_of

MARK = "=== "
"""Begins the line of a path in plain text. A `#` would look like a heading of the file above."""
OMITTED = "…"
"""Stands between two excerpts of a file, before the name of the definition that the second is in."""
MORE = "More on request"
"""The heading of named places."""
_PLACES_SHARE = 0.5
"""The maximum share of a budget for named places."""
_MOST_FOR_PLACES = 800
"""The maximum number of tokens for named places."""
_NUMBERED = 5
"""Each line whose number is a multiple of this has its number."""
_LEAST_WIDTH = 4
"""The minimum width of the numbers' column. With one width, an excerpt takes the same room in any file."""
LEAST_KNOWN = 3
"""The minimum number of lines that are left out because the reader has them: a mark in their place costs as
many tokens as two."""
_OWNED = re.compile(r"(\S+)((?:::|[.#:])[^\s.#:]+)")
"""Matches the name of a definition: the names of its owners, and the last one with its separator."""
_FENCE = re.compile(r"^\s*(`{3,})", re.MULTILINE)

T = TypeVar("T", Excerpt, NamedPlace)
PathOf = Callable[[Excerpt | NamedPlace], str]
"""Returns the path of an excerpt or a place as a text writes it."""


def path_of(place: Excerpt | NamedPlace) -> str:
    return place.path


def by_file(places: Sequence[T]) -> Iterator[list[T]]:
    """Yield the excerpts or places of each file. Those of one file must be consecutive."""
    for _, of_file in groupby(places, key=lambda each: each.uri):
        yield list(of_file)


def file_text(excerpts: Sequence[Excerpt], config: PromptRenderConfig, path: PathOf = path_of) -> str:
    """Return the excerpts of one file, in the order of its lines, below its path."""
    if config.format_style is FormatStyle.JSON:
        return json.dumps(file_data(excerpts, config), ensure_ascii=False) + ", "
    body = "\n".join(_body(excerpts, config))
    if config.format_style is FormatStyle.PLAIN:
        return f"{MARK}{path(excerpts[0])}\n{body}\n"
    fence = fence_for(body)
    return f"### {path(excerpts[0])}\n{fence}{excerpts[0].language}\n{body}\n{fence}\n"


def head_text(excerpt: Excerpt, config: PromptRenderConfig) -> str:
    """Return what `file_text` has besides the lines of a file's excerpts."""
    if config.format_style is FormatStyle.JSON:
        return json.dumps(file_data([excerpt], config) | {"excerpts": []}, ensure_ascii=False) + ", "
    if config.format_style is FormatStyle.PLAIN:
        return f"{MARK}{excerpt.path}\n"
    return f"### {excerpt.path}\n```{excerpt.language}\n```\n"


def file_data(excerpts: Sequence[Excerpt], config: PromptRenderConfig) -> dict[str, Any]:
    """Return the same as data for JSON."""
    return {
        "path": excerpts[0].path,
        "language": excerpts[0].language,
        "excerpts": [_data(excerpt, config) for excerpt in excerpts],
    }


def tokens_for_places(tokens: int) -> int:
    """Return how many of a budget's tokens are for named places."""
    return min(int(_PLACES_SHARE * tokens), _MOST_FOR_PLACES)


def places_text(places: Sequence[NamedPlace], path: PathOf = path_of) -> list[str]:
    """Return the places of each file: a single one on one line, several below the path.

    Paths, and the names of owners, take most of the room. So a path is as short as `read` accepts it, and the
    owner of several places in a row is named once.
    """
    texts = []
    for here in by_file(places):
        lines = list(map(place_text, here, [None, *here]))
        first = here[0]
        name = first.short_path if first.short_path not in ("", first.path) else path(first)
        texts.append(f"{name}:{lines[0]}" if len(here) == 1 else "\n  ".join([name, *lines]))
    return texts


def place_text(place: NamedPlace, above: NamedPlace | None = None) -> str:
    """Return the lines and the name of a place, without its owner if that is also the owner of the place
    `above` in the same file."""
    first, last = place.range.start.line + 1, place.range.end.line
    owned, of_above = (_OWNED.fullmatch(each.title) if each else None for each in (place, above))
    is_same = owned and of_above and owned[1] == of_above[1]
    title = owned[2] if owned and is_same else place.title
    return f"{first}{f'-{last}' if last > first else ''} {title}"


def _data(excerpt: Excerpt, config: PromptRenderConfig) -> dict[str, Any]:
    data: dict[str, Any] = {"citation": excerpt.citation}
    if within := excerpt_name(excerpt):
        data["within"] = within
    if config.include_metadata:
        data |= {"reason": excerpt.reason, "score": round(excerpt.score, 2)}
    return data | {"text": dedent(excerpt.text)}


def _body(excerpts: Sequence[Excerpt], config: PromptRenderConfig) -> Iterator[str]:
    width = max(_LEAST_WIDTH, len(str(excerpts[-1].range.end.line)))
    for place, excerpt in enumerate(excerpts):
        # The first one follows the path, but another would seem to be in the definition above it.
        about = excerpt_name(excerpt) if place or excerpt.symbol not in excerpt.text else ""
        if config.include_metadata:
            about = f"{about} ({excerpt.reason}, score {excerpt.score:.2f})".lstrip()
        if place or about:
            yield f"{OMITTED} {about}".rstrip()
        yield from numbered_lines(excerpt.range.start.line + 1, lines_of(dedent(excerpt.text)), width)


def numbered_lines(first: int, lines: Sequence[str], width: int = _LEAST_WIDTH) -> Iterator[str]:
    """Yield the lines, the first one and each fifth after its number, in columns of `width` characters."""
    for number, line in enumerate(lines, first):
        shown = number if number == first or number % _NUMBERED == 0 else ""
        yield f"{shown:>{width}} {line}".rstrip()


def excerpt_name(excerpt: Excerpt) -> str:
    """Return the name of the definition that contains the excerpt, such as `Berth.leave`; "" if none does."""
    return excerpt.header_path.replace(" > ", ".") if excerpt.symbol else ""


def fence_for(text: str) -> str:
    """Return a fence with more backticks than any line of `text` that could close it."""
    runs = [len(match) for match in _FENCE.findall(text)] if "```" in text else []
    return "`" * max([3, *(run + 1 for run in runs)])
