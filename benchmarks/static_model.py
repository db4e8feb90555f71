#!/usr/bin/env python3
"""Measure the code model that comes with Cairn: embedding speed on one core, time for a query, loading time
and size.

    python benchmarks/static_model.py FOLDER [--runs 5] [--output FILE]

FOLDER's files are cut into chunks and embedded like the indexer does it, words and pieces included, in pages
like its own. Skeletons are the texts of code, with the code below them and without (`alone`). Each run is a
fresh process, so that no word is cached.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from engine.figures import Figures, medians, run_conditions

from cairn.chunking.chunker import chunk_text
from cairn.chunking.composite import composite_text
from cairn.embedding.packaged import load_packaged, packaged_model
from cairn.languages.language import Category
from cairn.languages.registry import category, detect_language
from cairn.protocol.search_messages import ChunkType
from cairn.settings.tree import EmbeddingSettings

_PAGE = 512
"""The page size of the indexer (`cairn.index.vectors.vector_intake`)."""
_QUESTIONS = (
    "how is a vector compared with a question", "where are settings read", "retry after a timeout",
    "what happens when a file is renamed while it is indexed", "parse HTTP headers", "database is locked",
    "why is the request cancelled before its answer is sent to the client", "test for empty input",
)  # fmt: skip
_ROUNDS = 50
_EMBEDDED = (Category.CODE, Category.PROSE)


def main() -> None:
    options = _arguments()
    if options.one_run:
        print(json.dumps(_run(options.folder)))
        return
    runs = [_in_a_process(options.folder) for _ in range(options.runs)]
    model = packaged_model()
    record = {
        "conditions": {**run_conditions(), "folder": options.folder.name, "runs": options.runs},
        "model": {"id": model.id, "dimension": model.dimension, "bytes": _size(model.folder)},
        "figures": medians(runs),
    }
    print(json.dumps(record, indent=2))
    if options.output:
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _in_a_process(folder: Path) -> Figures:
    """Run once on one core."""
    command = [sys.executable, __file__, str(folder), "--one-run"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    figures: Figures = json.loads(done.stdout)
    return figures


def _run(folder: Path) -> Figures:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    began = time.perf_counter()
    table = load_packaged()
    loading = time.perf_counter() - began
    skeletons, bodies, prose = _texts(folder)
    settings = EmbeddingSettings()
    figures: Figures = {"loading_ms": round(1000 * loading, 1)}
    for name, texts, below, tokens in (
        ("skeletons", skeletons, bodies, settings.code_tokens),
        ("skeletons_alone", skeletons, None, settings.code_tokens),
        ("prose", prose, None, settings.text_tokens),
    ):
        began = time.perf_counter()
        for start in range(0, len(texts), _PAGE):
            end = start + _PAGE
            table.embed_int8(texts[start:end], tokens, below[start:end] if below is not None else None)
        seconds = time.perf_counter() - began
        figures[name] = len(texts)
        figures[f"{name}_per_second"] = round(len(texts) / seconds) if texts else 0
        figures[f"{name}_words"] = (
            round(float(np.mean([len(text.split()) for text in texts])), 1) if texts else 0
        )
    began = time.perf_counter()
    for _ in range(_ROUNDS):
        for question in _QUESTIONS:
            table.embed_queries_int8([question])
    figures["query_ms"] = round(1000 * (time.perf_counter() - began) / (_ROUNDS * len(_QUESTIONS)), 3)
    return figures


def _texts(folder: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the folder's embedded texts: skeletons, the code below them, and documents."""
    skeletons: list[str] = []
    bodies: list[str] = []
    prose: list[str] = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or category(detect_language(name)) not in _EMBEDDED:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        for chunk in chunk_text(name, text):
            text = composite_text(name, f"{folder.name}-source", chunk)
            if chunk.type is ChunkType.CODE:
                skeletons.append(text)
                bodies.append(chunk.text)
            else:
                prose.append(text)
    return skeletons, bodies, prose


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=5, help="processes; figures are their medians")
    parser.add_argument("--output", type=Path, help="also write the figures here, as JSON")
    parser.add_argument("--one-run", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
