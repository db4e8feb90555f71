"""A context quotes the current READMEs as core concepts, and ends when its request is cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask
from tests.engine.engines import NO_VECTORS, indexed
from tests.serving import wait_for

from cairn.engine.engine import Engine
from cairn.errors import QueryCancelledError

TIDES = "src/harbour/tides.py"


@pytest.fixture(scope="module")
def engine(harbour: Path) -> Iterator[Engine]:
    with indexed(harbour, **NO_VECTORS) as engine:
        yield engine


def place(harbour: Path) -> dict[str, Any]:
    position = {"line": 0, "character": 0}
    return {"textDocument": {"uri": (harbour / TIDES).as_uri()}, "position": position}


def test_core_concepts_come_from_the_current_readmes(engine: Engine, harbour: Path) -> None:
    def context() -> str:
        return str(ask(engine, "context", place(harbour)).context)

    readme, nearer = harbour / "README.md", harbour / "src/harbour/README.rst"
    assert "Harbour is a small library that" in context()
    engine.document_opened(readme)
    engine.document_changed(readme, "# Harbour\n\nHarbour is being written anew just now.\n")
    quoted = "### README.md#L3-L3\n\n```markdown\nHarbour is being written anew just now.\n```\n"
    assert quoted in context()
    text = "This is the source of the whole harbour."
    nearer.write_text(f"Source\n======\n\n{text}\n", encoding="utf-8")
    engine.changed(nearer)
    wait_for(lambda: text in context())
    concepts = context().partition("## Relevant passages")[0]
    assert concepts.index("### src/harbour/README.rst#L4-L4") < concepts.index("### README.md#L3-L3")


def test_a_cancelled_context_ends(engine: Engine, harbour: Path) -> None:
    with pytest.raises(QueryCancelledError):
        ask(engine, "context", {**place(harbour), "query": "moor a ship"}, cancelled=lambda: True)
