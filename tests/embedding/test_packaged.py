"""The packaged code model is found without numpy, used only if intact, and identified by its content."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.embedding.conftest import run_python

from cairn.embedding import packaged
from cairn.embedding.packaged import PackagedModel, describe_packaged, load_packaged, packaged_model
from cairn.embedding.shared import SharedModel
from cairn.embedding.static import entry_type
from cairn.errors import ModelError
from cairn.settings.tree import EmbeddingSettings

PIECES = ["berth", "ship", "##yard"]


def make(folder: Path, pieces: list[str] = PIECES, dimension: int = 4) -> PackagedModel:
    folder.mkdir(exist_ok=True)
    entries = np.zeros(len(pieces), entry_type(dimension))
    entries["scale"] = entries["query_scale"] = 0.01
    entries["vector"] = np.arange(entries["vector"].size).reshape(-1, dimension) + 1
    np.save(folder / "vectors.npy", entries)
    (folder / "vocabulary.txt").write_bytes("\n".join([*pieces, ""]).encode())
    return describe_packaged(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make(tmp_path / "model")
    return tmp_path / "model"


def test_packaged_model_matches_its_description() -> None:
    model, table = packaged_model(), load_packaged()
    assert (table.id, table.dimension) == (model.id, model.dimension)
    assert model.id.startswith("cairn-code@")


def test_dimension_and_vocabulary_come_from_the_files(folder: Path) -> None:
    table = load_packaged(folder)
    assert table.dimension == 4
    shipyard = np.array([5 + 9, 6 + 10, 7 + 11, 8 + 12], np.float32)
    shipyard /= np.linalg.norm(shipyard)
    np.testing.assert_allclose(table.embed(["the shipyard"], 8)[0], shipyard, rtol=1e-6)


def test_id_changes_with_vectors_vocabulary_and_recipe(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = packaged_model(folder)
    others = (make(tmp_path / "other", ["berth", "ship", "yard"]), make(tmp_path / "wider", dimension=5))
    ids = {each.id for each in (model, *others)}
    monkeypatch.setattr(packaged, "_RECIPE", 99)
    assert len({*ids, model.id}) == 4


def flip_last_bit(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


DAMAGES = {"cut": lambda content: content[: len(content) // 2], "flip": flip_last_bit, "empty": lambda _: b""}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("name", ["vectors.npy", "vocabulary.txt", "cairn-model.toml"])
def test_damaged_file_is_an_error_with_a_remedy(
    folder: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(damage(content))
    with pytest.raises(ModelError, match=r"comes with Cairn cannot be used: .*\. Install Cairn again\."):
        load_packaged(folder)
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"{name}.*Install Cairn again"):
        packaged_model(folder)


@pytest.mark.parametrize(
    "entries",
    [np.zeros(3), np.zeros(2, entry_type(4)), np.zeros(3, [("scale", "<f4"), ("vector", "i1", (4,))])],
    ids=["no vectors", "fewer than pieces", "without a scale for questions"],
)
def test_mismatched_vectors_cannot_be_described(folder: Path, entries: object) -> None:
    np.save(folder / "vectors.npy", np.asarray(entries))
    with pytest.raises(ValueError, match=r"vectors\.npy"):
        describe_packaged(folder)


def test_description_is_read_without_numpy() -> None:
    code = (
        "import sys\n"
        "from cairn.settings.tree import EmbeddingSettings\n"
        "from cairn.embedding.shared import SharedModel\n"
        "assert SharedModel(EmbeddingSettings()).packaged().dimension\n"
        "print(sorted({'numpy', 'tokenizers', 'onnxruntime'} & set(sys.modules)))\n"
    )
    assert run_python(code).strip() == "[]"


# --- shared ------------------------------------------------------------------------------------------


def test_code_model_loads_once() -> None:
    models = SharedModel(EmbeddingSettings())
    table = models.static_table()
    assert table is not None
    assert models.static_table() is models.encoder() is table
    described = models.packaged()
    assert described is not None
    assert table.id == described.id


def test_disabled_embedding_has_no_code_model() -> None:
    models = SharedModel(EmbeddingSettings(enabled=False))
    assert (models.packaged(), models.static_table()) == (None, None)
    assert models.count_tokens("a ship") == SharedModel(EmbeddingSettings()).count_tokens("a ship") == 2


def test_damaged_code_model_is_logged_once_and_raised_to_callers(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    models = SharedModel(EmbeddingSettings(), folder)
    assert models.packaged() is not None
    (folder / "vectors.npy").write_bytes(flip_last_bit((folder / "vectors.npy").read_bytes()))
    with caplog.at_level(logging.WARNING):
        assert [models.static_table() for _ in range(3)] == [None, None, None]
    messages = [record.getMessage() for record in caplog.records]
    assert [message for message in messages if "Install Cairn again" in message] == [
        "The code model that comes with Cairn cannot be used: its content has changed. Install Cairn again."
    ]
    with pytest.raises(ModelError, match="Install Cairn again"):
        models.packaged()


def test_missing_code_model_is_raised_to_callers(folder: Path) -> None:
    shutil.rmtree(folder)
    models = SharedModel(EmbeddingSettings(), folder)
    assert models.static_table() is None
    assert models.count_tokens("characters are counted by fours") == 8
    with pytest.raises(ModelError, match="Install Cairn again"):
        models.packaged()
