"""Runs the model by onnxruntime over texts, and nothing else, for comparison with the transformer's pass.

It reads lines of JSON, each a list of [token cap, text], and answers each with [seconds, CPU seconds]. It
uses one thread and batches of 16 texts sorted by length, which is the usual fast way to embed them.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

from cairn.embedding.model_files import GRAPH_FILE, TOKENIZER_FILE, find_model

_BATCH = 16


def main() -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    model = find_model()
    if model is None:
        sys.exit("No embedding model is installed. Run `cairn model install`.")
    tokenizer = Tokenizer.from_file(str(model.folder / TOKENIZER_FILE))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(model.folder / GRAPH_FILE), options, providers=["CPUExecutionProvider"]
    )
    inputs = {tensors.name for tensors in session.get_inputs()}

    def embed(texts: list[str], cap: int) -> None:
        tokenizer.enable_truncation(min(cap, model.max_tokens))
        tokenizer.enable_padding()
        ordered = sorted(texts, key=len)
        for start in range(0, len(ordered), _BATCH):
            encoded = tokenizer.encode_batch(ordered[start : start + _BATCH])
            ids = np.array([encoding.ids for encoding in encoded], np.int64)
            mask = np.array([encoding.attention_mask for encoding in encoded], np.int64)
            tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            session.run(None, {name: array for name, array in tensors.items() if name in inputs})

    embed(["a first run, which allocates"] * _BATCH, 64)
    print("ready", flush=True)
    for line in sys.stdin:
        texts = json.loads(line)
        began, cpu = time.perf_counter(), time.process_time()
        for cap in sorted({cap for cap, _ in texts}):
            embed([text for of, text in texts if of == cap], cap)
        print(json.dumps([time.perf_counter() - began, time.process_time() - cpu]), flush=True)


if __name__ == "__main__":
    main()
