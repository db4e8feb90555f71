"""Chunks of a fixed corpus stay as they were recorded for `CONTENT_VERSION`, on which indexes depend.

If the test fails after an intended change, raise `CONTENT_VERSION` and record the chunks of the new version:
`.venv/bin/python -m tests.chunking.test_content_version` writes them.
"""

from __future__ import annotations

import hashlib
import json

from tests.chunking.samples import CLASSES, FOLDER, read_samples

from cairn.chunking.chunker import chunk_file
from cairn.chunking.composite import composite_text
from cairn.index.store.schema import CONTENT_VERSION

RECORDED = FOLDER / "recorded.json"
LONG = 6_000
"""The number of characters from which a file has several chunks."""
SENTENCES = "The harbour master assigns a berth to each ship that asks for one, and notes it. " * 8
FILES = {
    "docs/berths.md": "# Berths\n\nA berth.\n\n```python\ndef moor(): ...\n```\n\n## Fees\n\nDue.\n",
    "docs/rules.md": (
        f"## Mooring\n\n{SENTENCES}\n\n{SENTENCES}\n\nSo run this command for each of the ships:\n\n"
        f"~~~sh\n{'moor --all' * 90}\n~~~\n\n"
        f'- {SENTENCES}\n\n<a name="fees"></a>\n## Fees\n\nDue.\n'
    ),
    "notes.rst": "Tides\n=====\n\nThe tide turns twice a day.\n\n.. note:: It is late in March.\n",
    "rules.adoc": f"== Mooring\n\n{SENTENCES}\n\n----\nmoor\n----\n\n=== Fees\n\n{SENTENCES}\n",
    "port.toml": 'name = "port"\n\n[berths]\ncount = 3\n',
    "port.yaml": "berths:\n  - north\n" + "tides:\n" + "  - hour: 3\n    height: 4.5\n" * 40,
    "port.json": '{\n  "berths": [\n' + '    {\n      "length": 30\n    },\n' * 90 + "    {}\n  ]\n}\n",
    "port.nim": "# Moors.\nproc moor(ship: Ship) =\n" + "  ship.tie(1)\n" * 40,
    "port.html": '<script lang="ts">\n' + "function moor(ship: Ship) {\n  tie(ship);\n}\n" * 30 + "</script>\n",  # noqa: E501
    "src/port/north/berths/plan.py": (
        "".join(f"from port.part_{number} import thing_{number}\n" for number in range(8))
        + f"def moor(ship):\n    {[*range(200)]}\n"
        + "".join(f"# {number}: {SENTENCES[:110]}\n" for number in range(6))
        + "def leave(ship):\n" + "    ship.untie(1)\n" * 100
    ),
    "crane.ipynb": (
        '{"cells": [{"cell_type": "code", "source": ["%timeit lift()\\n", "def lift():\\n", "  return 1\\n"]},'  # noqa: E501
        ' {"cell_type": "markdown", "source": ["# Cranes"]}], "nbformat": 4}'
    ),
}  # fmt: skip


def _digest(content: object) -> str:
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def corpus() -> list[tuple[str, str]]:
    """Return the paths and texts of small files, of the same repeated until they are cut, and of classes with
    long methods."""
    samples = (*read_samples("definitions.txt").values(), *read_samples("references.txt").values())
    small = [*FILES.items(), *((sample.path, sample.text) for sample in samples)]
    long = [(path, text * (1 + LONG // len(text))) for path, text in small]
    return [
        *small,
        *long,
        *((each.path, each.text(lines)) for each in CLASSES.values() for lines in (20, 90)),
    ]


def chunks_of_the_corpus() -> dict[str, str]:
    """Return a digest of the chunks, the embedded texts and the symbols of each file, by that of the file."""
    found = {}
    for path, text in corpus():
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
