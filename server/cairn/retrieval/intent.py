"""Decide whether documents or code answer a question. This one rule serves READMEs and all other documents.

Undemoted documents crowd out code with the same words. If documents were always demoted, "how do I install
it" would be answered by a source file. So documents are demoted unless the wording asks for them, and a
README comes first if the question is about a whole project (docs/ranking.md).
"""

from __future__ import annotations

import enum
import re

from cairn.retrieval.introductions import asks_about_whole, subject_of
from cairn.retrieval.query import Query
from cairn.retrieval.question_kinds import QueryType, question_kinds
from cairn.text.words import stem


class Readme(enum.Enum):
    """The treatment of a README among the evidence."""

    FIRST = "first"
    RAISED = "raised"
    AS_IT_IS = "as it is"


class Documents(enum.Enum):
    """The treatment of documents beside code."""

    WELCOME = "welcome"
    EQUAL = "equal"
    PENALISED = "penalised"


_OVERVIEW_TERMS = 1
"""The maximum number of terms in a request to explain a whole, such as "explain flask"."""
_MOST_TERMS = 2
"""The maximum number of terms in a "what is …" overview question. Longer ones may ask for a difference."""
_ASKS_WHAT = re.compile(r"\s*(?:what|who)\b", re.IGNORECASE)
_EXPLICIT_LOCATION = re.compile(r"^(?:where|which|find|locate)", re.IGNORECASE)
_IN_CODE = frozenset({QueryType.SYMBOL, QueryType.BUG_FIX})


_ABOUT_DOCUMENTS = frozenset(
    stem(word)
    for word in (
        "documentation docs guide readme tutorial changelog changes release install installation contributing license"  # noqa: E501
    ).split()
)


def readme_of(query: Query) -> Readme:
    explains = query.type is QueryType.EXPLANATION
    asks_what = _ASKS_WHAT.match(query.wording) is not None
    is_whole = asks_about_whole(query.wording) and (len(query.terms) <= _MOST_TERMS or not asks_what)
    if question_kinds(query.wording):
        return Readme.RAISED if explains else Readme.AS_IT_IS
    if subject_of(query.wording) and len(query.terms) <= _MOST_TERMS:
        return Readme.FIRST
    if is_whole or (explains and len(query.terms) <= _OVERVIEW_TERMS):
        return Readme.FIRST
    return Readme.RAISED if explains else Readme.AS_IT_IS


def documents_of(query: Query) -> Documents:
    """Return how documents rank beside code for the query. Evidence consists of passages to quote, and
    documents have these as well as code; a search finds places to open."""
    if asks_about_whole(query.wording) or _FOR_USERS.search(query.wording.strip()):
        return Documents.WELCOME
    is_evidence = (
        query.for_evidence and query.type not in _IN_CODE and not _EXPLICIT_LOCATION.match(query.wording)
    )
    # Code seldom has words of the scripts without spaces.
    if is_evidence or query.has_own_script or not _ABOUT_DOCUMENTS.isdisjoint(query.stems):
        return Documents.EQUAL
    return Documents.PENALISED


_FOR_USERS = re.compile(
    r"""^how\ (?:do|can|should|would|could)\ (?:i|we|you|one)\b | ^how\ to\b | ^when\ (?:to|should)\b |
        ^(?:should|can|may|must|could)\ (?:i|we|you|one|an?|the)\b |
        ^why\b | \bdifference\ between\b | \bwhen\ to\ use\b | ^what\ .*\bfor\b | ^what\ does\b |
        \btutorials?\b | \bchange\ ?logs?\b | \brelease\ notes?\b | \bwhat'?s\ new\b | \bfaq\b | \breadme\b | \bguides?\b |
        \bupgrading\b | \bupgrade\ (?:from|to)\b | \bmigrat(?:e|es|ing|ion)\ (?:from|to)\b | \bbreaking\ changes?\b |
        \b(?:backwards?|not)[- ](?:in)?compatible\b | \bdeprecated\b | \bwhat\ (?:happened|changed)\b |
        \bin\ (?:version\ )?v?\d+\.\d+ | \bcontribut(?:e|ing)\b | \breport(?:ing)?\ (?:a\ )?bugs?\b | \bpull\ requests?\b""",  # noqa: E501
    re.VERBOSE | re.IGNORECASE,
)
