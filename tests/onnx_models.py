"""Small models in ONNX, as users may have their own: each word has a vector, without special tokens."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import BertPreTokenizer

COLOURS: Mapping[str, Sequence[float]] = {
    "<pad>": (9, 9, 9),
    "?": (0, 0, 5),
    "red": (3, 0, 0),
    "green": (0, 4, 0),
    "blue": (1, 1, 1),
    "ask": (0, 0, 2),
}


def make_onnx_model(
    folder: Path,
    description: str = "",
    *,
    words: Mapping[str, Sequence[float]] = COLOURS,
    pooled: bool = False,
    detours: int = 0,
) -> Path:
    """Make a model's folder and return it. The graph returns a vector for each token or, if `pooled`, their
    mean. `words` must have `?`, which stands for every other word. Each of the `detours` multiplies the
    vectors by one, which makes the model slow if they are long."""
    folder.mkdir()
    table = np.array(list(words.values()), np.float32)
    names = [*(f"detour{number}" for number in range(detours)), "tokens"]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], names[:1])]
    nodes += [helper.make_node("MatMul", [name, "one"], [after]) for name, after in itertools.pairwise(names)]
    constants = [numpy_helper.from_array(table, "table")]
    if detours:
        constants.append(numpy_helper.from_array(np.identity(table.shape[1], np.float32), "one"))
    shape: list[str | int] = ["batch", "sequence", table.shape[1]]
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["tokens", "axis"], ["sentence"], keepdims=0))
        constants.append(numpy_helper.from_array(np.array([1]), "axis"))
        shape = ["batch", table.shape[1]]
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])
    vectors = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "words", [ids], [vectors], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.save(model, folder / "model.onnx")
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(words)}, "?"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    if description:
        (folder / "cairn-model.toml").write_text(description, encoding="utf-8")
    return folder
