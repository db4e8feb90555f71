"""A user's own embedding model: a folder with `model.onnx` and `tokenizer.json`, run on one core.

The folder may also have a `cairn-model.toml` with the fields of `Description`. onnxruntime and tokenizers are
imported when the model is loaded, so that a start without it is fast.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.embedding.static import to_int8
from cairn.errors import ModelError
from cairn.settings.layers import overlay
from cairn.text.unicode import well_formed

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

GRAPH_FILE, TOKENIZER_FILE, DESCRIPTION_FILE = "model.onnx", "tokenizer.json", "cairn-model.toml"

# The maximum number of tokens in one model call, padding included. A call with 4 texts of 64 tokens takes 50
# ms of one core, a short wait for a query. Larger calls are not faster and take more memory: the process
# grows by 10 MB with calls of at most 256 tokens, by 160 MB with calls of 16 x 256. One core embeds this many
# texts of 64 tokens per second: 78 one by one, 86 in fours, 87 in eights, 84 in sixteens.
_BATCH_TOKENS = 256
# Text is cut to this many characters per token before tokenisation, so that a minified file takes no longer
# than another. English and code have 3 to 5 characters per token; only huge words or blanks lose text.
_CHARACTERS_PER_TOKEN = 64
# The tolerance for unit length: the rows that a graph normalises in float32 are off by some 1e-7.
_UNIT_TOLERANCE = 1e-3
# The possible names of the output that is a text's vector: ours, and that of sentence-transformers.
_SENTENCE_OUTPUTS = ("embedding", "sentence_embedding")
_SENTENCE_RANK, _TOKEN_RANK = 2, 3
# This number means "errors only" in onnxruntime. Users cannot act on its warnings.
_LOG_ERRORS = 3
_DIGEST_DIGITS = 12
_REMEDY = (
    "Correct the folder or `embedding.model`, then start Cairn again; until then, the code model that comes"
    " with Cairn is used."
)


class Pooling(enum.StrEnum):
    """How the vectors of a text's tokens are combined into one."""

    AUTO = "auto"
    """`NONE` if a graph's output is the vector of the whole text, else `MEAN`."""
    MEAN = "mean"
    CLS = "cls"
    """The vector of the first token."""
    NONE = "none"


@frozen
class Description:
    """The content of `cairn-model.toml`."""

    name: str = ""
    """The name, that of the folder by default."""
    dimension: int = 0
    """The length of a vector; 0 leaves it to the graph."""
    max_tokens: int = 256
    """The maximum number of tokens, including special ones; longer texts are cut."""
    pooling: Pooling = Pooling.AUTO
    normalize: bool = True
    """Whether Cairn normalises the vectors; False if they have unit length already."""
    query_prefix: str = ""
    text_prefix: str = ""


@frozen
class OnnxModel:
    """A model's folder and how it is used, without the loaded model."""

    folder: Path
    described: Description
    id: str
    """The name and a digest that changes with the files. Vectors with different ids are never compared."""

    @property
    def name(self) -> str:
        return self.described.name

    @property
    def dimension(self) -> int:
        return self.described.dimension


def find_model(folder: Path) -> OnnxModel:
    """Return the model in `folder`. Raise ModelError with a remedy if a file is missing or wrong."""
    folder = folder.expanduser()
    digest = hashlib.sha256()
    try:
        for name in (GRAPH_FILE, TOKENIZER_FILE):
            if not (folder / name).is_file():
                raise ValueError(f"it has no {name}")
        described = _describe(folder)
        # Large graphs have data files beside them: `model.onnx_data`.
        for path in (*sorted(folder.glob(f"{GRAPH_FILE}*")), folder / TOKENIZER_FILE):
            status = path.stat()
            digest.update(repr((path.name, status.st_size, status.st_mtime_ns)).encode())
    except (OSError, ValueError) as problem:
        raise _unusable(folder, problem) from problem
    digest.update(repr(attrs.evolve(described, dimension=0)).encode())
    return OnnxModel(folder, described, f"{described.name}@{digest.hexdigest()[:_DIGEST_DIGITS]}")


def _describe(folder: Path) -> Description:
    """Return the description. Raise OSError or ValueError if the file cannot be read or has wrong values."""
    described = Description(re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name))
    path = folder / DESCRIPTION_FILE
    if not path.exists():
        return described
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    values.pop("sha256", None)  # Cairn 0.2 wrote it for the models that it installed.
    described, problems = overlay(described, values, DESCRIPTION_FILE)
    if problems:
        raise ValueError("; ".join(problems))
    return described


def _unusable(folder: Path, problem: object) -> ModelError:
    return ModelError(f"The embedding model in {folder} cannot be used: {problem}. {_REMEDY}")


