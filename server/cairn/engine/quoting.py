"""Turns a query for which nothing matched into a quote, if a text contains it as it was typed."""

from __future__ import annotations

from contextlib import suppress

from cairn import protocol
from cairn.engine.request import Request
from cairn.errors import CairnError
from cairn.index.reader.exact import Literal
from cairn.index.reader.filters import ChunkFilter
from cairn.index.store.deadline import Deadline, check_end, query_end
from cairn.retrieval.mentions import MAX_LITERAL_CHARS
from cairn.retrieval.verdict import Action
from cairn.retrieval.wording import is_common
from cairn.settings.tree import Leg
from cairn.text.words import LIGHT_WORDS, is_stopword

_EDGES = " \t?!.,;:。，、；：？！…"
"""The punctuation around a query that its place in a text need not have."""


def as_quote(request: Request, text: str, verdict: protocol.Verdict, only: ChunkFilter) -> str:
    """Return the query in quotation marks if nothing matched, but a chunk that passes `only` contains it in
    whole words; else "". One common English word, or only function words, would be in nearly every text."""
    settings, text = request.settings.search, text.strip(_EDGES)
    may_be_quoted = len(text) <= MAX_LITERAL_CHARS and not set(text) & set("”\n\r") and _is_specific(text)
    if verdict.action != Action.NO_MATCH or Leg.EXACT not in settings.legs or not may_be_quoted:
        return ""
    literal, deadline = Literal(text, word=True), Deadline(query_end(), settings.leg_deadline_ms)
    for reader in request.readers:
        with suppress(CairnError):  # The search itself reports the error.
            if reader.containing(literal, 1, only, deadline).hits:
                return f"“{text}”"
        check_end()
    return ""


def _is_specific(text: str) -> bool:
    words = [word.strip(_EDGES) for word in text.lower().split()]
    named = [word for word in words if any(map(str.isalnum, word))]
    content = [word for word in named if not is_stopword(word) and word not in LIGHT_WORDS]
    return len(content) > 1 or any(not word.isascii() or not is_common(word) for word in content)
