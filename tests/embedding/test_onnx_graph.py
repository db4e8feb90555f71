"""The graph builder writes valid ONNX, and reports what it cannot convert."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from cairn.embedding.model_files import InstalledModel
from cairn.embedding.onnx_graph import build_bert_graph

from cairn.errors import ModelError

CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "layer_norm_eps": 1e-12,
}


def test_installed_graph_is_valid_onnx(default_model: InstalledModel) -> None:
    path = default_model.folder / "model.onnx"
    onnx.checker.check_model(path, full_check=True)
    graph = onnx.load(path).graph
    assert [given.name for given in graph.input] == ["input_ids", "attention_mask", "token_type_ids"]
    assert [output.name for output in graph.output] == ["embedding"]


@pytest.mark.parametrize(
    "change",
    [{"model_type": "roberta"}, {"hidden_act": "relu"}, {"position_embedding_type": "relative_key"}],
    ids=lambda change: next(iter(change)),
)
def test_another_architecture_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match="Only BERT checkpoints"):
        build_bert_graph(CONFIG | change, {})


def test_missing_tensor_is_named() -> None:
    with pytest.raises(ModelError, match=r"lacks embeddings\.token_type_embeddings\.weight"):
        build_bert_graph(CONFIG, {"embeddings.word_embeddings.weight": np.zeros((4, 8), np.float32)})
