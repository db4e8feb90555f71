"""The user's settings may name any tokenizer file, but a request or a workspace only one in the workspace."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import ask
from tokenizers import Tokenizer, models, pre_tokenizers

from cairn.embedding.packaged import load_vocabulary
from cairn.engine.engine import Engine
from cairn.errors import InvalidRequestError

TEXT = "The berth is free at high tide."
BULLET = {
    "text": TEXT, "citation": "", "sourceId": "a#0", "collection": "a", "path": "a.md", "uri": "", "score": 1,
    "category": "definition",
    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}},
}  # fmt: skip
PLAN = {
    "sections": [{"title": "Berths", "sectionType": "definition", "priority": 1, "bullets": [BULLET]}],
    "totalBullets": 1,
    "sources": [],
}


@pytest.fixture
def root(tmp_path: Path, bare_data_dir: Path) -> Path:
    """A workspace with a tokenizer that splits at blanks, and a copy of the tokenizer outside."""
    root = tmp_path / "root"
    root.mkdir()
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(str(root / "blanks.json"))
    shutil.copy(root / "blanks.json", tmp_path / "outside.json")
    return root


@pytest.fixture
def engines() -> Iterator[list[Engine]]:
    started: list[Engine] = []
    yield started
    for engine in started:
        engine.stop()


def opened(engines: list[Engine], root: Path, tokenizer: str = "", *, embedding: bool = False) -> Engine:
    """Open an engine, with `tokenizer` in the editor's settings."""
    editor = {"discovery": {"render": {"tokenizer": tokenizer}}} if tokenizer else {}
    engine = Engine({**editor, "embedding": {"enabled": embedding}, "index": {"watch": False}})
    engines.append(engine)
    engine.add_folder(root, keep_indexed=False)
    return engine


def rendered(engine: Engine, tokenizer: str | None) -> tuple[str, int]:
    """Return a prompt and its number of tokens, counted by the request's own `tokenizer`."""
    config = {} if tokenizer is None else {"tokenizer": tokenizer}
    answer = ask(engine, "renderPrompt", {"plan": PLAN, "config": config})
    return answer.prompt, answer.tokens


@pytest.mark.parametrize("named", ["blanks.json", "{root}/blanks.json", "{link}/blanks.json"])
def test_a_request_may_name_a_file_in_the_workspace(engines: list[Engine], root: Path, named: str) -> None:
    link = root.parent / "link"
    link.symlink_to(root, target_is_directory=True)
    prompt, tokens = rendered(opened(engines, link), named.format(root=root, link=link))
    assert tokens == len(prompt.split())


def test_a_request_may_count_without_the_file_of_the_settings(engines: list[Engine], root: Path) -> None:
    engine = opened(engines, root, str(root.parent / "outside.json"))
    prompt, tokens = rendered(engine, "characters")
    assert tokens == math.ceil(len(prompt) / 4)
    prompt, tokens = rendered(engine, "")
    assert tokens == load_vocabulary().count(prompt) != len(prompt.split())


@pytest.mark.parametrize("embedding", [True, False])
def test_the_code_model_counts_even_without_vectors(
    engines: list[Engine], tmp_path: Path, bare_data_dir: Path, embedding: bool
) -> None:
    prompt, tokens = rendered(opened(engines, tmp_path, embedding=embedding), None)
    assert tokens == load_vocabulary().count(prompt) != math.ceil(len(prompt) / 4)


def test_a_request_may_name_the_file_of_the_users_settings(engines: list[Engine], root: Path) -> None:
    outside = str(root.parent / "outside.json")
    engine = opened(engines, root, outside)
    for named in (None, outside):
        prompt, tokens = rendered(engine, named)
        assert tokens == len(prompt.split())
    with pytest.raises(InvalidRequestError, match="is not in the workspace"):
        rendered(engine, str(root.parent / "root" / ".." / "outside.json"))


@pytest.mark.parametrize(
    "named",
    [
        "{outside}.json", "{outside}-missing.json", "../outside.json", "link.json", "~/x.json",
        "/etc/passwd", "/dev/zero", "//host/share/x.json", r"\\host\share\x.json", r"\\.\pipe\x", "a\0b",
    ],
)  # fmt: skip
def test_a_request_learns_nothing_about_files_outside(
    engines: list[Engine], root: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "link.json").symlink_to(root.parent / "outside.json")
    engine = opened(engines, root)
    monkeypatch.setenv("HOME", str(root.parent))
    named = named.format(outside=root.parent / "outside")
    with pytest.raises(InvalidRequestError) as refused:
        rendered(engine, named)
    assert refused.value.field == "config.render.tokenizer"
    is_inside = named.startswith("~")  # a folder of that name may be in the workspace
    why = "it is not a regular file" if is_inside else "it is not in the workspace folder"
    assert f"{named!r} cannot be used: {why};" in str(refused.value)


def test_no_directory_pipe_or_huge_file_is_read(engines: list[Engine], root: Path) -> None:
    engine = opened(engines, root)
    os.truncate(root / "blanks.json", 200_000_001)
    with pytest.raises(InvalidRequestError, match="it is larger than 200,000,000 bytes"):
        rendered(engine, "blanks.json")
    with pytest.raises(InvalidRequestError, match="it is not a regular file"):
        rendered(engine, ".")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe")
        with pytest.raises(InvalidRequestError, match="it is not a regular file"):
            rendered(engine, "pipe")


@pytest.mark.parametrize("text", ["# Harbour\n", '{"name": "harbour"}', "[]", ""])
def test_a_file_that_is_not_a_tokenizer_is_refused_with_advice(
    engines: list[Engine], root: Path, text: str
) -> None:
    (root / "README.md").write_text(text)
    with pytest.raises(InvalidRequestError, match=r"'README\.md' cannot be used: .* give .*'characters'"):
        rendered(opened(engines, root), "README.md")


def test_a_link_that_replaced_the_workspaces_file_is_not_followed(engines: list[Engine], root: Path) -> None:
    (root / ".cairn.toml").write_text('discovery.render.tokenizer = "blanks.json"\n')
    engine = opened(engines, root)
    prompt, tokens = rendered(engine, None)
    assert tokens == len(prompt.split())
    (root / "blanks.json").unlink()
    (root / "blanks.json").symlink_to(root.parent / "outside.json")
    with pytest.raises(InvalidRequestError, match="is not in the workspace"):
        rendered(engine, None)
