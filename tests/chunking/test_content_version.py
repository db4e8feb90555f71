"""Chunks of a fixed corpus stay as they were recorded for `CONTENT_VERSION`, on which indexes depend.

If the test fails after an intended change, raise `CONTENT_VERSION` and record the chunks of the new version:
`.venv/bin/python -m tests.chunking.test_content_version` writes them.
"""

from __future__ import annotations

import hashlib
import json

from tests.chunking.samples import FOLDER, read_samples

from cairn.chunking.chunker import chunk_file
from cairn.chunking.composite import composite_text
from cairn.index.store.schema import CONTENT_VERSION

RECORDED = FOLDER / "recorded.json"
PROSE = {
    "docs/berths.md": "# Berths\n\nA berth.\n\n```python\ndef moor(): ...\n```\n\n## Fees\n\nDue.\n",
    "notes.rst": "Tides\n=====\n\nThe tide turns twice a day.\n\n.. note:: It is late in March.\n",
    "port.toml": 'name = "port"\n\n[berths]\ncount = 3\n',
    "crane.ipynb": '{"cells": [{"cell_type": "code", "source": ["x = 1\\n"]}], "nbformat": 4}',
}  # fmt: skip


def _digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def chunks_of_the_corpus() -> dict[str, str]:
    """Return a digest of the chunks, the embedded texts and the symbols of each file, by that of the file."""
    samples = (*read_samples("definitions.txt").values(), *read_samples("references.txt").values())
    files = [*PROSE.items(), *((sample.path, sample.text) for sample in samples)]
    found = {}
    for path, text in files:
        chunks, symbols = chunk_file(path, text)
        embedded = [composite_text(path, "port-source", chunk) for chunk in chunks]
        found[_digest((path, text))] = _digest((chunks, embedded, symbols))
    return found


def test_chunks_are_those_recorded_for_the_content_version() -> None:
    recorded = json.loads(RECORDED.read_text("utf-8"))
    found = chunks_of_the_corpus()
    known = recorded["chunks"].keys() & found.keys()
    assert len(known) > 0.9 * len(recorded["chunks"]), "the corpus has changed: record its chunks"
    changed = [file for file in known if found[file] != recorded["chunks"][file]]
    assert not changed, f"{len(changed)} files have other chunks: raise CONTENT_VERSION, then record them"
    assert recorded["version"] == CONTENT_VERSION, "record the chunks of the new version"


if __name__ == "__main__":
    record = {"version": CONTENT_VERSION, "chunks": chunks_of_the_corpus()}
    RECORDED.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", "utf-8")
