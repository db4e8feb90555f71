"""What a question asks for, by its wording: it decides what else is looked for in the files found.

A question may be of several kinds ("which environment variable limits …"), or of none that is known.
"""

from __future__ import annotations

import enum
import re
from functools import lru_cache


class QuestionKind(enum.StrEnum):
    """What is asked for."""

    ERROR = "error"
    """What a message means, or where it is from."""
    CONSTANT = "constant"
    """A number, a default, a limit."""
    CONFIG = "config"
    """An option or environment variable."""
    TESTS = "tests"
    CALLERS = "callers"
    """Where something is used."""
    FLOW = "flow"
    """What happens, in order."""
    CHANGE = "change"
    """What to touch to add or change something."""
    COMPARE = "compare"


_WORDING = {
    QuestionKind.CONSTANT: r"""\bhow\ (?:many|much|long|big|large|often|deep|high|small|old|far|wide)\b | \bdefaults?\b
        | \b(?:max(?:imum)?|min(?:imum)?|highest|lowest|largest|smallest|longest)\b | \bby\ default\b
        | \bwh(?:at|ich)\ (?:\w+\ ){0,3}(?:value|number|size|limit|timeout|interval|length|port|version|threshold)\b
        | \b(?:upper|lower)\ (?:bound|limit)\b | \bif\ I\ (?:configure|set|pass|specify|give)\ nothing\b""",
    QuestionKind.CONFIG: r"""\benv(?:ironment)?\ ?var(?:iable)?s?\b | \b(?:options?|settings?|flags?|switch(?:es)?|parameters?|keywords?)\b
        | \bopt\ (?:in|out)\b | \b(?:turn|switch)(?:ed|ing)?\ (?:\w+\ )?(?:on|off)\b
        | \b(?:dis|en)abl(?:e|ed|ing)\b | \bconfigur\w+""",
    QuestionKind.TESTS: r"""\b(?:which|what|where)\b.{0,20}\btests?\b | \btested\b | \btest\ (?:case|suite)s?\b
        | \btests?\ (?:for|of|that|which|check\w*|cover\w*|make|verif\w+|assert\w*|ensur\w+)\b""",
    QuestionKind.CALLERS: r"""\b(?:who|what|which|where)\b.{0,60}\b(?:calls?|invokes?|consults?|references?|call\ sites?)\b
        | \b(?:callers?|usages?|uses|call\ sites?)\ of\b | \bwhere\ (?:is|are)\b.{0,60}\b(?:called|used|invoked|consulted|referenced)\b
        | \b(?:who|what|which\ \w+)\ (?:\w+\ )?(?:uses?|depends?\ on|relies\ on|makes?\ use\ of)\b""",
    QuestionKind.FLOW: r"""\bstep\ by\ step\b | \bin\ (?:what|which)\ order\b | \bin\ order\b | \bwhat\ happens\b | \bsequence\ of\b
        | \b(?:life\ ?cycle|steps|stages|phases)\b | \bfrom\b.{3,60}\b(?:to|until|till)\b""",
    QuestionKind.CHANGE: r"""^(?:add|change|extend|implement|introduce|support)\b
        | \bwh(?:at|ich|ere)\b.{0,60}\b(?:change[ds]?|touch(?:ed)?|edit(?:ed)?|modif(?:y|ied)|adapt(?:ed)?|extend(?:ed)?|register(?:ed)?)\b
            (?=.*\b(?:add|new|another|one\ more|support|also)\b)
        | \b(?:to|I)\ (?:add|introduce|support)\ (?:an?|another|one\ more|new|my\ own)\b""",
    QuestionKind.COMPARE: r"""\bdiffer(?:s|ent|ence|ences)?\b | \bversus\b | \bvs\b | \bcompar\w+ | \bunlike\b
        | \bas\ opposed\ to\b | \bin\ contrast\b | \brather\ than\b""",
}
_PATTERNS = {
    kind: re.compile(pattern, re.VERBOSE | re.IGNORECASE | re.DOTALL) for kind, pattern in _WORDING.items()
}

_SAYS = re.compile(
    r"\b(?:error|exception|panic(?:s|ked)?|fail(?:s|ed|ure)?|warn(?:s|ing)?|messages?|traceback|abort(?:s|ed)?|crash(?:es|ed)?"
    r"|rais(?:es?|ed|ing)|throws?|reject(?:s|ed)?|complain(?:s|ed)?|says?|prints?|logs?|answers?|reports?|dies?|refus(?:es?|ed))\b",
    re.IGNORECASE,
)
_AFTER_COLON = re.compile(r":\s+(?=\S)(.+)\Z", re.DOTALL)
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’`]?\s+(?=[A-Z])")
_QUOTED = re.compile(r"\"([^\"]{8,})\"|“([^”]{8,})”|`([^`]{8,})`|(?<!\w)'([^']{8,})'(?!\w)")
_FEWEST_WORDS = 3
_WORD = re.compile(r"[^\W_]+")


@lru_cache(maxsize=256)
def question_kinds(text: str) -> frozenset[QuestionKind]:
    """The kinds of the question; `text` is its wording in English."""
    kinds = {kind for kind, pattern in _PATTERNS.items() if pattern.search(text)}
    return frozenset(kinds | {QuestionKind.ERROR} if message_of(text) else kinds)


@lru_cache(maxsize=256)
def message_of(text: str) -> str:
    """The message that a program gave, where the question cites one; "" otherwise.

    It stands in quotes, or after a colon up to the sentence that asks.
    """
    if not _SAYS.search(text):
        return ""
    quoted = ["".join(filter(None, match.groups())) for match in _QUOTED.finditer(text)]
    after = _AFTER_COLON.search(text)
    if after:
        sentences = _SENTENCE.split(after[1])
        said = [each for each in sentences if not each.rstrip().endswith("?")]
        quoted.append(" ".join(said or sentences[:1]))
    longest = max(quoted, key=lambda each: len(_WORD.findall(each)), default="")
    return longest.strip() if len(_WORD.findall(longest)) >= _FEWEST_WORDS else ""
