"""Runs the baselines: windows around ripgrep's hits, and the chunks of semble."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from engine.index_file import IndexFile, UnavailableError
from retrieval.baselines import Ripgrep

from answers.asking import Retrieved, one_text, passages_text
from answers.facts import BUDGETS, CHARACTERS_PER_TOKEN, FactQuestion
from cairn.text.verbatim import lines_of
from cairn.workspace.scan import read_text

RIPGREP_FEW, RIPGREP_ALL = "ripgrep, 5 files", "ripgrep, all files"
SEMBLE, SEMBLE_CODE = "semble", "semble, code alone"
RIPGREP: Mapping[str, int | None] = {RIPGREP_FEW: 5, RIPGREP_ALL: None}
"""The number of files whose windows are shown, best first; None for as many as fill the budget."""
SEMBLES: Mapping[str, Sequence[str]] = {SEMBLE: ("code", "docs", "config"), SEMBLE_CODE: ("code",)}
"""The content that semble indexes. Code alone is its default; Cairn's checkouts include documents."""

_AROUND = 3
_LIMIT = 50
"""The number of chunks requested from semble, more than fill the largest budget."""
_HELPER = Path(__file__).with_name("semble_chunks.py")


# --- ripgrep --------------------------------------------------------------------------------------


def ask_ripgrep(
    index: IndexFile, tree: Path, questions: Sequence[FactQuestion], files: int | None
) -> list[Retrieved]:
    """Return windows of the files with the most words of each question. Raises UnavailableError without
    rg."""
    ripgrep, retrieved = Ripgrep(index, tree), []
    for question in questions:
        began = time.perf_counter()
        text = _filled(windows(ripgrep, tree, question.text), files)
        retrieved.append(one_text(question, text, (time.perf_counter() - began) * 1000))
    return retrieved


def windows(ripgrep: Ripgrep, tree: Path, question: str) -> Iterator[str]:
    """Return for each file, best first, the lines around its hits, each window after its path and lines."""
    for path, hits in ripgrep.ranked(question):
        lines = lines_of(read_text(tree / path) or "")
        yield passages_text(
            (path, first, last, "\n".join(lines[first - 1 : last]))
            for first, last in around(hits, len(lines))
        )


def around(hits: Sequence[int], lines: int) -> list[tuple[int, int]]:
    """Return the first and last lines, from 1, of windows around sorted hits in a file of `lines` lines."""
    merged: list[tuple[int, int]] = []
    for hit in hits:
        first, last = max(1, hit - _AROUND), min(lines, hit + _AROUND)
        if merged and first <= merged[-1][1] + 1:
            first, _ = merged.pop()
        merged.append((first, last))
    return merged


def _filled(texts: Iterator[str], files: int | None) -> str:
    """Join the texts of `files` files, or of as many as fill the largest budget."""
    whole = ""
    for text in islice(texts, files):
        whole += text
        if len(whole) >= max(BUDGETS) * CHARACTERS_PER_TOKEN:
            break
    return whole


# --- semble ---------------------------------------------------------------------------------------


def ask_semble(
    python: Path | None, tree: Path, questions: Sequence[FactQuestion], content: Sequence[str]
) -> list[Retrieved]:
    """Return semble's chunks in order. Raises UnavailableError without an interpreter with semble."""
    if python is None:
        raise UnavailableError("--semble does not name an interpreter with semble")
    request = {
        "tree": str(tree),
        "questions": [each.text for each in questions],
        "limit": _LIMIT,
        "content": content,
    }
    with tempfile.TemporaryDirectory(prefix="semble-") as cache:
        # With its own cache, semble finds no index of another model and leaves nothing behind.
        done = subprocess.run(
            (str(python), str(_HELPER)),
            input=json.dumps(request),
            capture_output=True,
            text=True,
            env={**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": ""},
        )
    if done.returncode:
        raise UnavailableError(f"semble failed: {done.stderr.strip().splitlines()[-1:]}")
    answers = json.loads(done.stdout)["questions"]
    return [
        one_text(question, passages_text(map(tuple, answer["chunks"])), answer["ms"])
        for question, answer in zip(questions, answers, strict=True)
    ]
