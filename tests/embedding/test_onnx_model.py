"""A user's own model embeds any text by onnxruntime, in any batch and thread, or says what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.embedding.conftest import ANY_TEXT, run_python
from tests.onnx_models import make_onnx_model

from cairn.embedding.onnx_model import OnnxEmbedder, find_model, load_embedder
from cairn.embedding.packaged import packaged_model
from cairn.embedding.shared import SharedModel
from cairn.errors import ModelError
from cairn.settings.tree import EmbeddingSettings

TEXTS = ["red green", "blue", "green", "", "red unknown words", "blue green red " * 200]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_onnx_model(tmp_path_factory.mktemp("models") / "colours")


@pytest.fixture(scope="module")
def embedder(folder: Path) -> OnnxEmbedder:
    return load_embedder(find_model(folder))


# --- vectors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("description", "pooled", "expected"),
    [
        ("", False, [0.6, 0.8, 0]),
        ('pooling = "mean"', False, [0.6, 0.8, 0]),
        ('pooling = "cls"', False, [1, 0, 0]),
        ("", True, [0.6, 0.8, 0]),
        ('pooling = "none"\ndimension = 3', True, [0.6, 0.8, 0]),
        # Cairn 0.2 wrote this for a model that it installed.
        ('name = "x"\nmax_tokens = 256\nnormalize = true\nsha256 = "f00d"', False, [0.6, 0.8, 0]),
    ],
)
def test_description_or_the_graph_decides_the_pooling(
    tmp_path: Path, description: str, pooled: bool, expected: list[float]
) -> None:
    embedder = load_embedder(find_model(make_onnx_model(tmp_path / "colours", description, pooled=pooled)))
    assert (embedder.dimension, embedder.model.dimension) == (3, 3)
    vectors = embedder.embed(["red green", "blue"], 64)
    np.testing.assert_allclose(vectors, [expected, np.full(3, 3**-0.5)], atol=1e-6)


def test_padding_does_not_count_in_the_mean(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(["red", "green green green green"], 64)
    np.testing.assert_allclose(vectors, [[1, 0, 0], [0, 1, 0]], atol=1e-6)


def test_vectors_do_not_depend_on_order_or_batch(embedder: OnnxEmbedder) -> None:
    together = embedder.embed(TEXTS, 256)
    np.testing.assert_allclose(embedder.embed(TEXTS[::-1], 256)[::-1], together, atol=1e-6)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(embedder.embed([text], 256)[0], vector, atol=1e-6)
    assert embedder.embed([], 64).shape == (0, 3)


def test_only_the_first_tokens_count(embedder: OnnxEmbedder) -> None:
    words = "red " * 30
    vectors = embedder.embed([words, words + "green", "green " + words], max_tokens=30)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    assert vectors[0] @ vectors[2] < 0.9999
    np.testing.assert_allclose(
        embedder.embed(["red " * 256 + "green"], 100_000), [[1, 0, 0]], atol=1e-6
    )  # The model's own limit.


def test_prefixes_are_put_before_texts_and_queries(tmp_path: Path) -> None:
    described = 'query_prefix = "ask "\ntext_prefix = "green "'
    embedder = load_embedder(find_model(make_onnx_model(tmp_path / "colours", described)))
    np.testing.assert_allclose(embedder.embed_queries(["red"])[0], np.array([3, 0, 2]) / 13**0.5, atol=1e-6)
    np.testing.assert_allclose(embedder.embed(["red"], 64)[0], [0.6, 0.8, 0], atol=1e-6)


@settings(max_examples=40)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=3))
@example(texts=["\ud800", "fine \udcff not", "\ude00\ud83d"])
def test_any_text_has_contiguous_unit_rows(embedder: OnnxEmbedder, texts: list[str]) -> None:
    vectors = embedder.embed(texts, 32)
    assert vectors.flags.c_contiguous
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.abs(embedder.embed_int8(texts, 32) - vectors * 127).max() < 0.501
    assert embedder.embed_queries_int8(texts).shape == (len(texts), 3)


def test_concurrent_queries_do_not_disturb_a_batch(embedder: OnnxEmbedder) -> None:
    expected, expected_queries = embedder.embed(TEXTS, 48), embedder.embed_queries(TEXTS)
    done = threading.Event()

    def query() -> float:
        largest = 0.0
        while not done.is_set():
            largest = max(largest, float(np.abs(embedder.embed_queries(TEXTS) - expected_queries).max()))
        return largest

    with ThreadPoolExecutor(2) as pool:
        queries = [pool.submit(query) for _ in range(2)]
        try:
            for _ in range(20):
                np.testing.assert_allclose(embedder.embed(TEXTS, 48), expected, atol=1e-6)
        finally:
            done.set()
    assert max(each.result() for each in queries) < 1e-6


# --- the folder --------------------------------------------------------------------------------------


def test_id_changes_with_the_files_and_their_use(tmp_path: Path) -> None:
    folder = make_onnx_model(tmp_path / "colours", 'name = "mine"')
    ids = [find_model(folder).id, find_model(folder).id]
    (folder / "cairn-model.toml").write_text('name = "mine"\ntext_prefix = "ask "')
    ids.append(find_model(folder).id)
    os.utime(folder / "model.onnx", (1, 1))
    ids.append(find_model(folder).id)
    (folder / "model.onnx_data").touch()
    ids.append(find_model(folder).id)
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4
    assert all(each.startswith("mine@") for each in ids)


@pytest.mark.parametrize(
    ("description", "pooled", "problem"),
    [
        ("dimension = 4", False, "vectors have 3 numbers, cairn-model.toml says 4"),
        ('pooling = "none"', False, "no output of 2 dimensions"),
        ('pooling = "mean"', True, "no output of 3 dimensions"),
        ("normalize = false", False, "do not have unit length"),
        ('pooling = "sum"', False, "pooling: expected one of"),
        ('pool = "cls"', False, "did you mean pooling"),
        ("dimension", False, "Expected '='"),
    ],
)
def test_wrong_description_is_an_error_with_a_remedy(
    tmp_path: Path, description: str, pooled: bool, problem: str
) -> None:
    folder = make_onnx_model(tmp_path / "colours", description, pooled=pooled)
    with pytest.raises(ModelError, match=rf"colours cannot be used: .*{problem}.*`embedding.model`"):
        load_embedder(find_model(folder))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_missing_and_damaged_files_are_errors_with_a_remedy(tmp_path: Path, name: str) -> None:
    folder = make_onnx_model(tmp_path / "colours")
    (folder / name).write_bytes((folder / name).read_bytes()[:40])
    with pytest.raises(ModelError, match=r"colours cannot be used: (.|\n)*`embedding.model`"):
        load_embedder(find_model(folder))
    (folder / name).unlink()
    with pytest.raises(ModelError, match=rf"it has no {name}\. Correct the folder or `embedding.model`"):
        find_model(folder)


# --- the process -------------------------------------------------------------------------------------


def test_importing_the_package_loads_no_model_library() -> None:
    loaded = run_python(
        "import sys, cairn.embedding.onnx_model; print(*{name.split('.')[0] for name in sys.modules})"
    )
    assert "cairn" in loaded.split()
    assert not {"onnxruntime", "tokenizers", "onnx"} & set(loaded.split())


def test_a_model_needs_no_network_threads_or_files_of_the_user(folder: Path, tmp_path: Path) -> None:
    """Without settings, onnxruntime reports usage and first writes to the user's folders."""
    code = (
        "import socket, sys\n"
        "from pathlib import Path\n"
        "def refuse(*args, **kwargs): raise AssertionError('network')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from cairn.embedding.onnx_model import _runtime, find_model, load_embedder\n"
        "_runtime()\n"
        "import psutil, tokenizers\n"
        "before = psutil.Process().num_threads()\n"
        "embedder = load_embedder(find_model(Path(sys.argv[1])))\n"
        "print(embedder.embed(['some text'] * 40, 32).shape, psutil.Process().num_threads() - before)\n"
    )
    unset = ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    variables = {name: value for name, value in os.environ.items() if name not in unset}
    variables |= dict.fromkeys(("HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA"), str(tmp_path))
    command = [sys.executable, "-c", code, str(folder)]
    printed = subprocess.run(command, env=variables, check=True, capture_output=True, text=True).stdout
    assert printed.strip() == "(40, 3) 0"
    assert list(tmp_path.iterdir()) == []


