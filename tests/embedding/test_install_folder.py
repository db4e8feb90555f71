"""A user's own model is installed if its graph and tokenizer work."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cairn.embedding.embedder import load_embedder
from cairn.embedding.install import install_folder
from cairn.embedding.model_files import find_model, models_dir
from tests.embedding.conftest import FolderMaker

from cairn.errors import ModelError
from cairn.settings.tree import EmbeddingSettings


def quiet(line: str) -> None:
    pass


@pytest.mark.parametrize(
    ("description", "pooled", "expected"),
    [
        ("", False, [0.6, 0.8, 0]),
        ('pooling = "mean"', False, [0.6, 0.8, 0]),
        ('pooling = "cls"', False, [1, 0, 0]),
        ("", True, [0.6, 0.8, 0]),
        ('pooling = "none"\ndimension = 3', True, [0.6, 0.8, 0]),
    ],
)
def test_description_or_the_graph_decides_the_pooling(
    data_dir: Path, make_folder: FolderMaker, description: str, pooled: bool, expected: list[float]
) -> None:
    model = install_folder(make_folder(description=description, pooled=pooled), quiet)
    assert (model.name, model.dimension) == ("colours", 3)
    vectors = load_embedder(model, EmbeddingSettings()).embed(["red green", "blue"], 64)
    np.testing.assert_allclose(vectors, [expected, np.full(3, 3**-0.5)], atol=1e-6)


def test_padding_does_not_count_in_the_mean(data_dir: Path, make_folder: FolderMaker) -> None:
    embedder = load_embedder(install_folder(make_folder(), quiet), EmbeddingSettings())
    vectors = embedder.embed(["red", "green green green green"], 64)
    np.testing.assert_allclose(vectors, [[1, 0, 0], [0, 1, 0]], atol=1e-6)


def test_empty_text_without_special_tokens_has_a_vector(data_dir: Path, make_folder: FolderMaker) -> None:
    embedder = load_embedder(install_folder(make_folder(), quiet), EmbeddingSettings())
    np.testing.assert_allclose(np.linalg.norm(embedder.embed(["", "red"], 64), axis=1), 1, atol=1e-6)


def test_installed_model_is_an_active_copy(data_dir: Path, make_folder: FolderMaker) -> None:
    source = make_folder(description='name = "my-model"\nquery_prefix = "ask: "')
    installed = install_folder(source, quiet)
    for file in source.iterdir():
        file.unlink()
    model = find_model()
    assert model == installed
    assert model.folder == data_dir / "models" / "my-model"
    query = load_embedder(model, EmbeddingSettings()).embed_queries(["red"])[0]
    np.testing.assert_allclose(query, np.array([3, 0, 2]) / 13**0.5, atol=1e-6)


def test_id_changes_with_the_vectors(data_dir: Path, make_folder: FolderMaker) -> None:
    named = 'name = "same"\n'
    ids = [
        install_folder(make_folder("a", named), quiet).id,
        install_folder(make_folder("b", named + 'text_prefix = "ask: "'), quiet).id,
        install_folder(make_folder("c", named, scale=2), quiet).id,
        install_folder(make_folder("d", named), quiet).id,
    ]
    assert ids[0] == ids[3]
    assert len(set(ids)) == 3
    assert [folder.name for folder in models_dir().iterdir() if folder.is_dir()] == ["same"]


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ("dimension = 4", "returns 3 numbers per vector, its description says 4"),
        ('pooling = "none"', "no output of 2 dimensions"),
        ("normalize = false", "do not have unit length"),
        ('name = "../colours"', "is not a model name"),
        ('pooling = "sum"', "pooling: expected one of"),
        ("dimension", "cannot be read"),
    ],
)
def test_wrong_description_is_refused_and_keeps_the_active_model(
    data_dir: Path, make_folder: FolderMaker, description: str, problem: str
) -> None:
    before = install_folder(make_folder("good"), quiet)
    with pytest.raises(ModelError, match=problem):
        install_folder(make_folder("bad", description), quiet)
    assert find_model() == before
    assert [folder.name for folder in models_dir().iterdir() if folder.is_dir()] == ["good"]


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_missing_and_damaged_files_are_refused(data_dir: Path, make_folder: FolderMaker, name: str) -> None:
    folder = make_folder()
    (folder / name).write_bytes(b"\x08 not a model")
    with pytest.raises(ModelError, match="cannot be loaded"):
        install_folder(folder, quiet)
    (folder / name).unlink()
    with pytest.raises(ModelError, match=f"has no {name}"):
        install_folder(folder, quiet)
    assert find_model() is None
