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


_KINDS = {
    "struct": ("struct", "record"), "union": ("union",), "enum": ("enum",), "class": ("class", "struct", "record"),
    "interface": ("interface", "protocol", "trait"), "trait": ("trait",), "protocol": ("protocol", "interface"),
    "type": ("type", "class", "struct", "interface", "enum", "union"), "typedef": ("type", "struct", "union", "enum"),
    "macro": ("macro", "constant"), "#define": ("macro", "constant"), "function": ("function", "method"),
    "func": ("function", "method"), "fn": ("function", "method"), "def": ("function", "method"),
    "method": ("method", "function"), "constant": ("constant", "variable"), "const": ("constant", "variable"),
}  # fmt: skip
"""What people write before a name, and the kinds of definitions that they mean."""
_WORDS_AS_WELL = frozenset({"struct", "union", "enum", "typedef", "#define"})
"""Those before which a plain word is a name, too, but for a plural: "struct page", but not "struct fields" nor "class diagram"."""
_NAMED = re.compile(
    rf"""(?:(?:where|what)\ is\ |(?:find|show)\ |(?:the\ )?(?:definition|declaration)\ of\ )?(?:the\ )?
        (?P<kind>{"|".join(map(re.escape, _KINDS))})\s+(?P<name>[@$]?[^\W\d]\w*(?:(?:::|\.|\#)\w+)*)(?:\(\))?
        (?:\ (?:is\ )?(?:defined|declared|definition|declaration))?\s*[?.]?""",
    re.VERBOSE,
)
_TELLING = re.compile(r"\w_\w|[a-z\d][A-Z]|[A-Z]{2}|^[A-Z]|\w[.:#]|\d")


def named_kind(text: str) -> tuple[str, tuple[str, ...]]:
    """The name that is asked for together with its kind, as in `struct inode`, and the kinds that are meant; else "" and ()."""
    found = _NAMED.fullmatch(text.strip())
    if found is None:
        return "", ()
    may_be_plain = found["kind"] in _WORDS_AS_WELL and not found["name"].endswith("s")
    if not (may_be_plain or _TELLING.search(found["name"])):
        return "", ()
    return found["name"], _KINDS[found["kind"]]


def own_name(text: str) -> str:
    """The last part of a qualified name: `Router::add_route()` → `add_route`."""
    return re.sub(r"[!?]?(?:<.*)?(?:\(\))?$", "", _QUALIFIERS.split(text)[-1]).lstrip("@$&")


def owner_name(text: str) -> str:
    """The part of a qualified name before the last: `net.Router::add_route` → `Router`; "" where there is none."""
    parts = _QUALIFIERS.split(text)
    return parts[-2].lstrip("@$&") if len(parts) > 1 else ""


def query_type(text: str) -> QueryType:
    """The type of a question that is more than a name; a location is asked for unless something else shows."""
    lowered = text.strip().lower()
    return next((kind for kind, pattern in _TYPES.items() if pattern.search(lowered)), QueryType.LOCATION)