# --- shared ------------------------------------------------------------------------------------------


def test_own_model_is_loaded_once_and_makes_the_vectors(folder: Path) -> None:
    models = SharedModel(EmbeddingSettings(model=str(folder)))
    described, encoder = models.own(), models.encoder()
    assert described is not None
    assert encoder is not None
    assert (encoder.id, encoder.dimension) == (described.id, 3)
    assert models.encoder() is models.made_by(lambda model: model == described.id) is encoder
    assert models.made_by(lambda model: model == packaged_model().id) is models.static_table()
    assert models.made_by(lambda model: model == "other@1") is None


@pytest.mark.parametrize("damage", ["no folder", "no graph"])
def test_code_model_replaces_an_unusable_own_model(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    if damage == "no graph":
        (make_onnx_model(tmp_path / "colours") / "model.onnx").write_bytes(b"\x08 not a model")
    models = SharedModel(EmbeddingSettings(model=str(tmp_path / "colours")))
    assert [models.encoder(), models.encoder()] == [models.static_table()] * 2
    assert models.static_table() is not None
    with pytest.raises(ModelError, match=r"Correct the folder or `embedding\.model`"):
        models.own()
    assert sum("cannot be used" in record.getMessage() for record in caplog.records) == 1


def test_disabled_embedding_has_no_own_model(folder: Path) -> None:
    models = SharedModel(EmbeddingSettings(enabled=False, model=str(folder)))
    assert (models.own(), models.encoder()) == (None, None)
