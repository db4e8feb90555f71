"""The static table: what its vectors are, and that only a whole one that fits the model is ever used."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.config import EmbeddingSettings
from cairn.embedding.embedder import load_embedder
from cairn.embedding.install import ensure_static, install_folder
from cairn.embedding.model_files import InstalledModel
from cairn.embedding.static import StaticTable, find_static

FolderMaker = Callable[..., Path]


def quiet(line: str) -> None:
    """A report that nobody reads."""


@pytest.fixture
def toy(data_dir: Path, make_folder: FolderMaker) -> InstalledModel:
    """A model of six words in three dimensions, installed."""
    return install_folder(make_folder(), quiet)


def found(model: InstalledModel) -> StaticTable:
    table = find_static(model)
    assert table is not None
    return table


def table_file(model: InstalledModel) -> Path:
    (path,) = model.folder.glob("static-*")
    return path


# --- vectors -----------------------------------------------------------------------------------------


def test_a_texts_vector_is_the_sum_of_its_tokens_vectors_less_their_mean(toy: InstalledModel) -> None:
    tokens = load_embedder(toy, EmbeddingSettings()).embed_ids([[number] for number in range(6)])
    centred = tokens - tokens.mean(axis=0)
    red, green, blue = centred[2:5]
    expected = np.stack([red, red + green, 2 * blue + green])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    vectors = found(toy).embed(["red", "red green", "blue green blue"], 64)
    # The axes are others, the angles are the same but for the rounding of the table.
    np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=0.02)


def test_what_means_the_like_is_closer(static_table: StaticTable) -> None:
    query = static_table.embed_query("how are cookies signed")
    texts = ["sessions stored in a signed cookie", "resize the window", "parse a date"]
    similarities = static_table.embed(texts, 64) @ query
    assert similarities[0] > max(similarities[1:]) + 0.2


def test_only_the_first_tokens_count(toy: InstalledModel) -> None:
    red, both = found(toy).embed(["red red", "red red green"], 2)
    np.testing.assert_array_equal(red, both)
    assert found(toy).embed(["red red green"], 3)[0] @ red < 0.99


def test_vectors_do_not_depend_on_the_other_texts(static_table: StaticTable) -> None:
    # More than a batch, with texts without tokens at its start, in the middle and at its end.
    texts = ["", *(f"word {number} of many" for number in range(200)), "", "", "last", ""]
    together = static_table.embed(texts, 64)
    alone = np.concatenate([static_table.embed([text], 64) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert len({row.tobytes() for row in together[1:201]}) == 200


ANY_TEXT = st.lists(st.characters() | st.integers(0xD800, 0xDFFF).map(chr), max_size=60).map("".join)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(ANY_TEXT, max_size=4))
def test_any_texts_have_contiguous_unit_rows(static_table: StaticTable, texts: list[str]) -> None:
    vectors = static_table.embed(texts, 32)
    assert vectors.shape == (len(texts), static_table.dimension)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_int8_rows_have_the_same_angles(static_table: StaticTable) -> None:
    texts = ["open a file", "close the file", "window", "", "a"]
    rows = static_table.embed_int8(texts, 64)
    assert rows.dtype == np.int8
    exact = static_table.embed(texts, 64)
    scaled = rows / np.linalg.norm(rows.astype(np.float32), axis=1, keepdims=True)
    np.testing.assert_allclose(scaled @ scaled.T, exact @ exact.T, atol=0.02)
    assert np.abs(rows - exact * 127).max() < 0.501


def test_threads_do_not_disturb_each_other(static_table: StaticTable) -> None:
    texts = [f"text {number} about files" for number in range(300)]
    expected = static_table.embed(texts, 64)
    results: list[bool] = []

    def embed() -> None:
        results.append(all(np.array_equal(static_table.embed(texts, 64), expected) for _ in range(3)))

    threads = [threading.Thread(target=embed) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 3


def test_it_needs_neither_onnxruntime_nor_threads(static_table: StaticTable) -> None:
    code = (
        "import sys, psutil, tokenizers\n"
        "from cairn.embedding.model_files import find_model\n"
        "from cairn.embedding.static import find_static\n"
        "before = psutil.Process().num_threads()\n"
        "find_static(find_model()).embed(['some text'] * 300, 32)\n"
        "print(psutil.Process().num_threads() - before, 'onnxruntime' in sys.modules)\n"
    )
    outcome = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert outcome.stdout.split() == ["0", "False"]


# --- finding and making ------------------------------------------------------------------------------


def test_its_id_names_the_model_and_changes_with_it(data_dir: Path, make_folder: FolderMaker) -> None:
    first = install_folder(make_folder("a", 'name = "same"\n'), quiet)
    first_id = found(first).id
    second = install_folder(make_folder("b", 'name = "same"\ntext_prefix = "ask: "'), quiet)
    assert first_id.startswith(first.id)
    assert found(second).id.startswith(second.id)
    assert first_id != found(second).id


def test_without_a_table_there_is_none(toy: InstalledModel) -> None:
    table_file(toy).unlink()
    assert find_static(toy) is None
    assert find_static(attrs.evolve(toy, folder=toy.folder / "absent")) is None


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip_last_bit(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


@pytest.mark.parametrize("damage", [cut, flip_last_bit, lambda content: b""], ids=["cut", "bit", "empty"])
def test_a_damaged_table_is_not_used_and_made_anew(
    toy: InstalledModel, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    path, before = table_file(toy), found(toy).id
    path.write_bytes(damage(path.read_bytes()))
    assert find_static(toy) is None
    assert path.name in caplog.text
    made = ensure_static(toy, quiet)
    assert made is not None
    assert found(toy).id == made.id == before


def test_the_table_of_another_model_is_not_used(toy: InstalledModel) -> None:
    assert find_static(attrs.evolve(toy, sha256="f" * 64)) is None


def test_a_damaged_tokenizer_leaves_no_table(toy: InstalledModel) -> None:
    (toy.folder / "tokenizer.json").write_text("{", encoding="utf-8")
    assert find_static(toy) is None


def test_an_intact_table_is_not_made_again(toy: InstalledModel) -> None:
    lines: list[str] = []
    made = ensure_static(toy, lines.append)
    assert made is not None
    assert made.id == found(toy).id
    assert lines == []


def test_a_model_without_its_table_gets_it(toy: InstalledModel) -> None:
    before = found(toy).id
    table_file(toy).unlink()
    lines: list[str] = []
    made = ensure_static(toy, lines.append)
    assert made is not None
    assert made.id == found(toy).id == before
    assert any("Distilling" in line for line in lines)


def test_a_full_disk_leaves_no_half_table(toy: InstalledModel, monkeypatch: pytest.MonkeyPatch) -> None:
    table_file(toy).unlink()
    write = np.lib.format.write_array

    def write_half(file, array, **options) -> None:  # type: ignore[no-untyped-def]
        write(file, array[: len(array) // 2], **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", write_half)
    lines: list[str] = []
    assert ensure_static(toy, lines.append) is None
    assert any("without a static table" in line and "No space left" in line for line in lines)
    assert list(toy.folder.glob("static*")) == []
