"""The default model's vectors agree with the original's, in any batch, on any thread, for any text."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from cairn.embedding.embedder import Embedder, load_embedder
from cairn.embedding.model_files import InstalledModel
from cairn.embedding.tokenization import load_tokenizer
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.embedding.conftest import ANY_TEXT, run_python

from cairn.errors import ModelError
from cairn.settings.tree import EmbeddingSettings

DATA = Path(__file__).parents[1] / "data" / "embedding"
REFERENCE = json.loads((DATA / "reference.json").read_text("utf-8"))["entries"]
TEXTS = [entry["text"] for entry in REFERENCE]


@pytest.mark.parametrize("entry", REFERENCE, ids=lambda entry: entry["name"])
def test_vectors_agree_with_the_original_implementation(embedder: Embedder, entry: dict[str, Any]) -> None:
    expected = np.frombuffer(base64.b64decode(entry["float32"]), "<f4")
    assert embedder.embed([entry["text"]], max_tokens=256)[0] @ expected >= 0.999
    assert embedder.embed_queries([entry["text"]])[0] @ expected >= 0.999


def test_vectors_do_not_depend_on_order_or_batch(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS, 256)
    backwards = embedder.embed(TEXTS[::-1], 256)[::-1]
    for text, first, second in zip(TEXTS, together, backwards, strict=True):
        alone = embedder.embed([text], 256)[0]
        assert first @ alone >= 0.9999
        assert second @ alone >= 0.9999


def test_rows_are_contiguous_float32_of_unit_length(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS * 3, 64)
    assert vectors.shape == (3 * len(TEXTS), embedder.model.dimension) == (3 * len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_loading_a_model_reports_and_stores_nothing_about_the_user(
    embedder: Embedder, tmp_path: Path
) -> None:
    """Without settings, onnxruntime reports usage and first writes to the user's folders."""
    source = (
        "import sys\n"
        "from pathlib import Path\n"
        "from cairn.settings.tree import EmbeddingSettings\n"
        "from cairn.embedding.embedder import load_embedder\n"
        "from cairn.embedding.model_files import read_model\n"
        "load_embedder(read_model(Path(sys.argv[1])), EmbeddingSettings()).embed_queries(['sample'])\n"
    )
    unset = ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    variables = {name: value for name, value in os.environ.items() if name not in unset}
    homes = ("HOME", "USERPROFILE", "LOCALAPPDATA", "APPDATA")
    variables |= dict.fromkeys(homes, str(tmp_path))
    command = [sys.executable, "-c", source, str(embedder.model.folder)]
    subprocess.run(command, env=variables, check=True)
    assert list(tmp_path.iterdir()) == []


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([], 64).shape == (0, 384)


def test_only_the_first_tokens_count(embedder: Embedder) -> None:
    words = " ".join(["index"] * 30)
    vectors = embedder.embed([words, words + " zebra", "zebra " + words], max_tokens=32)
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    assert vectors[0] @ vectors[2] < 0.99
    longer = embedder.embed([words, words + " zebra"], max_tokens=33)
    assert longer[0] @ longer[1] < 0.99


def test_model_limit_is_never_exceeded(embedder: Embedder) -> None:
    long = "word " * 5_000
    np.testing.assert_allclose(embedder.embed([long], 100_000), embedder.embed([long], 256), atol=1e-6)


def test_tokens_are_counted_over_the_whole_text(embedder: Embedder) -> None:
    embedder.embed(["one two three"], max_tokens=3)
    assert load_tokenizer(embedder.model).count("one two three") == 3
    assert load_tokenizer(embedder.model).count("word " * 3_000) == 3_000
    assert load_tokenizer(embedder.model).count("") == 0


@settings(max_examples=40)
@given(texts=st.lists(ANY_TEXT, min_size=1, max_size=3))
@example(texts=["\ud800", "fine \udcff not", "\ude00\ud83d"])
def test_any_text_has_a_vector(embedder: Embedder, texts: list[str]) -> None:
    vectors = embedder.embed(texts, 32)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.isfinite(embedder.embed_queries(texts)).all()
    assert all(load_tokenizer(embedder.model).count(text) >= 0 for text in texts)


