"""What an English sentence tells about its subject, by the words it uses (S1, stage 7).

S1's words, matched as whole words ("is a" is not in "this apple"), with their close relatives. The first
category that matches counts, in S1's order.
"""

from __future__ import annotations

import re

from cairn.config import BulletCategory

_DEFINITION_SUBJECT_WORDS = 8
"""A definition names its subject first; "is a" after more words belongs to a subordinate clause."""

_WORDS: tuple[tuple[BulletCategory, str], ...] = (
    (
        BulletCategory.FEATURE,
        r"features?|support(?:s|ed|ing)?|provid(?:es?|ed|ing)|offers?|allows?|enables?|capabilit(?:y|ies)"
        r"|functionality|built-in",
    ),
    (
        BulletCategory.ARCHITECTURE,
        r"architectur(?:e|al)|components?|modules?|layers?|pipelines?|internals?|internally"
        r"|consists? of|composed of|made up of|built on|designed as",
    ),
    (
        BulletCategory.PERFORMANCE,
        r"performan(?:ce|t)|speed(?:s|up)?|latency|throughput|fast(?:er|est)?|slow(?:er|est)?"
        r"|benchmark(?:s|ed)?|overhead|memory usage|scal(?:es|able|ability)",
    ),
    (
        BulletCategory.INTEGRATION,
        r"integrat(?:es?|ed|ing|ions?)|apis?|sdks?|plugins?|extensions?|compatible with|works with"
        r"|interoperab(?:le|ility)",
    ),
    (
        BulletCategory.USE_CASE,
        r"use[ -]cases?|examples?|applications?|useful for|suitable for|designed for|used (?:for|to|when)",
    ),
)
_PATTERNS = tuple((category, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for category, words in _WORDS)
_NO_SUBJECT = (
    r"(?:if|when|unless|whether|while|because|since|as|there|this|that|which|who|where|it|here)\b|[@:]\w"
)
"""A clause with one of these words says under which condition, not what: "if the value is a list"."""
_DEFINITION = re.compile(
    rf"(?:(?!{_NO_SUBJECT})\S+\s+){{1,{_DEFINITION_SUBJECT_WORDS}}}?(?:is|are) (?:an?|the)\b"
    rf"|(?:(?!{_NO_SUBJECT})\S+\s+){{0,{_DEFINITION_SUBJECT_WORDS}}}?"
    r"(?:defines|represents?|refers to|stands for)\b",
    re.IGNORECASE,
)
_TYPE_HEAD = re.compile(r"(?:[a-z]+ )*(?:class|struct|interface|trait|enum) \w+\s?[(:<{]")
_OPENING_MARKS = "*_`\"'([“‘"


def categorize(sentence: str) -> BulletCategory:
    """The category of `sentence`; `OTHER` when it uses none of the words."""
    if _DEFINITION.match(sentence.lstrip(_OPENING_MARKS)) or _TYPE_HEAD.match(sentence):
        return BulletCategory.DEFINITION
    for category, pattern in _PATTERNS:
        if pattern.search(sentence):
            return category
    return BulletCategory.OTHER
