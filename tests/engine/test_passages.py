"""Searches show further passages of a file, and discoveries quote excerpts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask
from tests.engine.engines import PATIENT, indexed

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError

QUESTION = "how is a ship moored at a berth"
DREDGING = '''def dredge(basin):
    """Dredge the basin until it is deep enough."""
    while basin.depth < "8 m":
        basin.dig()
'''
STEPS = "".join(
    f'def moor_{name}(harbour, ship):\n    """Moor the {name} ship at its berth."""\n'
    + "".join(f"    harbour.{name}_step_{line}(ship)\n" for line in range(30))
    + "\n\n"
    for name in ("large", "small", "slow", "naval")
)


def notebook(code: str) -> str:
    text = {"cell_type": "markdown", "metadata": {}, "source": ["# Dredging\n", "How a basin is dredged."]}
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [text, {**cell, "source": code.splitlines(keepends=True)}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


@pytest.fixture(scope="module")
def engine(harbour: Path) -> Iterator[Engine]:
    """The harbour with a long file and a notebook, indexed."""
    (harbour / "src/harbour/steps.py").write_text(STEPS, encoding="utf-8")
    (harbour / "docs").mkdir()
    (harbour / "docs/dredging.ipynb").write_text(notebook(DREDGING), encoding="utf-8")
    with indexed(harbour, **PATIENT) as engine:
        yield engine


def search(engine: Engine, **params: Any) -> tuple[protocol.SearchResult, ...]:
    answer = ask(engine, "search", protocol.SearchParams(QUESTION, **params))
    assert isinstance(answer, protocol.SearchAnswer)
    return answer.results


def discover(engine: Engine, query: str) -> protocol.DiscoverAnswer:
    answer = ask(engine, "discover", protocol.DiscoverParams(query))
    assert isinstance(answer, protocol.DiscoverAnswer)
    return answer


@pytest.mark.parametrize("passages", [1, 2, 3])
def test_a_search_shows_passages_of_a_file_without_overlap(
    engine: Engine, harbour: Path, passages: int
) -> None:
    results = search(engine, passages=passages)
    most = max(len(result.passages) for result in results)
    assert most <= passages - 1
    assert bool(most) == (passages > 1)
    for result in results:
        lines = (harbour / result.path).read_text(encoding="utf-8").split("\n")
        for each in result.passages:
            assert each.text == "\n".join(lines[each.range.start.line : each.range.end.line])
        ranges = (result.range, *(each.range for each in result.passages))
        spans = sorted((each.start.line, each.end.line) for each in ranges)
        assert all(before[1] <= after[0] for before, after in pairwise(spans))


def test_further_passages_change_nothing_else_of_a_search(engine: Engine) -> None:
    with_more, alone = (
        [(each.path, each.range, each.score) for each in search(engine, passages=number)] for number in (3, 1)
    )
    assert with_more == alone


@pytest.mark.parametrize("passages", [0, 4, -1])
def test_another_number_of_passages_is_refused(engine: Engine, passages: int) -> None:
    with pytest.raises(InvalidRequestError, match="passages"):
        ask(engine, "search", {"query": QUESTION, "passages": passages})


def test_a_query_that_is_too_long_is_cut_with_a_note(engine: Engine) -> None:
    answer = discover(engine, f"{QUESTION} " * 1_000)
    assert "Only the first 10,000 of 32,000 characters were used." in answer.verdict.note


def test_a_notebook_is_quoted_without_json_syntax(engine: Engine) -> None:
    answer = discover(engine, "how is a basin dredged until it is deep enough")
    texts = [each.text for each in answer.excerpts if each.path == "docs/dredging.ipynb"]
    assert any('while basin.depth < "8 m":' in text for text in texts)
    quoted = {line.strip() for line in answer.answer_prompt.splitlines()}
    numbered = {line.lstrip("0123456789 ") for line in quoted}
    lines = {line.strip() for text in texts for line in text.splitlines()}
    assert lines <= quoted | numbered


def test_without_vectors_there_are_excerpts_and_further_passages(engine: Engine) -> None:
    ask(engine, "setPhase", protocol.SetPhaseParams(2))
    try:
        answer = discover(engine, QUESTION)
        assert answer.retrieval.phase == 2
        assert "src/harbour/berths.py" in {each.path for each in answer.excerpts}
        assert any(result.passages for result in search(engine))
    finally:
        ask(engine, "setPhase", protocol.SetPhaseParams(None))
