"""A folder without indexed files is called empty, and no other words are advised."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.engines import indexed

from cairn.agents.index_state import verdict_text
from cairn.engine.runner import answer


@pytest.mark.parametrize("method", ["cairn/search", "cairn/discover"])
def test_an_answer_says_that_the_folder_is_empty(tmp_path: Path, method: str) -> None:
    with indexed(tmp_path) as engine:
        found = answer(engine.request(), method, {"query": "how does the crane lift cargo"}, as_json=False)
    assert found.index.note == f"Nothing is indexed in {tmp_path}: the folder has no files."
    assert found.verdict.action == "noMatch"
    assert verdict_text(found.verdict, found=False) == ""
