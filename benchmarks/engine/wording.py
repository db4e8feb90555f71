"""Makes queries and texts from the corpus's own words."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

_TEXT_SUFFIXES = frozenset(
    {".py", ".rst", ".md", ".txt", ".js", ".ts", ".go", ".java", ".rs", ".c", ".h", ".rb", ".kt"}
)
_LARGEST_BYTES = 200_000
_WORD = re.compile(r"[A-Za-z]{4,14}")


def text_files(tree: Path) -> list[Path]:
    """Return the files that a person would edit, in a fixed order."""
    return sorted(
        path
        for path in tree.rglob("*")
        if path.suffix in _TEXT_SUFFIXES
        and not any(part.startswith(".") for part in path.relative_to(tree).parts)
        and path.is_file()
        and 200 < path.stat().st_size < _LARGEST_BYTES
    )


def questions(tree: Path, count: int, chance: random.Random) -> list[str]:
    """Return `count` distinct queries of 2 to 5 words that are adjacent in some line of the tree."""
    files = text_files(tree)
    made: dict[str, None] = {}
    while len(made) < count:
        lines = chance.choice(files).read_text(encoding="utf-8", errors="replace").splitlines()
        words = _WORD.findall(chance.choice(lines)) if lines else []
        if len(words) >= 2:
            made[" ".join(words[: chance.randint(2, 5)])] = None
    return list(made)


def vocabulary(tree: Path, chance: random.Random) -> list[str]:
    """Return the words of fifty of the tree's files, each once."""
    files = text_files(tree)
    texts = (
        path.read_text(encoding="utf-8", errors="replace")
        for path in chance.sample(files, min(50, len(files)))
    )
    return sorted({word.lower() for text in texts for word in _WORD.findall(text)})


def sentence(words: Sequence[str], chance: random.Random) -> str:
    """Return ten words in an order that no other text has."""
    return " ".join(chance.sample(words, 10))


def addition(path: Path, token: str, about: str) -> str:
    """Return text that becomes a passage of its own in `path`: it has the word `token` and is about
    `about`."""
    if path.suffix in (".md", ".rst", ".txt"):
        rule = "" if path.suffix == ".md" else "\n" + "=" * len(token)
        return f"\n\n{'# ' if path.suffix == '.md' else ''}{token}{rule}\n\n{about.capitalize()}.\n"
    if path.suffix == ".py":
        return f'\n\ndef {token}():\n    """{about.capitalize()}."""\n    return "{token}"\n'
    return f"\n\n// {about.capitalize()}.\n// {token}\n"
