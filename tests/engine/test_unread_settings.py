"""An answer says that a settings file is not used, since files may be shown that the user left out."""

from __future__ import annotations

from pathlib import Path

from tests.engine.engines import indexed
from tests.harbour import write_files

from cairn.engine.engine import Engine
from cairn.engine.runner import answer

BROKEN = "[index\n"


def note_of(engine: Engine) -> str:
    note: str = answer(engine.request(), "cairn/search", {"query": "hoist"}, as_json=False).index.note
    return note


def test_an_answer_names_a_settings_file_of_which_nothing_is_used(tmp_path: Path) -> None:
    write_files(tmp_path, {"crane.py": "def hoist(): ...\n", ".cairn.toml": BROKEN})
    with indexed(tmp_path) as engine:
        assert note_of(engine).startswith(".cairn.toml is not used: Expected ']'")
        (tmp_path / ".cairn.toml").write_text("[index]\n")
        assert ".cairn.toml is not used" not in note_of(engine)


def test_among_several_folders_the_note_names_the_folder(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"quay/a.py": "def hoist(): ...\n", "pier/b.py": "x = 1\n", "pier/.cairn.toml": BROKEN}
    )
    with indexed(tmp_path / "quay", tmp_path / "pier") as engine:
        assert "pier: .cairn.toml is not used" in note_of(engine)
