"""A context quotes the current READMEs as core concepts, is about the lines near the cursor, says what was
looked for, and ends when its request is cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import ask
from tests.engine.engines import NO_VECTORS, indexed
from tests.serving import wait_for

from cairn import protocol
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
    unsaved = harbour / "src/README.md"
    engine.document_opened(unsaved)
    engine.document_changed(unsaved, "# Source\n\nNot saved, but nearer.\n")
    assert "### src/README.md#L3-L3\n\n```markdown\nNot saved, but nearer.\n```\n" in context()
    engine.document_closed(unsaved)
    assert "Not saved, but nearer." not in context()
    text = "This is the source of the whole harbour."
    nearer.write_text(f"Source\n======\n\n{text}\n", encoding="utf-8")
    engine.changed(nearer)
    wait_for(lambda: text in context())
    concepts = context().partition("## Relevant passages")[0]
    assert concepts.index("### src/harbour/README.rst#L4-L4") < concepts.index("### README.md#L3-L3")


def test_a_cancelled_context_ends(engine: Engine, harbour: Path) -> None:
    with pytest.raises(QueryCancelledError):
        ask(engine, "context", {**place(harbour), "query": "moor a ship"}, cancelled=lambda: True)


LOADING = "from harbour.quay import tie_rope, lift_crate\n\n\ndef load(ship):\n    tie_rope(ship)\n"
LONG = LOADING + "".join(f"    ship.step_{n} = {n}\n" for n in range(80)) + "    lift_crate(ship)\n"
QUAY = "def tie_rope(ship):\n    return ship\n\n\ndef lift_crate(ship):\n    return ship\n"


def context_at(engine: Engine, file: Path, line: int, **more: Any) -> protocol.ContextAnswer:
    position = {"line": line, "character": 0}
    answer = ask(engine, "context", {"textDocument": {"uri": file.as_uri()}, "position": position, **more})
    assert isinstance(answer, protocol.ContextAnswer)
    return answer


def shown(answer: protocol.ContextAnswer) -> set[str]:
    return {each.result.symbol for each in answer.passages}


def test_the_lines_of_a_long_function_have_their_own_context(tmp_path: Path) -> None:
    source = tmp_path / "harbour"
    source.mkdir()
    for name, text in {"load.py": LONG, "quay.py": QUAY}.items():
        (source / name).write_text(text, encoding="utf-8")
    with indexed(tmp_path, **NO_VECTORS) as engine:
        top, end = (context_at(engine, source / "load.py", line) for line in (4, 84))
        assert (shown(top), shown(end)) == ({"tie_rope"}, {"lift_crate"})
        for answer, line in ((top, 4), (end, 84)):
            lines = answer.place.range
            assert lines.start.line <= line < lines.end.line
            assert answer.place.symbol == "load"
            for other in (lines.start.line, lines.end.line - 1):
                assert context_at(engine, source / "load.py", other).passages == answer.passages


def test_the_prompt_names_the_function_at_the_cursor(tmp_path: Path) -> None:
    quay = tmp_path / "quay.py"
    quay.write_text(QUAY, encoding="utf-8")
    with indexed(tmp_path, **NO_VECTORS) as engine:
        for line, name in ((0, "tie_rope"), (5, "lift_crate")):
            answer = context_at(engine, quay, line)
            assert f"line {line + 1}, in `{name}`" in answer.context
            assert answer.place.symbol == name


def test_an_empty_answer_says_what_was_looked_for(tmp_path: Path) -> None:
    files = {
        "alone.py": "def alone(ship):\n    return ship\n",
        "values.py": "\nA = 1\n",
        "guide.md": "# Tides\n\nThe moon pulls the water.\n",
        "nothing.py": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with indexed(tmp_path, **NO_VECTORS) as engine:
        messages = {
            name: context_at(engine, tmp_path / name, 1, text=text).message for name, text in files.items()
        }
        assert "documents of `alone` were found" in messages["alone.py"]
        assert "Go to a function or a type" in messages["values.py"]
        assert "names no code of the workspace" in messages["guide.md"]
        assert messages["nothing.py"] == "The document is empty."
