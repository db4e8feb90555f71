"""Samples of source code in many languages, from `tests/data/chunking`."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

FOLDER = Path(__file__).parents[1] / "data" / "chunking"


@frozen
class Sample:
    """A source file, and the expectations written above it."""

    path: str
    fields: dict[str, str]
    text: str

    def names(self, field: str) -> tuple[str, ...]:
        return tuple(filter(None, self.fields.get(field, "").split(", ")))


def read_samples(file: str) -> dict[str, Sample]:
    """Return the samples of a file, by their names: `=== name: path`, then fields, `---` and the text."""
    samples = {}
    for section in (FOLDER / file).read_text("utf-8").removeprefix("=== ").split("\n=== "):
        head, text = section.rstrip("\n").split("\n---\n", 1)
        title, *fields = (line.split(": ", 1) for line in head.split("\n"))
        samples[title[0]] = Sample(title[1], dict(fields), text + "\n")
    return samples
