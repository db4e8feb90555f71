"""Convert a BERT checkpoint to an ONNX graph from token ids to sentence vectors, node by node.

The usual export needs torch (hundreds of MB). The architecture is fixed and small, so this module writes the
graph itself; `tests/embedding` compares it with the original implementation. It needs the `model` extra.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from cairn.errors import ModelError

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_OUTPUT = "embedding"

# This is the first opset with exact Gelu (with erf) as one operator. It needs onnxruntime 1.17 or later.
_OPSET = 20
# This format version came with opset 20. It is the newest that every supported onnxruntime reads.
_IR_VERSION = 9
# This is added to the scores of padding, as in BERT's code. Its exp() is 0 in float32, and rows stay finite.
_MASKED = -10_000.0


def build_bert_graph(config: Mapping[str, Any], weights: Mapping[str, NDArray[np.float32]]) -> bytes:
    """Return the serialised ONNX model of a BERT encoder with mean pooling and L2 normalisation.

    `config` is the checkpoint's `config.json`, `weights` its tensors under their usual names. The inputs are
    `input_ids`, `attention_mask` and `token_type_ids`, each int64[batch, sequence]; the output `embedding` is
    float32[batch, hidden_size] of unit-length rows. Raise ModelError for another architecture.
    """
    positions = config.get("position_embedding_type", "absolute")
    kind = (config.get("model_type"), config.get("hidden_act"), positions)
    if kind != ("bert", "gelu", "absolute"):
        raise ModelError(
            f"Only BERT checkpoints with gelu and absolute positions can be converted, not {kind}."
        )
    try:
        return _BertGraph(config, weights).build()
    except KeyError as missing:
        raise ModelError(f"The checkpoint lacks {missing.args[0]}; it cannot be converted.") from missing


class _BertGraph:
    """The nodes and constants of the graph. Every method adds nodes and returns the name of their output."""

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, NDArray[np.float32]]) -> None:
        self._weights = weights
        self._hidden = int(config["hidden_size"])
        self._heads = int(config["num_attention_heads"])
        self._layers = int(config["num_hidden_layers"])
        self._epsilon = float(config["layer_norm_eps"])
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def build(self) -> bytes:
        x = self._embed_tokens()
        bias = self._attention_bias()
        for number in range(self._layers):
            x = self._layer(f"encoder.layer.{number}", x, bias)
        self._pool(x)
        graph = helper.make_graph(
            self._nodes,
            "bert_sentence_embedding",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
                for name in _INPUTS
            ],
            [helper.make_tensor_value_info(_OUTPUT, TensorProto.FLOAT, ["batch", self._hidden])],
            list(self._constants.values()),
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION
        )
        return bytes(model.SerializeToString(deterministic=True))

    def _embed_tokens(self) -> str:
        word, kind, position = (
            self._weight(f"embeddings.{name}_embeddings.weight")
            for name in ("word", "token_type", "position")
        )
        words = self._node("Gather", [word, "input_ids"], "embeddings/words")
        kinds = self._node("Gather", [kind, "token_type_ids"], "embeddings/kinds")
        length = self._node("Shape", ["input_ids"], "embeddings/length", start=1)
        zero = self._constant("zero", np.array([0], np.int64))
        positions = self._node("Slice", [position, zero, length], "embeddings/positions")
        both = self._node("Add", [words, kinds], "embeddings/words_and_kinds")
        total = self._node("Add", [both, positions], "embeddings/sum")
        return self._layer_norm("embeddings.LayerNorm", total)

    def _attention_bias(self) -> str:
        """Return float32[batch, 1, 1, sequence]: 0 for tokens, `_MASKED` for padding."""
        axes = self._constant("head_and_query_axes", np.array([1, 2], np.int64))
        mask = self._node("Unsqueeze", ["attention_mask", axes], "mask/expanded")
        as_float = self._node("Cast", [mask], "mask/float", to=TensorProto.FLOAT)
        padding = self._node("Sub", [self._constant("one", np.float32(1)), as_float], "mask/padding")
        return self._node("Mul", [padding, self._constant("masked", np.float32(_MASKED))], "mask/bias")

    def _layer(self, name: str, x: str, bias: str) -> str:
        mixed = self._attention(f"{name}.attention.self", x, bias)
        attended = self._linear(f"{name}.attention.output.dense", mixed)
        residual = self._node("Add", [attended, x], f"{name}/attention_residual")
        x = self._layer_norm(f"{name}.attention.output.LayerNorm", residual)
        wide = self._node("Gelu", [self._linear(f"{name}.intermediate.dense", x)], f"{name}/gelu")
        narrow = self._linear(f"{name}.output.dense", wide)
        residual = self._node("Add", [narrow, x], f"{name}/output_residual")
        return self._layer_norm(f"{name}.output.LayerNorm", residual)

    def _attention(self, name: str, x: str, bias: str) -> str:
        size = self._hidden // self._heads
        split = self._constant("split_heads", np.array([0, 0, self._heads, size], np.int64))
        join = self._constant("join_heads", np.array([0, 0, self._hidden], np.int64))
        # Keys are already transposed, so that the product with the queries needs no further node.
        order = {"query": [0, 2, 1, 3], "key": [0, 2, 3, 1], "value": [0, 2, 1, 3]}
        heads = {}
        for part, axes in order.items():
            rows = self._node("Reshape", [self._linear(f"{name}.{part}", x), split], f"{name}.{part}/split")
            heads[part] = self._node("Transpose", [rows], f"{name}.{part}/heads", perm=axes)
        scores = self._node("MatMul", [heads["query"], heads["key"]], f"{name}/scores")
        scale = self._constant("scale", np.float32(np.sqrt(size)))
        scaled = self._node("Div", [scores, scale], f"{name}/scaled")
        biased = self._node("Add", [scaled, bias], f"{name}/biased")
        weights = self._node("Softmax", [biased], f"{name}/weights", axis=-1)
        mixed = self._node("MatMul", [weights, heads["value"]], f"{name}/mixed")
        rows = self._node("Transpose", [mixed], f"{name}/rows", perm=[0, 2, 1, 3])
        return self._node("Reshape", [rows, join], f"{name}/joined")

    def _pool(self, x: str) -> str:
        """Return the sum over the real tokens, at unit length. The mean at unit length is the same."""
        axis = self._constant("sequence_axis", np.array([1], np.int64))
        mask = self._node("Cast", ["attention_mask"], "pool/mask", to=TensorProto.FLOAT)
        row = self._node("Unsqueeze", [mask, axis], "pool/row")
        total = self._node("Squeeze", [self._node("MatMul", [row, x], "pool/sum"), axis], "pool/flat")
        length = self._node("ReduceL2", [total, axis], "pool/length", keepdims=1)
        return self._node("Div", [total, length], _OUTPUT)

    def _linear(self, name: str, x: str) -> str:
        weight = self._weight(f"{name}.weight", transposed=True)
        product = self._node("MatMul", [x, weight], f"{name}/product")
        return self._node("Add", [product, self._weight(f"{name}.bias")], f"{name}/linear")

    def _layer_norm(self, name: str, x: str) -> str:
        inputs = [x, self._weight(f"{name}.weight"), self._weight(f"{name}.bias")]
        return self._node("LayerNormalization", inputs, f"{name}/normal", axis=-1, epsilon=self._epsilon)

    def _weight(self, name: str, *, transposed: bool = False) -> str:
        tensor = self._weights[name].astype(np.float32, copy=False)
        return self._constant(name, tensor.T if transposed else tensor)

    def _constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], name=output, **attributes))
        return output
