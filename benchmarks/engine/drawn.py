"""Draws queries from an index: names to go to, commits to find again, sentences that describe code."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

from engine.index_file import IndexFile
from engine.place import git

_COMMITS = 5_000
_WORDS = range(3, 21)
"""The number of words of a sentence that could be a query."""
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s|\n\s*\n")


def drawn_questions(workspace: Path, index: IndexFile, count: int, chance: random.Random) -> list[str]:
    """Return at most `count` different queries, a third of each kind, or more of others if one has too
    few."""
    kinds = [
        [name for name in index.defined_names() if len(name) > 2],
        _commit_subjects(workspace),
        _first_sentences(index.comments()),
    ]
    for kind in kinds:
        chance.shuffle(kind)
    questions: dict[str, None] = {}
    while len(questions) < count and any(kinds):
        for kind in kinds:
            if kind and len(questions) < count:
                questions[kind.pop()] = None
    return list(questions)


def _commit_subjects(workspace: Path) -> list[str]:
    try:
        said = git(workspace, "log", f"--max-count={_COMMITS}", "--no-merges", "--format=%s")
    except subprocess.CalledProcessError:  # The workspace is not a repository.
        return []
    return sorted({subject for subject in said.splitlines() if len(subject.split()) in _WORDS})


def _first_sentences(comments: list[str]) -> list[str]:
    sentences = {" ".join(_SENTENCE_END.split(comment)[0].split()) for comment in comments}
    return sorted(sentence for sentence in sentences if len(sentence.split()) in _WORDS)
