"""The installed default model for tests that only read it, and empty data folders and toy models for
others."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from cairn.embedding.embedder import Embedder, load_embedder
from cairn.embedding.model_files import InstalledModel, find_model
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from cairn.embedding.packaged import load_packaged
from cairn.embedding.static import StaticTable
from cairn.settings.tree import EmbeddingSettings

WORDS = ["<pad>", "?", "red", "green", "blue", "ask:"]
VECTORS = np.array([[9, 9, 9], [0, 0, 5], [3, 0, 0], [0, 4, 0], [1, 1, 1], [0, 0, 2]], np.float32)

FolderMaker = Callable[..., Path]

# Hypothesis's own text rarely has lone surrogates.
ANY_TEXT = st.lists(st.characters() | st.integers(0xD800, 0xDFFF).map(chr), max_size=60).map("".join)


def run_python(code: str) -> str:
    """Return the standard output of `code` in a new interpreter."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="session")
def default_model() -> InstalledModel:
    """The model in the real data folder, where set-up installed it."""
    model = find_model()
    if model is None:
        pytest.fail("The default model is not installed. Run `cairn model install` before the tests.")
    return model


@pytest.fixture(scope="session")
def embedder(default_model: InstalledModel) -> Embedder:
    """The default model, loaded once."""
    return load_embedder(default_model, EmbeddingSettings())


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder for this process and its children."""
    folder = tmp_path / "data"
    monkeypatch.setenv("CAIRN_DATA_DIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def static_table() -> StaticTable:
    return load_packaged()


@pytest.fixture
def make_folder(tmp_path: Path) -> FolderMaker:
    """A maker of model folders: each word has a vector in `VECTORS`; there are no special tokens."""

    def make(name: str = "colours", description: str = "", pooled: bool = False, scale: float = 1) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        nodes = [helper.make_node("Gather", ["table", "input_ids"], ["tokens"])]
        table = [numpy_helper.from_array(VECTORS * np.float32(scale), "table")]
        shape: list[str | int] = ["batch", "sequence", 3]
        if pooled:
            nodes.append(helper.make_node("ReduceMean", ["tokens", "axis"], ["sentence"], keepdims=0))
            table.append(numpy_helper.from_array(np.array([1]), "axis"))
            shape = ["batch", 3]
        graph = helper.make_graph(
            nodes,
            "colours",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])],
            [helper.make_tensor_value_info("sentence" if pooled else "tokens", TensorProto.FLOAT, shape)],
            table,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.save(model, folder / "model.onnx")
        tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, "?"))
        tokenizer.pre_tokenizer = WhitespaceSplit()
        tokenizer.save(str(folder / "tokenizer.json"))
        if description:
            (folder / "cairn-model.toml").write_text(description, encoding="utf-8")
        return folder

    return make
