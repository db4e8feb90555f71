#!/usr/bin/env python3
"""Measure how much of translated messages the word lists of other languages understand.

    python benchmarks/translated_messages.py --git CLONE --symfony CLONE [--output FILE]

The messages of git and Symfony are translated by people, and no word list was learnt from them. Each
translation is put into English as a question is. `found` is the share of the words of the English original
that the result has, `right` the share of the result's words that the original has; words are compared by
stem, without function words. Both are given for the hand-written lists alone, and with the learnt ones.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from engine.figures import run_conditions

from cairn.retrieval.natural_languages import lexicon, translation
from cairn.text.words import LIGHT_WORDS, STOPWORDS, stem

Pairs = list[tuple[str, str]]
"""Messages in English, each with its translation."""

_GIT = {"de": "de", "es": "es", "fr": "fr", "pt": "pt_PT", "zh": "zh_CN"}
_SYMFONY = {"de": "de", "es": "es", "fr": "fr", "pt": "pt_BR", "zh": "zh_CN", "ja": "ja"}
_PARTS = ("Form/Resources/translations/validators", "Security/Core/Resources/translations/security",
          "Validator/Resources/translations/validators")  # fmt: skip
_MOST = 600
_WORDS = range(2, 15)
"""The number of English content words of the messages that count."""
_PO = re.compile(r'^msgid ((?:".*"\n)+)msgstr ((?:".*"\n?)+)', re.MULTILINE)
_PLACEHOLDER = re.compile(r"[%{<]\S*")
_WORD = re.compile(r"[a-z]{3,}")


def _shown(clone: Path, path: str) -> str:
    command = ["git", "-C", str(clone), "show", f"HEAD:{path}"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def _of_git(clone: Path, name: str) -> Pairs:
    def text(quoted: str) -> str:
        return "".join(json.loads(line) for line in quoted.splitlines())

    found = _PO.findall(_shown(clone, f"po/{name}.po"))
    return [(text(english), text(translated)) for english, translated in found]


def _of_symfony(clone: Path, name: str) -> Pairs:
    def pairs(part: str) -> Iterator[tuple[str, str]]:
        root = ElementTree.fromstring(_shown(clone, f"src/Symfony/Component/{part}.{name}.xlf"))
        for unit in root.iterfind(".//{*}trans-unit"):
            yield unit.findtext("{*}source") or "", unit.findtext("{*}target") or ""

    return [pair for part in _PARTS for pair in pairs(part)]


def _words(text: str) -> set[str]:
    return {stem(word) for word in _WORD.findall(text.lower()) if word not in STOPWORDS | LIGHT_WORDS}


def measured(pairs: Pairs) -> dict[str, float]:
    both = wanted = given = used = 0
    for english, translated in random.Random(1).sample(pairs, min(_MOST, len(pairs))):
        words = _words(_PLACEHOLDER.sub("", english))
        if translated and len(words) in _WORDS:
            found = _words(translation.in_english(_PLACEHOLDER.sub("", translated)).text)
            used, both = used + 1, both + len(words & found)
            wanted, given = wanted + len(words), given + len(found)
    return {"messages": used, "found": round(both / wanted, 3), "right": round(both / max(1, given), 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--git", type=Path, required=True)
    parser.add_argument("--symfony", type=Path, required=True)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    messages = {f"git {code}": _of_git(arguments.git, name) for code, name in _GIT.items()}
    messages |= {f"Symfony {code}": _of_symfony(arguments.symfony, name) for code, name in _SYMFONY.items()}
    result: dict[str, object] = {"conditions": run_conditions()}
    result["with the learnt lists"] = {name: measured(pairs) for name, pairs in messages.items()}
    lexicon.ALIGNED = Path("nowhere")
    lexicon.lexicon.cache_clear()
    translation.in_english.cache_clear()
    result["hand-written lists alone"] = {name: measured(pairs) for name, pairs in messages.items()}
    text = json.dumps(result, indent=2)
    print(text)
    if arguments.output:
        arguments.output.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
