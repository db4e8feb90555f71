"""No method opens a file outside of the workspace, or a secret one, in whatever way its path is written."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from outside_paths import CANARY, OpenedFiles, Place, ask_all, make_place, spellings
from tests.conftest import ask
from tests.serving import wait_for

from cairn.engine.engine import Engine
from cairn.engine.runner import answer
from cairn.errors import InvalidRequestError
from cairn.settings.tree import IndexSettings
from cairn.workspace.scan import FileRules, is_relative, permitted_text, read_text


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path / "place")


@pytest.fixture
def engine(place: Place, bare_data_dir: Path) -> Iterator[Engine]:
    engine = Engine({})
    engine.add_folder(place.root)
    wait_for(lambda: engine.progress().complete)
    yield engine
    engine.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux reports which files are opened")
@pytest.mark.parametrize("unsaved", [False, True], ids=["saved", "unsaved"])
def test_no_spelling_opens_a_hidden_file(place: Place, engine: Engine, unsaved: bool) -> None:
    for file in place.hidden if unsaved else ():
        engine.document_opened(file)
        engine.document_changed(file, f"A ship moors. {CANARY}")

    def asked(method: str, params: Mapping[str, Any]) -> Any:
        return answer(engine.request(), method, params, front="mcp")

    outcomes = Counter[str]()
    with closing(OpenedFiles(place.hidden)) as watch:
        for path in spellings(place, 80, random.Random(7)):
            ask_all(asked, path, outcomes)
            assert not watch.opened(), path
        place.hidden[0].read_text()
        assert watch.opened() == [place.hidden[0]], "an opened file is reported"
    assert outcomes["answered"] > 20
    assert outcomes["refused"] > 200


@pytest.mark.parametrize("path", ["/", "//", "//x", "/**/x", "///a/b", "/" * 4_000])
def test_paths_of_slashes_are_answered(engine: Engine, path: str) -> None:
    with pytest.raises(InvalidRequestError, match="path"):
        ask(engine, "fetchPage", {"path": path, "now": True})


def test_indexed_file_that_became_a_link_is_not_opened(place: Place, engine: Engine) -> None:
    berths = place.root / "src/berths.py"
    berths.unlink()
    berths.symlink_to(place.hidden[0])
    assert engine.folders[0].text_of("src/berths.py") is None
    assert CANARY not in json.dumps(
        answer(engine.request(), "fetchPage", {"path": "src/berths.py", "now": False})
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipe_and_link_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "file.py").write_text("moor")
    (tmp_path / "link.py").symlink_to("file.py")
    for name in ("pipe.py", "link.py", "."):
        with pytest.raises(OSError):  # noqa: PT011 - systems name the problem differently
            read_text(tmp_path / name)
    assert read_text(tmp_path / "file.py") == "moor"


def test_permitted_text_is_that_of_files_that_the_rules_admit(place: Place) -> None:
    rules = FileRules(place.root, IndexSettings())
    assert permitted_text(place.root, "README.md", rules) is not None
    for path in (
        "../outside.txt",
        str(place.hidden[0]),
        "link.txt",
        "above/outside.txt",
        ".env",
        "./README.md",
    ):
        assert permitted_text(place.root, path, rules) is None
    (place.root / "key.txt").write_text("-----BEGIN PRIVATE KEY-----\nabc\n")
    assert permitted_text(place.root, "key.txt", rules) is None


@pytest.mark.parametrize(
    "path", ["a", "a/b.py", ".github/x.yml", "a b", "\u00e4/b", "..a", "a..", "~/a", "-x"]
)
def test_paths_below_a_folder_are_relative(path: str) -> None:
    assert is_relative(path)


@pytest.mark.parametrize(
    "path",
    ["", "/", "/a", "a/", "a//b", ".", "..", "a/..", "./a", "a/./b", "a\0b", "x" * 5_000, None, 7, b"a"],
)
def test_other_paths_are_not_relative(path: object) -> None:
    assert not is_relative(path)
