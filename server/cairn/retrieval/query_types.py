"""What kind of answer a question wants."""

from __future__ import annotations

import enum
import re


class QueryType(enum.StrEnum):
    """What is wanted."""

    SYMBOL = "symbol"
    BUG_FIX = "bugFix"
    IMPLEMENTATION = "implementation"
    EXPLANATION = "explanation"
    LOCATION = "location"
    OPTIMISATION = "optimisation"


_TYPES = {
    QueryType.BUG_FIX: re.compile(
        r"^fix\b|\bbugs?\b|\berrors?\b|\w(?:error|exception):|\bcrash\w*|\bexception when\b|\bfails?\b|\bbroken\b"
        r"|\b(?:does|do|did|is|are)(?: not|n['’]t) work|\bissues? with\b|^(?:debug|troubleshoot)\b"
    ),
    QueryType.IMPLEMENTATION: re.compile(r"^(?:implement\w*|add|create)\b"),
    QueryType.LOCATION: re.compile(r"^(?:where|which|find|locate)\b"),
    QueryType.OPTIMISATION: re.compile(r"\boptimi[sz]\w*|\bimprove\b|\bfaster\b|\bslow\b|\bspeed up\b"),
    QueryType.EXPLANATION: re.compile(r"^(?:how|what|why|explain|describe|overview)\b"),
}
"""How questions of each type are worded, in English. The first that matches decides."""

_NAME = re.compile(
    r"""[@$&.]{0,2}[^\W\d][\w$]*                # a name, with what some languages write before it
        (?:(?:::|\.|\#|->|/|\\|-|:)[\w$]+)*     # qualified, or of several words
        [!?]?(?:<[\w\s,:<>]*>)?(?:\(\))?        # as it is called, with the types it is made for""",
    re.VERBOSE,
)
_QUALIFIERS = re.compile(r"::|->|[.:#/\\]")


def is_name(text: str) -> bool:
    """Whether `text` is one identifier or qualified name, also `name()`."""
    return bool(_NAME.fullmatch(text))


def own_name(text: str) -> str:
    """The last part of a qualified name: `Router::add_route()` → `add_route`."""
    return re.sub(r"[!?]?(?:<.*)?(?:\(\))?$", "", _QUALIFIERS.split(text)[-1]).lstrip("@$&")


def query_type(text: str) -> QueryType:
    """The type of a question that is more than a name; a location is asked for unless something else shows."""
    lowered = text.strip().lower()
    return next((kind for kind, pattern in _TYPES.items() if pattern.search(lowered)), QueryType.LOCATION)
