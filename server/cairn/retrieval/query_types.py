"""Classify queries by the kind of answer they want."""

from __future__ import annotations

import enum
import re


class QueryType(enum.StrEnum):
    SYMBOL = "symbol"
    BUG_FIX = "bugFix"
    IMPLEMENTATION = "implementation"
    EXPLANATION = "explanation"
    LOCATION = "location"
    OPTIMISATION = "optimisation"


_TYPES = {
    QueryType.BUG_FIX: re.compile(
        r"^fix\b|\bbugs?\b|\berrors?\b|\w(?:error|exception):|\bcrash\w*|\bexception when\b|\bfails?\b|\bbroken\b"  # noqa: E501
        r"|\b(?:does|do|did|is|are)(?: not|n['’]t) work|\bissues? with\b|^(?:debug|troubleshoot)\b"
    ),
    QueryType.IMPLEMENTATION: re.compile(r"^(?:implement\w*|add|create)\b"),
    QueryType.LOCATION: re.compile(r"^(?:where|which|find|locate)\b"),
    QueryType.OPTIMISATION: re.compile(r"\boptimi[sz]\w*|\bimprove\b|\bfaster\b|\bslow\b|\bspeed up\b"),
    QueryType.EXPLANATION: re.compile(r"^(?:how|what|why|explain|describe|overview)\b"),
}

_NAME = re.compile(
    r"""[@$&.]{0,2}[^\W\d][\w$]*                # a name with its sigil
        (?:(?:::|\.|\#|->|/|\\|-|:)[\w$]+)*     # qualified, or of several words
        [!?]?(?:<[\w\s,:<>]*>)?(?:\(\))?        # with type arguments, or called""",
    re.VERBOSE,
)
_QUALIFIERS = re.compile(r"::|->|[.:#/\\]")


def is_name(text: str) -> bool:
    """Return whether `text` is one identifier or qualified name. It may end with `()`."""
    return bool(_NAME.fullmatch(text))


_KINDS = {
    "struct": ("struct", "record"), "union": ("union",), "enum": ("enum",), "class": ("class", "struct", "record"),  # noqa: E501
    "interface": ("interface", "protocol", "trait"), "trait": ("trait",), "protocol": ("protocol", "interface"),  # noqa: E501
    "type": ("type", "class", "struct", "interface", "enum", "union"), "typedef": ("type", "struct", "union", "enum"),  # noqa: E501
    "macro": ("macro", "constant"), "#define": ("macro", "constant"), "function": ("function", "method"),
    "func": ("function", "method"), "fn": ("function", "method"), "def": ("function", "method"),
    "method": ("method", "function"), "constant": ("constant", "variable"), "const": ("constant", "variable"),
}  # fmt: skip
"""The words that users write before a name, and the kinds of definitions that each means."""
_KINDS_OF_PLAIN_WORDS = frozenset({"struct", "union", "enum", "typedef", "#define"})
"""Words after which the name may be a plain singular word: "struct page", but not "class diagram"."""
_NAMED = re.compile(
    rf"""(?:(?:where|what)\ is\ |(?:find|show)\ |(?:the\ )?(?:definition|declaration)\ of\ )?(?:the\ )?
        (?P<kind>{"|".join(map(re.escape, _KINDS))})\s+(?P<name>[@$]?[^\W\d]\w*(?:(?:::|\.|\#)\w+)*)(?:\(\))?
        (?:\ (?:is\ )?(?:defined|declared|definition|declaration))?\s*[?.]?""",
    re.VERBOSE,
)
_LIKE_A_NAME = re.compile(r"\w_\w|[a-z\d][A-Z]|[A-Z]{2}|^[A-Z]|\w[.:#]|\d")


def named_kind(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the name and the kinds of definitions in a query like `struct inode`, or "" and ()."""
    found = _NAMED.fullmatch(text.strip())
    if found is None:
        return "", ()
    may_be_plain = found["kind"] in _KINDS_OF_PLAIN_WORDS and not found["name"].endswith("s")
    if not (may_be_plain or _LIKE_A_NAME.search(found["name"])):
        return "", ()
    return found["name"], _KINDS[found["kind"]]


def own_name(text: str) -> str:
    """Return the last part of a qualified name: `Router::add_route()` → `add_route`."""
    return re.sub(r"[!?]?(?:<.*)?(?:\(\))?$", "", _QUALIFIERS.split(text)[-1]).lstrip("@$&")


def owner_name(text: str) -> str:
    """Return the part before the last in a qualified name: `net.Router::add_route` → `Router`; else ""."""
    parts = _QUALIFIERS.split(text)
    return parts[-2].lstrip("@$&") if len(parts) > 1 else ""


def query_type(text: str) -> QueryType:
    """Return the type of a query that is more than a name; LOCATION by default."""
    lowered = text.strip().lower()
    return next((kind for kind, pattern in _TYPES.items() if pattern.search(lowered)), QueryType.LOCATION)
