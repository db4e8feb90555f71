"""Classify queries: by the type of answer they want (`QueryType`), which chooses the balance of words and
meaning, and by their wording (`QuestionKind`), which passage ranking uses. A question has one type, and may
be of several kinds ("which environment variable limits …"), or of none."""

from __future__ import annotations

import enum
import re
from functools import lru_cache


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


class QuestionKind(enum.StrEnum):
    ERROR = "error"
    """The meaning or origin of a message."""
    CONSTANT = "constant"
    """A number, a default, a limit."""
    CONFIG = "config"
    TESTS = "tests"
    CALLERS = "callers"
    FLOW = "flow"
    CHANGE = "change"
    """The places to edit to add or change something."""
    COMPARE = "compare"


_WORDING = {
    QuestionKind.CONSTANT: r"""\bhow\ (?:many|much|long|big|large|often|deep|high|small|old|far|wide)\b | \bdefaults?\b
        | \b(?:max(?:imum)?|min(?:imum)?|highest|lowest|largest|smallest|longest)\b | \bby\ default\b
        | \bwh(?:at|ich)\ (?:\w+\ ){0,3}(?:value|number|size|limit|timeout|interval|length|port|version|threshold)\b
        | \b(?:upper|lower)\ (?:bound|limit)\b | \bif\ I\ (?:configure|set|pass|specify|give)\ nothing\b""",  # noqa: E501
    QuestionKind.CONFIG: r"""\benv(?:ironment)?\ ?var(?:iable)?s?\b | \b(?:options?|settings?|flags?|switch(?:es)?|parameters?|keywords?)\b
        | \bopt\ (?:in|out)\b | \b(?:turn|switch)(?:ed|ing)?\ (?:\w+\ )?(?:on|off)\b
        | \b(?:dis|en)abl(?:e|ed|ing)\b | \bconfigur\w+""",  # noqa: E501
    QuestionKind.TESTS: r"""\b(?:which|what|where)\b.{0,20}\btests?\b | \btested\b | \btest\ (?:case|suite)s?\b
        | \btests?\ (?:for|of|that|which|check\w*|cover\w*|make|verif\w+|assert\w*|ensur\w+)\b""",  # noqa: E501
    QuestionKind.CALLERS: r"""\b(?:who|what|which|where)\b.{0,60}\b(?:calls?|invokes?|consults?|references?|call\ sites?)\b
        | \b(?:callers?|usages?|uses|call\ sites?)\ of\b | \bwhere\b.{0,40}\b(?:is|are)\b.{0,60}\b(?:called|used|invoked|consulted|referenced)\b
        | \b(?:who|what|which\ \w+)\ (?:\w+\ )?(?:uses?|depends?\ on|relies\ on|makes?\ use\ of)\b""",  # noqa: E501
    QuestionKind.FLOW: r"""\bstep\ by\ step\b | \bin\ (?:what|which)\ order\b | \bin\ order\b | \bwhat\ happens\b | \bsequence\ of\b
        | \b(?:life\ ?cycle|steps|stages|phases)\b | \bfrom\b.{3,60}\b(?:to|until|till)\b""",  # noqa: E501
    QuestionKind.CHANGE: r"""^(?:add|change|extend|implement|introduce|support)\b
        | \bwh(?:at|ich|ere)\b.{0,60}\b(?:change[ds]?|touch(?:ed)?|edit(?:ed)?|modif(?:y|ied)|adapt(?:ed)?|extend(?:ed)?|register(?:ed)?)\b
            (?=.{0,200}\b(?:add|new|another|one\ more|further|additional|support|also)\b)
        | \b(?:to|I)\ (?:add|introduce|support)\ (?:an?|another|one\ more|further|new|my\ own)\b""",  # noqa: E501
    QuestionKind.COMPARE: r"""\bdiffer(?:s|ent|ence|ences)?\b | \bversus\b | \bvs\b | \bcompar\w+ | \bunlike\b
        | \bas\ opposed\ to\b | \bin\ contrast\b | \brather\ than\b""",
}
# A repetition that may start anywhere is bounded, so that a long question takes only milliseconds.
_PATTERNS = {
    kind: re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.DOTALL) for kind, pattern in _WORDING.items()
}

