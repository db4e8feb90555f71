"""Runs the baselines: plain BM25, and a word search with ripgrep, over the files that the daemon indexed.

Both run in this process or as its children, so their times contain no LSP.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import apsw
from engine.index_file import IndexFile, UnavailableError

from cairn.text.words import STOPWORDS
from retrieval.asking import Answer, answer
from retrieval.metrics import DEPTH, Span
from retrieval.sets import Question

BM25_NAME, RIPGREP_NAME = "BM25", "ripgrep"
_WORD = re.compile(r"\w+")
_SHORTEST = 3
_FILES_A_CALL = 5_000
"""The number of paths on one command line; Linux allows 2 MB."""
_RIPGREP_FOUND_NOTHING = 1

Rank = Callable[[str], Sequence[Span]]
"""A function from a question to the best files, at most DEPTH."""


def ask_baseline(rank: Rank, questions: Iterable[Question]) -> list[Answer]:
    """Return the answers of a baseline."""
    answers = []
    for question in questions:
        began = time.perf_counter()
        results = rank(question.query)
        answers.append(answer(question, results, (time.perf_counter() - began) * 1000))
    return answers


class BM25:
    """FTS5's BM25 over the text of Cairn's chunks, any word of the question; a file ranks by its best chunk.

    Only files whose path is `wanted` count.
    """

    def __init__(self, index: IndexFile, wanted: Callable[[str], bool] = lambda _: True) -> None:
        self._spans: list[Span] = []
        self._db = apsw.Connection(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE passages USING fts5(text, content='', tokenize='porter unicode61')"
        )
        with self._db:
            for path, chunk in index.chunks():
                if not wanted(path):
                    continue
                self._db.execute(
                    "INSERT INTO passages(rowid, text) VALUES (?, ?)", (len(self._spans), chunk.text)
                )
                self._spans.append(Span(path, chunk.start_line + 1, chunk.end_line))

    def __call__(self, query: str) -> list[Span]:
        best: dict[str, Span] = {}
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(_WORD.findall(query.lower())))
        sql = "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank, rowid"
        for (row,) in self._db.execute(sql, (match,)) if match else ():
            span = self._spans[row]
            best.setdefault(span.path, span)
            if len(best) == DEPTH:
                break
        return list(best.values())


class Ripgrep:
    """Ranks files by how many different words of the question they contain, then by how often.

    Words of less than three letters and function words are left out; a word also matches inside longer ones.
    A whole file is the result, which covers any lines of it: more than a chunk can claim.
    """

    def __init__(self, index: IndexFile, workspace: Path) -> None:
        binary = shutil.which("rg")
        if binary is None:
            raise UnavailableError("there is no rg on the path")
        self._binary, self._workspace, self._paths = binary, workspace, index.text_paths()

    def __call__(self, query: str) -> list[Span]:
        return [Span(path) for path, _ in self.ranked(query)[:DEPTH]]

    def ranked(self, query: str) -> list[tuple[str, list[int]]]:
        """Return all files with a word of the question, best first, each with its matching lines (from 1)."""
        words = searched_words(query)
        contained: dict[str, Counter[str]] = defaultdict(Counter)
        lines: dict[str, set[int]] = defaultdict(set)
        for path, line, found in self._matches(words):
            # Of overlapping words ripgrep reports the longest, which contains the others.
            contained[path].update(word for word in words if word in found)
            lines[path].add(line)
        order = sorted(contained, key=lambda path: (-len(contained[path]), -contained[path].total(), path))
        return [(path, sorted(lines[path])) for path in order]

    def _matches(self, words: Sequence[str]) -> Iterable[tuple[str, int, str]]:
        """Yield path, line from 1 and matched text, lower-case, of each match."""
        if not words:
            return
        patterns = [part for word in words for part in ("-e", word)]
        options = [
            "-o",
            "-i",
            "-F",
            "--null",
            "--with-filename",
            "--line-number",
            "--no-messages",
            "--text",
        ]
        for start in range(0, len(self._paths), _FILES_A_CALL):
            command = [self._binary, "--no-config", *options, *patterns, "--"]
            done = subprocess.run(
                [*command, *self._paths[start : start + _FILES_A_CALL]],
                cwd=self._workspace,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            )
            if done.returncode > _RIPGREP_FOUND_NOTHING and not done.stdout:
                raise UnavailableError(f"rg failed: {done.stderr.decode(errors='replace').strip()}")
            for line in done.stdout.decode(errors="replace").splitlines():
                path, zero, match = line.partition("\0")
                number, _, found = match.partition(":")
                if zero:
                    yield path, int(number), found.lower()


def searched_words(query: str) -> list[str]:
    """Return the words of a question that ripgrep searches for, longest first, each once."""
    words = dict.fromkeys(_WORD.findall(query.lower()))
    content_words = [word for word in words if len(word) >= _SHORTEST and word not in STOPWORDS]
    return sorted(content_words, key=lambda word: -len(word))