class OnnxEmbedder:
    """A loaded model. It is immutable, so several threads may call it at once."""

    def __init__(self, model: OnnxModel, session: InferenceSession, tokenizer: Tokenizer) -> None:
        self.id = model.id
        """Vectors with different ids are never compared."""
        self._described = model.described
        self._session = session
        self._inputs = {given.name for given in session.get_inputs()}
        self._output, self._pooling = _choose_output(session, model.described.pooling)
        self._pad_id = _pad_id(tokenizer)
        # Truncation and padding are state that threads would share, so they are done here.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._special_tokens = tokenizer.num_special_tokens_to_add(False)
        self.dimension = self._tried_dimension()
        self.model = attrs.evolve(model, described=attrs.evolve(model.described, dimension=self.dimension))

    def embed(self, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
        """Return C-contiguous float32[n, dimension] of unit-length rows, in the order of `texts`. Only the
        first `max_tokens` tokens of a text count, special ones included, up to the model's limit."""
        return self._embed(texts, self._described.text_prefix, max_tokens)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors as `embed` does, for queries, after the model's query prefix."""
        return self._embed(texts, self._described.query_prefix, self._described.max_tokens)

    def embed_int8(
        self, texts: Sequence[str], max_tokens: int, bodies: Sequence[str] | None = None
    ) -> NDArray[np.int8]:
        """Return int8[n, dimension]: `embed` × 127, rounded. The bodies do not count: a neural network reads
        the beginning of a definition well enough."""
        return to_int8(self.embed(texts, max_tokens))

    def embed_queries_int8(self, texts: Sequence[str]) -> NDArray[np.int8]:
        return to_int8(self.embed_queries(texts))

    def _embed(self, texts: Sequence[str], prefix: str, max_tokens: int) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        rows = [self._token_ids(prefix + text, max_tokens) for text in texts]
        # Texts are sorted by length, because a batch is padded to its longest text.
        by_length = sorted(range(len(rows)), key=lambda position: len(rows[position]))
        batches = _batches(by_length, rows)
        parts = [self._run([rows[position] for position in batch]) for batch in batches]
        vectors: NDArray[np.float32] = np.concatenate(parts)[np.argsort(by_length)]
        return vectors

    def _token_ids(self, text: str, max_tokens: int) -> list[int]:
        """Return the token ids of `text` with the model's special tokens, which count."""
        room = max(1, min(max_tokens, self._described.max_tokens) - self._special_tokens)
        # Texts are processed one by one: the threads of `encode_batch` would occupy every core.
        encoding = self._tokenizer.encode(
            well_formed(text[: room * _CHARACTERS_PER_TOKEN]), add_special_tokens=False
        )
        encoding.truncate(room)
        ids: list[int] = self._tokenizer.post_process(encoding).ids
        # An empty text without special tokens has no ids, and a graph cannot run without input.
        return ids or [self._pad_id]

    def _run(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return float32[n, dimension] of unit-length rows for n texts as token ids, in one model call."""
        ids = np.full((len(rows), max(map(len, rows))), self._pad_id, np.int64)
        mask = np.zeros_like(ids)
        for position, row in enumerate(rows):
            ids[position, : len(row)] = row
            mask[position, : len(row)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {name: array for name, array in given.items() if name in self._inputs}
        (output,) = self._session.run([self._output], wanted)
        vectors = _pool(np.asarray(output, np.float32), mask, self._pooling)
        if self._described.normalize:
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
        return vectors

    def _tried_dimension(self) -> int:
        """Return the dimension of the vectors of a short and of a long text. Raise ValueError if the model
        does not fit its description."""
        rows = [self._token_ids(text, self._described.max_tokens) for text in ("sample", "sample " * 10_000)]
        vectors = self._run(rows)
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ValueError("it does not return one vector of numbers per text")
        dimension: int = vectors.shape[1]
        if self._described.dimension not in (0, dimension):
            described = self._described.dimension
            raise ValueError(f"its vectors have {dimension} numbers, {DESCRIPTION_FILE} says {described}")
        if np.abs(np.linalg.norm(vectors, axis=1) - 1).max() > _UNIT_TOLERANCE:
            raise ValueError(
                f"its vectors do not have unit length; remove `normalize = false` from {DESCRIPTION_FILE}"
            )
        return dimension


def load_embedder(model: OnnxModel, threads: int = 1) -> OnnxEmbedder:
    """Load the model: one of 90 MB takes 0.3 s and 160 MB. Raise ModelError with a remedy if it fails."""
    # onnxruntime and tokenizers raise undocumented types of exceptions for damaged files.
    try:
        tokenizer = load_tokenizer(model.folder / TOKENIZER_FILE)
        return OnnxEmbedder(model, _open_session(model.folder, threads), tokenizer)
    except Exception as problem:
        raise _unusable(model.folder, str(problem).rstrip(".")) from problem


def load_tokenizer(path: Path) -> Tokenizer:
    """Load a tokenizer's file. Raise an exception of any type if it cannot be read."""
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))


@functools.cache
def _runtime() -> Any:
    # onnxruntime reports usage to its maker unless this is set before its import. Version 1.31 does so even
    # on Linux, with an id of the machine and a first report in the user's cache folder.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # Older versions do not know the variable.
    return onnxruntime


def _open_session(folder: Path, threads: int) -> InferenceSession:
    onnxruntime = _runtime()
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
    """Return the graph's output to use, and how to pool it (never `AUTO`). Raise ValueError if none fits."""
    ranks: dict[str, int] = {output.name: len(output.shape) for output in session.get_outputs()}
    if pooling is Pooling.AUTO:
        whole = any(name in _SENTENCE_OUTPUTS for name in ranks) or _TOKEN_RANK not in ranks.values()
        pooling = Pooling.NONE if whole else Pooling.MEAN
    rank = _SENTENCE_RANK if pooling is Pooling.NONE else _TOKEN_RANK
    names = [name for name in ranks if ranks[name] == rank]
    if not names:
        raise ValueError(
            f'its graph has no output of {rank} dimensions, which pooling = "{pooling}" needs;'
            f" set pooling in {DESCRIPTION_FILE} to what the graph returns"
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


def _batches(by_length: list[int], rows: list[list[int]]) -> Iterator[list[int]]:
    """Yield batches of `by_length`, which are positions in `rows` from the shortest to the longest."""
    batch: list[int] = []
    for position in by_length:
        if batch and len(batch) >= _BATCH_TOKENS // len(rows[position]):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _pad_id(tokenizer: Tokenizer) -> int:
    padding: dict[str, Any] | None = tokenizer.padding
    if padding is not None:
        return int(padding["pad_id"])
    known = [tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>")]
    return next((number for number in known if number is not None), 0)