_REPORTS_A_MESSAGE = re.compile(
    r"\b(?:error|exception|panic(?:s|ked)?|fail(?:s|ed|ure)?|warn(?:s|ing)?|messages?|traceback|abort(?:s|ed)?|crash(?:es|ed)?"
    r"|rais(?:es?|ed|ing)|throws?|reject(?:s|ed)?|complain(?:s|ed)?|says?|prints?|logs?|answers?|reports?|dies?|refus(?:es?|ed)|get)\b",
    re.IGNORECASE,
)
_COMPLAINT = re.compile(
    r"\b(?:not|no|cannot|can't|couldn't|don't|doesn't|must|should|invalid|missing|unknown|unexpected|failed|exceed(?:s|ed)"
    r"|unsupported|unable|already|illegal|bad|too|expected|refused|denied|without|error|only)\b",
    re.IGNORECASE,
)
_USER_VOICE = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur|me|us)\b|\?")
_PREFIX = re.compile(r"\s*(?:[\w.$@/\\\[\]<>*-]+[ \t]){0,5}?[\w.$@/\\\[\]<>*()-]+:\s+(?=\S)")
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’`]?\s+(?=[A-Z])")
_QUOTED = re.compile(r"\"([^\"]{8,})\"|“([^“”]{8,})”|`([^`]{8,})`|(?<!\w)'([^']{8,})'(?!\w)")
_FEWEST_WORDS = 3
_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=256)
def question_kinds(text: str) -> frozenset[QuestionKind]:
    """Return the kinds of the question `text`, which is in English."""
    kinds = {kind for kind, pattern in _PATTERNS.items() if pattern.search(text)}
    return frozenset(kinds | {QuestionKind.ERROR} if message_of(text) else kinds)


@lru_cache(maxsize=256)
def message_of(text: str) -> str:
    """Return the program's message that a question cites in quotes or before the asking sentence, or ""."""
    complaint = _complaint(text)
    quoted = ["".join(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    found = [*(quoted if _REPORTS_A_MESSAGE.search(text) else ()), *(piece for piece in [complaint] if piece)]
    longest = max(found, key=lambda piece: len(_WORD.findall(piece)), default="")
    return longest.strip() if len(_WORD.findall(longest)) >= _FEWEST_WORDS else ""


def _complaint(text: str) -> str:
    """Return the sentences around the asking one that read like a program's complaint."""
    rest, is_announced = text, False
    while prefix := _PREFIX.match(rest):
        is_announced = is_announced or bool(
            _REPORTS_A_MESSAGE.search(prefix[0]) or not prefix[0].rstrip(": \t").count(" ")
        )
        rest = rest[prefix.end() :]
    if rest != text and not is_announced:
        return ""
    sentences = [each for each in _SENTENCE.split(rest) if not each.rstrip().endswith("?")]
    complaint = " ".join(sentences)
    if is_announced:
        return complaint or rest
    is_complaint = "?" in text and bool(_COMPLAINT.search(complaint)) and not _USER_VOICE.search(complaint)
    return complaint if is_complaint else ""


_VALUE = re.compile(
    r"\"[^\"]*\"|“[^“”]*”|`[^`]*`|(?<!\w)'[^']*'(?!\w)"  # quoted
    r"|\S{0,100}[/\\]\S*|\S{0,100}\w[.:@]\w\S*"  # paths, addresses, qualified names
    r"|[.:;,]\s|\s[-*•]\s"  # joints of a message
    r"|[<\[({][^<>\[\](){}]*[>\])}]|[-+]?\b\w*\d\S*"  # in brackets, with digits
)
_FEWEST_FRAGMENT_WORDS, _FEWEST_FRAGMENT_CHARS = 2, 10
_MOST_FRAGMENTS = 3


@lru_cache(maxsize=256)
def message_fragments(text: str) -> tuple[str, ...]:
    """Return the fragments of the cited message that are verbatim in its string literal."""
    return fragments_of(message_of(text))


@lru_cache(maxsize=256)
def fragments_of(message: str) -> tuple[str, ...]:
    """Return the parts of a message between what look like filled-in values, longest part first."""
    pieces = (piece.strip(" \t\n.,;:!?-*•") for piece in _VALUE.split(message))
    long = {
        piece
        for piece in pieces
        if len(piece) >= _FEWEST_FRAGMENT_CHARS and len(_WORD.findall(piece)) >= _FEWEST_FRAGMENT_WORDS
    }
    return tuple(sorted(long, key=lambda piece: (-len(piece), piece))[:_MOST_FRAGMENTS])
