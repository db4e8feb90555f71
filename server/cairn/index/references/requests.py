"""Requests to a route: lines of any language with a path that fits the route's pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from attrs import frozen

from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.reader.index_reader import IndexReader
from cairn.index.references.frameworks import Entry, routed
from cairn.text.verbatim import starts_with_mark

WHOLE, PART = 0.6, 0.4
"""The confidence of a request whose whole path fits the pattern, and of one whose end fits. The prefix may be
written where the route is mounted, or in the settings of the client."""
_MOST_CHUNKS = 1_500
_LITERAL = re.compile(
    r"(?P<quote>[\"'`])(?P<text>(?:\$\{[^}]*\}|#\{[^}]*\}|(?!(?P=quote)).){1,300})(?P=quote)"
)
_REQUEST = re.compile(
    r"\b(?:\$?fetch|\w*[aA]xios\w*|ajax|ky|got|superagent|curl|\w*(?:[rR]equest|[hH]ttp|[cC]lient|Api|API)\w*"
    r"|api|session|service|useSWR|useQuery|useFetch|redirect(?:_to)?|navigate|visit|[rR]estTemplate)"
    r"\s*(?:<[^>]*>)?\s*(?:\(\w*\))?\s*[.(]"
    r"|\b(?:url|uri|URL|href|action|hx-\w+|endpoint)\s*[:=]"
    r"|\.(?:get|post|put|patch|delete|head|[gG]etForObject|postForObject|uri|(?:Get|Post|Put|Patch|Delete)\w*)"
    r"\s*(?:<[^>]*>)?\s*\("
    r"|\b(?:get|post|put|patch|delete|del)\s*(?:<[^>]*>)?\(\s*\Z"
)
"""Code that requests a path, or gives it to what does."""
_VERB = re.compile(
    r"\b(get|post|put|patch|delete|head)\s*(?:<[^>]*>)?\s*\((?=\s*[\"'`])|\.(get|post|put|patch|delete|head)\b(?!Item)|\.(?:get|post|put|patch|delete|head)ForObject"
    r"|\.(Get|Post|Put|Patch|Delete)(?:Async|AsJsonAsync|FromJsonAsync|StringAsync)?\b"
    r"|\b(?:method|type)\s*[:=]\s*[\"'](\w+)|[\"'](GET|POST|PUT|PATCH|DELETE)[\"']|\bHttpMethod\.(\w+)"
)
_HOST = re.compile(r"(?:https?:)?//[^/]+|\A(?:\$\{[^}]*\}|\{[^}]*\}|%s|#\{[^}]*\})(?=/)")
_ELSEWHERE = re.compile(r"https?://(?!localhost|127\.|0\.0|\[|[$#{%])")
"""A host that is probably another service."""
_VARIABLE = re.compile(
    r"\$\{[^}]*\}|#\{[^}]*\}|<[^>]*>|\{[^}]*\}|\[[^\]]*\]|\(\?P?<[^)]*\)|%[sd]|\(:\w+\)|[:*$]\w*|\([^)]*\)|@\w+"
)
_HANDLED = re.compile(r"\s*,\s*[^\"'`{\s]|.*\b(?:do|to:|view_func)\b|\s*\)\s*(?:\{|\]|$)|\s*=>")
"""What follows the path where a route is defined: a handler, a block, a mark's end."""
_ANY = "*"


@frozen
class Request:
    chunk: int
    line: int
    character: int
    text: str
    confidence: float


def requests(reader: IndexReader, route: Entry) -> list[Request]:
    """Return the lines that request a route; none for a route without a fixed word in its path."""
    wanted = segments(route.path)
    fixed = [each for each in wanted if each != _ANY]
    if not fixed:
        return []
    word = max(fixed, key=len)
    proposed = reader.proposed([Literal(word, word=True)], ChunkFilter()).tolist()
    found = []
    for chunk, start, text in islice(reader.chunk_texts(proposed[:_MOST_CHUNKS]), _MOST_CHUNKS):
        if f"/{word}".lower() in text.lower():
            found += [
                Request(chunk, start + row, character, fitting, confidence)
                for row, character, fitting, confidence in _in_text(text, route.method, wanted)
            ]
    return found


def _in_text(text: str, method: str, wanted: Sequence[str]) -> Iterator[tuple[int, int, str, float]]:
    lines = text.split("\n")
    for row, line in enumerate(lines):
        for literal in _LITERAL.finditer(line) if "/" in line else ():
            confidence = fit(literal["text"], wanted)
            if not confidence or (routed(line) is not None and _HANDLED.search(line, literal.end())):
                continue
            before = " ".join(lines[max(0, row - 2) : row])
            if starts_with_mark(line.strip()) or not _REQUEST.search(f"{before} {line[: literal.start()]}"):
                continue
            around = " ".join(lines[max(0, row - 2) : row + 4])
            asked = _method(line, around)
            if asked and method and asked != method:
                continue
            yield row, literal.start("text"), literal["text"], confidence


def _method(line: str, around: str) -> str:
    """Return the method of a request in capitals; "" if it is not written."""
    found = _VERB.search(line) or _VERB.search(around)
    if found is None:
        return "GET" if re.search(r"\bfetch\s*\(", line) else ""
    return next(filter(None, found.groups()), "").upper()


def fit(path: str, wanted: Sequence[str]) -> float:
    """Return how surely a path in a client means a pattern, given as segments; 0 if it does not."""
    if "/" not in path or " " in path.strip():
        return 0.0
    given = segments(path.partition("?")[0])
    size = min(len(given), len(wanted))
    if not size:
        return 0.0
    ends = given[-size:], wanted[-size:]
    same = [one for one, other in zip(*ends, strict=True) if one.lower() == other.lower() and one != _ANY]
    fits = all(one.lower() == other.lower() or _ANY in (one, other) for one, other in zip(*ends, strict=True))
    if not fits or not same:
        return 0.0
    if len(given) == len(wanted) and not _ELSEWHERE.match(path):
        return WHOLE
    return PART if len(given) > size or size > 1 else 0.0


def segments(path: str) -> list[str]:
    """Return the parts of a path or pattern, with `*` for each part that varies."""
    path = _HOST.sub("", path.strip().strip("^$"), count=1)
    # A variable can contain a slash: `<path:name>`, `${a / b}`.
    path = _VARIABLE.sub(_ANY, path)
    return [_ANY if _ANY in each else each for each in path.split("/") if each]
