"""Writes server/cairn/retrieval/common_words.txt: stems of words that many projects use.

    python scripts/common_words.py CHECKOUT [CHECKOUT ...]

A word is included if it occurs at least three times in at least an eighth of the checkouts, which excludes
names and typing errors of a single project. Cairn never corrects the spelling of an included word in a query.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cairn.languages.registry import detect_language
from cairn.text.identifiers import identifier_words
from cairn.text.words import stem

TIMES = 3
SHARE = 8
MAX_FILES, MAX_BYTES = 2_000, 200_000
TARGET = Path(__file__).parent.parent / "server/cairn/retrieval/common_words.txt"
_TOKEN = re.compile(r"[A-Za-z_]\w{3,40}")
_LINE_CHARS = 110
_SEQUENCES = ("aaaa", "abcd", "xxxx", "zzzz")


def text_files(checkout: Path) -> Iterator[Path]:
    files = (path for path in sorted(checkout.rglob("*")) if ".git" not in path.parts and path.is_file())
    return (path for path in files if detect_language(path.name) and path.stat().st_size <= MAX_BYTES)


def words_of(checkout: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for _, path in zip(range(MAX_FILES), text_files(checkout), strict=False):
        found.update(_TOKEN.findall(path.read_text("utf-8", "replace")))
    stems: Counter[str] = Counter()
    for token, times in found.items():
        for word in identifier_words(token):
            if len(word) > 3 and word.isalpha() and word.isascii() and word[:4] not in _SEQUENCES:
                stems[stem(word)] += times
    return stems


def main(checkouts: list[Path]) -> None:
    projects: Counter[str] = Counter()
    for checkout in checkouts:
        projects.update({word for word, times in words_of(checkout).items() if times >= TIMES})
    common = sorted(word for word, number in projects.items() if number * SHARE >= len(checkouts))
    lines = [""]
    for word in common:
        if len(lines[-1]) + len(word) >= _LINE_CHARS:
            lines.append("")
        lines[-1] += f"{word} "
    TARGET.write_text("\n".join(line.strip() for line in lines) + "\n", encoding="ascii")
    print(f"{len(common)} stems of {len(checkouts)} checkouts")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