def test_concurrent_queries_do_not_disturb_a_batch(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS, 48)
    expected_queries = [embedder.embed_queries([text])[0] for text in TEXTS]
    done = threading.Event()

    def query() -> list[float]:
        differences = []
        while not done.is_set():
            for text, vector in zip(TEXTS, expected_queries, strict=True):
                differences.append(float(np.abs(embedder.embed_queries([text])[0] - vector).max()))
                load_tokenizer(embedder.model).count(text)
        return differences

    with ThreadPoolExecutor(2) as pool:
        queries = [pool.submit(query) for _ in range(2)]
        try:
            for _ in range(3):
                np.testing.assert_allclose(embedder.embed(TEXTS, 48), expected, atol=1e-5)
        finally:
            done.set()
    assert all(0 <= max(each.result()) < 1e-5 for each in queries)


def test_long_texts_are_embedded_two_by_two(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    embed_ids = embedder.embed_ids

    def counted(rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        sizes.append(len(rows))
        return embed_ids(rows)

    monkeypatch.setattr(embedder, "embed_ids", counted)
    embedder.embed(["word " * 500] * 6, 128)
    assert sizes == [2, 2, 2]


def test_prefixes_are_put_before_texts_and_queries(default_model: InstalledModel, embedder: Embedder) -> None:
    model = attrs.evolve(default_model, query_prefix="query: ", text_prefix="passage: ")
    prefixed = load_embedder(model, EmbeddingSettings())
    query, text = embedder.embed_queries(["query: tea"]), embedder.embed(["passage: tea"], 64)
    np.testing.assert_allclose(prefixed.embed_queries(["tea"]), query, atol=1e-6)
    np.testing.assert_allclose(prefixed.embed(["tea"], 64), text, atol=1e-6)


@pytest.mark.parametrize("damaged", ["model.onnx", "tokenizer.json"])
def test_damaged_file_is_an_error_with_a_remedy(
    default_model: InstalledModel, tmp_path: Path, damaged: str
) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        content = (default_model.folder / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2] if name == damaged else content)
    with pytest.raises(ModelError, match="cairn model install"):
        load_embedder(attrs.evolve(default_model, folder=tmp_path), EmbeddingSettings())


def test_importing_the_package_loads_no_model_library() -> None:
    heavy = {"onnxruntime", "tokenizers", "onnx", "safetensors", "huggingface_hub"}
    loaded = run_python("import sys, cairn.embedding; print(*{name.split('.')[0] for name in sys.modules})")
    assert "cairn" in loaded.split()
    assert not heavy & set(loaded.split())


def test_embedding_starts_no_threads(default_model: InstalledModel) -> None:
    threads = run_python(
        "import psutil, onnxruntime, tokenizers\n"
        "from cairn.settings.tree import EmbeddingSettings\n"
        "from cairn.embedding.embedder import load_embedder\n"
        "from cairn.embedding.model_files import find_model\n"
        "before = psutil.Process().num_threads()\n"
        "embedder = load_embedder(find_model(), EmbeddingSettings())\n"
        "embedder.embed(['some text'] * 40, 32)\n"
        "print(before, psutil.Process().num_threads())\n"
    )
    before, after = threads.split()
    assert before == after


def test_installed_model_needs_no_network(default_model: InstalledModel) -> None:
    output = run_python(
        "import socket\n"
        "def refuse(*args, **kwargs): raise AssertionError('network')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from cairn.settings.tree import EmbeddingSettings\n"
        "from cairn.embedding.embedder import load_embedder\n"
        "from cairn.embedding.install import install_default\n"
        "from cairn.embedding.model_files import find_model\n"
        "assert install_default(print).id == find_model().id\n"
        "print(load_embedder(find_model(), EmbeddingSettings()).embed(['tea'], 16).shape)\n"
    )
    assert output.strip() == "(1, 384)"


def test_queries_do_not_depend_on_their_batch(embedder: Embedder) -> None:
    texts = ["routing", "how are sessions signed and stored in a cookie"]
    together = embedder.embed_queries(texts)
    alone = np.stack([embedder.embed_queries([text])[0] for text in texts])
    assert np.allclose(together, alone, atol=1e-5)
