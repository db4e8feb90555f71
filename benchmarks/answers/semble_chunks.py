"""Returns semble's chunks for some questions, with Cairn's own static table as its model.

It needs an interpreter with semble 0.7.0, attrs, cattrs and platformdirs, which may differ from Cairn's:

    PYTHON benchmarks/answers/semble_chunks.py < REQUEST > ANSWER

The request is JSON, `{tree, questions, limit, content}`; so is the answer, `{version, questions: [{ms,
cpu_ms, chunks}]}`, each chunk `[path, first line, last line, text]` with lines from 1.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_MAX_TOKENS = 512
"""More tokens than a chunk of semble's has."""


class TableModel:
    """Cairn's table with the interface of semble's model."""

    def __init__(self) -> None:
        from cairn.embedding.packaged import load_packaged

        self._table = load_packaged()
        self.dim = self._table.dimension

    def encode(self, texts: Sequence[str], **options: Any) -> Any:
        """Return float32[n, dim]. Chunks come with options, and questions without."""
        return self._table.embed(texts, _MAX_TOKENS) if options else self._table.embed_queries(texts)


def main() -> None:
    from semble import SembleIndex
    from semble.index import index as made_by
    from semble.types import ContentType
    from semble.version import __version__

    request = json.load(sys.stdin)
    model = TableModel()
    made_by.load_model = lambda *_: (model, "cairn")
    index = SembleIndex.from_path(request["tree"], content=[ContentType(each) for each in request["content"]])
    answers = []
    for question in request["questions"]:
        began, used = time.perf_counter(), time.process_time()
        results = index.search(question, top_k=request["limit"])
        ms, cpu_ms = (time.perf_counter() - began) * 1000, (time.process_time() - used) * 1000
        chunks = [each.chunk for each in results]
        shown = [(each.file_path, each.start_line, each.end_line, each.content) for each in chunks]
        answers.append({"ms": ms, "cpu_ms": cpu_ms, "chunks": shown})
    json.dump({"version": __version__, "questions": answers}, sys.stdout)


if __name__ == "__main__":
    # Cairn's table is read from this checkout; this file's own folder hides no module that is needed.
    sys.path[0] = str(Path(__file__).resolve().parents[2] / "server")
    main()
