"""Turn text into vectors with a tokenizer and an onnxruntime session, on one core.

onnxruntime and tokenizers are imported when a model is loaded, so that a start without a model is fast.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cairn.embedding.model_files import GRAPH_FILE, InstalledModel, Pooling, remedy
from cairn.embedding.tokenization import TextTokenizer, load_tokenizer
from cairn.errors import ModelError
from cairn.settings.tree import EmbeddingSettings

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

# The maximum number of tokens in one model call, padding included. A call with 4 texts of 64 tokens takes 50
# ms of one core, a short wait for a query. Larger calls are not faster and take more memory: the process
# grows by 10 MB with calls of at most 256 tokens, by 160 MB with calls of 16 x 256. One core embeds this many
# texts of 64 tokens per second: 78 one by one, 86 in fours, 87 in eights, 84 in sixteens.
_BATCH_TOKENS = 256
# The possible names of the output that is a text's vector: ours, and that of sentence-transformers.
_SENTENCE_OUTPUTS = ("embedding", "sentence_embedding")
_SENTENCE_RANK, _TOKEN_RANK = 2, 3
# This number means "errors only" in onnxruntime. Users cannot act on its warnings.
_LOG_ERRORS = 3


class Embedder:
    """A loaded model. It is immutable, so several threads may call it at once."""

    def __init__(
        self, model: InstalledModel, session: InferenceSession, tokenizer: TextTokenizer, batch_size: int
    ) -> None:
        self.model = model
        self._session = session
        self._inputs = {given.name for given in session.get_inputs()}
        self._output, self._pooling = _choose_output(session, model.pooling)
        self._tokenizer = tokenizer
        self._batch_size = max(1, batch_size)

    def embed(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """Return C-contiguous float32[n, dimension] of unit-length rows, in the order of `texts`. Only the
        first `max_tokens` tokens of a text count, special ones included, up to the model's limit."""
        prefix = self.model.text_prefix
        return self._embed_rows([self._token_ids(prefix + text, max_tokens) for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return float32[n, dimension] of unit-length rows for `texts` after the model's query prefix."""
        prefix = self.model.query_prefix
        return self._embed_rows([self._token_ids(prefix + text, self.model.max_tokens) for text in texts])

    def embed_ids(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return float32[n, dimension] of unit-length rows for n texts as token ids, in one model call. The
        ids are complete: they include special tokens, and are at least one and at most the model's limit."""
        ids = np.full((len(rows), max(map(len, rows))), self._tokenizer.pad_id, np.int64)
        mask = np.zeros_like(ids)
        for position, row in enumerate(rows):
            ids[position, : len(row)] = row
            mask[position, : len(row)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {name: array for name, array in given.items() if name in self._inputs}
        (output,) = self._session.run([self._output], wanted)
        vectors = _pool(np.asarray(output, np.float32), mask, self._pooling)
        if self.model.normalize:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return vectors

    def _token_ids(self, text: str, max_tokens: int) -> list[int]:
        ids = self._tokenizer.framed_ids(text, min(max_tokens, self.model.max_tokens))
        # An empty text without special tokens has no ids, and a graph cannot run without input.
        return ids or [self._tokenizer.pad_id]

    def _embed_rows(self, rows: list[list[int]]) -> NDArray[np.float32]:
        if not rows:
            return np.empty((0, self.model.dimension), np.float32)
        # Texts are sorted by length, because a batch is padded to its longest text.
        by_length = sorted(range(len(rows)), key=lambda position: len(rows[position]))
        batches = self._batches(by_length, rows)
        parts = [self.embed_ids([rows[position] for position in batch]) for batch in batches]
        vectors: NDArray[np.float32] = np.concatenate(parts)[np.argsort(by_length)]
        return vectors

    def _batches(self, by_length: list[int], rows: list[list[int]]) -> Iterator[list[int]]:
        """Yield batches of `by_length`, which are positions in `rows` from the shortest to the longest."""
        batch: list[int] = []
        for position in by_length:
            most = min(self._batch_size, _BATCH_TOKENS // len(rows[position]))
            if batch and len(batch) >= most:
                yield batch
                batch = []
            batch.append(position)
        if batch:
            yield batch


def load_embedder(model: InstalledModel, settings: EmbeddingSettings) -> Embedder:
    """Load `model`. The default takes 0.2 s and 160 MB. Raise ModelError if its files cannot be loaded."""
    tokenizer = load_tokenizer(model)
    # onnxruntime raises undocumented types of exceptions for damaged files.
    try:
        session = _open_session(model.folder, settings.threads)
    except Exception as problem:
        raise ModelError(
            f"The embedding model in {model.folder} cannot be loaded: {problem}\n{remedy(model.name)}"
        ) from problem
    return Embedder(model, session, tokenizer, settings.batch_size)


def _open_session(folder: Path, threads: int) -> InferenceSession:
    # onnxruntime reports usage to its maker unless this is set before its import. Version 1.31 does so even
    # on Linux, with an id of the machine and a first report in the user's cache folder.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # Older versions do not know the variable.
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = max(1, threads)
    options.inter_op_num_threads = 1
    # Idle threads must not occupy the core that the editor needs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # onnxruntime would keep a memory plan for every batch shape. Without plans the process is 80 MB smaller
    # after batches of 16 x 256 tokens, and equally fast. Without the arena it would be 2 to 6 % slower.
    options.enable_mem_pattern = False
    options.log_severity_level = _LOG_ERRORS
    return onnxruntime.InferenceSession(str(folder / GRAPH_FILE), options, providers=["CPUExecutionProvider"])


def _choose_output(session: InferenceSession, pooling: Pooling) -> tuple[str, Pooling]:
    """Return the graph's output to use, and how to pool it (never `AUTO`)."""
    ranks: dict[str, int] = {output.name: len(output.shape) for output in session.get_outputs()}
    if pooling is Pooling.AUTO:
        whole = any(name in _SENTENCE_OUTPUTS for name in ranks) or _TOKEN_RANK not in ranks.values()
        pooling = Pooling.NONE if whole else Pooling.MEAN
    rank = _SENTENCE_RANK if pooling is Pooling.NONE else _TOKEN_RANK
    names = [name for name in ranks if ranks[name] == rank]
    if not names:
        raise ModelError(
            f'The graph has no output of {rank} dimensions, which pooling = "{pooling}" needs.'
            " Set pooling in cairn-model.toml to what the graph returns."
        )
    return next((name for name in names if name in _SENTENCE_OUTPUTS), names[0]), pooling


def _pool(output: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling) -> NDArray[np.float32]:
    """Return float32[n, d] from a graph's output, float32[n, d] or [n, tokens, d]. `mask` is [n, tokens]."""
    if pooling is Pooling.NONE:
        return output
    if pooling is Pooling.CLS:
        return output[:, 0]
    weights = mask[:, :, None].astype(np.float32)
    mean: NDArray[np.float32] = (output * weights).sum(axis=1) / weights.sum(axis=1)
    return mean
