"""Synonyms that a workspace defines: its phrases are rewritten before the text is cut into words, its words after."""

from __future__ import annotations

import re
from collections.abc import Mapping


def rewrite_phrases(text: str, synonyms: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The text with each phrase (a synonym of several words) replaced, longest first; and which were: new to old."""
    phrases = {" ".join(old.lower().split()): new for old, new in synonyms.items() if len(old.split()) > 1}
    if not phrases:
        return text, {}
    spelled = sorted(phrases, key=lambda phrase: -len(phrase))
    either = "|".join(r"\s+".join(map(re.escape, phrase.split())) for phrase in spelled)
    replaced: dict[str, str] = {}

    def replacement(match: re.Match[str]) -> str:
        old = " ".join(match.group().lower().split())
        replaced[phrases[old]] = old
        return phrases[old]

    return re.sub(rf"(?<!\w)(?:{either})(?!\w)", replacement, text, flags=re.IGNORECASE), replaced


def word_synonyms(synonyms: Mapping[str, str]) -> dict[str, str]:
    """The synonyms of single words, in lower case."""
    return {old.strip().lower(): new for old, new in synonyms.items() if len(old.split()) == 1}
