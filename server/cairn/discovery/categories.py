"""Determines the category of a sentence by weighted cues.

Cues are whole words, and their weight depends on their place. A word in the main clause weighs more than one
in a subordinate clause, which only says a condition. A word such as "module" counts only as a subject.
Headings above the sentence count too and, in code, the kind of definition. The category with the highest
total wins; of equal ones, the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import frozen

from cairn.retrieval.introductions import is_project_upkeep
from cairn.settings.discovery import BulletCategory

# The weights are tuned on tests/data/categories_tuned.tsv. A category needs a total of at least THRESHOLD.
THRESHOLD = 1.0
DEFINES = 4.0
STRONG = 3.0
"""The weight of an unambiguous cue word in the main clause."""
STRONG_SUBORDINATE = 0.9
SUBJECT = 1.2
"""The weight of an ambiguous cue word among the first words of the main clause."""
WEAK = 0.6
WEAK_SUBORDINATE = 0.3
HEADING = 1.5
OUTER_HEADING = 0.6
FURNITURE = 0.3
"""The factor for sentences below headings about contributing, migration and other project matters."""

_SUBJECT_WORDS = 5
_DEFINITION_SUBJECT_WORDS = 8
"""The maximum number of words before the "is a" of a definition. A later one is in a subordinate clause."""


@frozen
class _Cues:
    """The cue words of one category: strong ones and weak ones in a sentence, and those in a heading."""

    category: BulletCategory
    strong: re.Pattern[str]
    weak: re.Pattern[str]
    heading: re.Pattern[str]


def _words(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


_CUES = (
    _Cues(
        BulletCategory.FEATURE,
        _words(
            r"support(?:s|ed)|(?:we|you|connectors|we also|also) support|provides?|offers?|allows?|enables?"
            r"|lets you|let you"
            r"|ha(?:s|ve) the ability|is possible to|capable of|capabilit(?:y|ies)|functionality|built-in"
            r"|out of the box"
            r"|now ha(?:s|ve)|suporta|fornece|oferece|permite"
        ),
        _words(r"features?|support(?:ing)?|provid(?:ed|ing)|can also|automatically|recursos?"),
        _words(r"(?<!requesting )(?:new )?features?|capabilities|highlights|why (?:use )?\w+\??|what's new"),
    ),
    _Cues(
        BulletCategory.ARCHITECTURE,
        _words(
            r"architectur(?:e|al)|internally|under the hood|internals|consists? of|composed of|made up of"
            r"|built on|designed as"
            r"|implemented (?:as|by|in|on|with)|pipelines?"
        ),
        _words(r"components?|modules?|layers?|threads?|event loop|callbacks?|arquitetura"),
        _words(
            r"architecture|design|internals?|how .* works?|pipeline|life ?cycle|under the hood|threads?"
            r"|scheduling"
        ),
    ),
    _Cues(
        BulletCategory.PERFORMANCE,
        _words(
            r"performan(?:ce|t)|speed(?:s|up)?|latency|throughput|fast(?:er|est)?|slow(?:er|est)?"
            r"|benchmark(?:s|ed)?"
            r"|overhead|memory (?:usage|footprint)|scal(?:es|able|ability)|lightweight|desempenho"
        ),
        _words(r"efficient(?:ly)?|memory|cached?|cheap(?:er)?|expensive"),
        _words(r"performance|benchmarks?|speed|scal(?:ing|ability)|optimi[sz]ations?"),
    ),
    _Cues(
        BulletCategory.INTEGRATION,
        _words(
            r"integrat(?:es?|ed|ing|ions?)|compatible with|works with|interoperab(?:le|ility)|(?:adapters?"
            r"|bindings?|plugins?) for"
        ),
        _words(r"apis?|sdks?|plugins?|extensions?|middlewares?|ides?|reporters?"),
        _words(
            r"integrations?|plugins?|extensions|ecosystem|생태계|tooling|third[- ]party|compatib\w+"
            r"|continuous integration|dependencies"
        ),
    ),
    _Cues(
        BulletCategory.USE_CASE,
        _words(
            r"use[ -]cases?|for example|for instance|(?:following|this|the|our|first|second) example"
            r"|useful (?:for|when|to|if)"
            r"|suitable for|designed (?:for|to)|intended (?:for|to)|used (?:for|to|when)|the usage"
            r"|por exemplo"
        ),
        _words(r"examples?|applications?|snippets?|in order to"),
        _words(r"usage|examples?|use[ -]cases?|tutorials?|quick ?start|getting started|recipes?"),
    ),
)
_MIGRATION_HEADING = _words(r"migrat\w+ (?:guide|to)|upgrading")
"""Matches headings about project matters, ignored if the innermost heading is a cue, as "New features" is."""

_NO_SUBJECT = (
    r"(?:if|when|unless|whether|while|because|since|as|there|this|that|these|which|who|where|it|here|for|in"
    r"|by|with|to)\b"
    r"|[@:]\w|\w*(?:aspect|disadvantage|problem|usage)\b"
)
"""The words that begin a clause about a condition: "if the value is a list" defines nothing."""
_DEFINITION = re.compile(
    rf"(?:(?!{_NO_SUBJECT})\S+\s+){{1,{_DEFINITION_SUBJECT_WORDS}}}?(?:is|are|é|são) (?:(?:an?|the|uma?|os?"
    rf"|as?)\b|`)"
    rf"|(?:(?!{_NO_SUBJECT})\S+\s+){{0,{_DEFINITION_SUBJECT_WORDS}}}?"
    r"(?:defines|represents?|refers to|st(?:ands|ood) for)\b"
    r"|an? [^,.]+, an? (?:kind|subclass|type|form|variant)\b",
    re.IGNORECASE,
)
_TYPE_HEAD = re.compile(
    r"(?:(?:@\w+|[a-z]+|pub\([a-z]+\)) )*(?:class|struct|interface|trait|enum|protocol|record|object"
    r"|defmodule) [\w.]+"
)
_TYPE_HEAD_ALONE = re.compile(rf"{_TYPE_HEAD.pattern}\s?[(:<{{]")
_OPENING_MARKS = "*_`\"'([“‘"
_CONNECTION = re.compile(
    r"(?:(?:and|but|so|also|thus|however|finally|note that|in short|as (?:\w+ )+\w+),?|as [^,]*,)\s+",
    re.IGNORECASE,
)
_PARENTHESES = re.compile(r"\s?\([^()]*\)")
_LEADING_CLAUSE = re.compile(
    r"(?:if|when|unless|while|because|since|as|although|though|once|after|before|by|in order to"
    r"|due to)\b[^,]*,\s*",
    re.IGNORECASE,
)
_SUBORDINATE = re.compile(
    r"\([^()]*\)|(?:,\s*|\s)(?:which|who|because|if|when|while|so that|where|since|although|unless|whether|as"
    r"|that)\s.*\Z",
    re.IGNORECASE,
)


def categorize(sentence: str, header_path: str = "", head: str = "") -> BulletCategory:
    """Return the category of `sentence`; `OTHER` if no cue is heavy enough.

    `header_path` has the headings above the sentence, outermost first, joined by ` > `. If the sentence is
    quoted from code, `head` is the definition's head in it; names in the head are not cues.
    """
    text = sentence.replace(head, " ").strip() if head else sentence
    if _TYPE_HEAD.match(head) or _TYPE_HEAD_ALONE.match(sentence):
        return BulletCategory.DEFINITION
    weights = {BulletCategory.DEFINITION: DEFINES if _is_definition(text) else 0.0}
    main, subordinate = _clauses(text)
    headings = header_path.split(" > ") if header_path else []
    for cues in _CUES:
        weights[cues.category] = sum(_weights(cues, main, subordinate, headings))
    if _is_furniture(headings):
        weights = {category: weight * FURNITURE for category, weight in weights.items()}
    best = max(weights, key=weights.__getitem__)
    return best if weights[best] >= THRESHOLD else BulletCategory.OTHER


def _is_definition(text: str) -> bool:
    text = _PARENTHESES.sub("", text.lstrip(_OPENING_MARKS))
    connection = _CONNECTION.match(text)
    return bool(_DEFINITION.match(text[connection.end() :] if connection else text))


def _is_furniture(headings: list[str]) -> bool:
    """Return whether the headings are about project matters rather than the project's subject."""
    if is_project_upkeep(headings):
        return True
    is_cue = bool(headings) and any(cues.heading.search(headings[-1]) for cues in _CUES)
    return not is_cue and any(map(_MIGRATION_HEADING.search, headings))


def _weights(cues: _Cues, main: str, subordinate: str, headings: list[str]) -> Iterator[float]:
    if cues.strong.search(main):
        yield STRONG
    elif cues.strong.search(subordinate):
        yield STRONG_SUBORDINATE
    if found := cues.weak.search(main):
        yield SUBJECT if len(main[: found.end()].split()) <= _SUBJECT_WORDS else WEAK
    elif cues.weak.search(subordinate):
        yield WEAK_SUBORDINATE
    if headings and cues.heading.search(headings[-1]):
        yield HEADING
    elif any(map(cues.heading.search, headings[:-1])):
        yield OUTER_HEADING


def _clauses(text: str) -> tuple[str, str]:
    """Return the main clause of a sentence, and its subordinate clauses."""
    leading = _LEADING_CLAUSE.match(text)
    rest = text[leading.end() :] if leading else text
    subordinate = [leading[0] if leading else "", *(found[0] for found in _SUBORDINATE.finditer(rest))]
    return _SUBORDINATE.sub(" ", rest), " ".join(subordinate)
