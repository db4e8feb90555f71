"""A report: an issue, a bug report or the output of a failing test, pasted as a question.

A report is long, so where a word stands tells how much it matters: the title says best what is wrong, the text explains it, and
code that reproduces the fault says which names are concerned.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from attrs import frozen

from cairn.retrieval.mentions import read_messages
from cairn.retrieval.reports.names import Name, read_names, read_options, read_places, repeated
from cairn.retrieval.reports.parts import Parts, read_parts
from cairn.retrieval.traces import Frame, Trace, read_trace
from cairn.retrieval.wording import read_words

_FEWEST_CHARS = 240
"""A shorter text is a question, as is one of a single paragraph."""
_MOST_TERMS = 96
_MOST_MESSAGES = 2
_MEANT_PROSE, _MEANT_CODE = 1_500, 500
"""Characters of the text and of the code that are compared by meaning."""

_WEIGHTS = {"title": 3.0, "prose": 1.0, "code": 0.5, "output": 0.5}
"""What a word counts by the part that it stands in (docs/ranking.md)."""


@frozen
class Report:
    """What a report says."""

    parts: Parts
    frames: tuple[Frame, ...]
    """The frames of its stack traces, the innermost first."""
    messages: tuple[str, ...]
    """What errors said, the last one first: the others led to it."""
    names: tuple[Name, ...]
    """The identifiers that it names, the weightiest first."""
    options: tuple[str, ...]
    """The options and commands that it names."""
    places: Mapping[str, float]
    """The fragments of paths and globs that it names, with how surely each is meant."""

    @property
    def title(self) -> str:
        """The title without a label such as "[Bug]"."""
        return self.parts.title

    @property
    def text(self) -> str:
        """All parts, the title first."""
        parts = self.parts
        return "\n".join(filter(None, (parts.title, parts.prose, parts.code, parts.output)))

    @property
    def meant(self) -> str:
        """What is compared by meaning: the title counts twice."""
        return "\n".join(
            (self.title, self.title, self.parts.prose[:_MEANT_PROSE], self.parts.code[:_MEANT_CODE])
        )

    def terms(self) -> dict[str, float]:
        """Its content words with their weights, the weightiest first."""
        weights: dict[str, float] = {}
        times: Counter[str] = Counter()
        for part, weight in _WEIGHTS.items():
            for line in getattr(self.parts, part).splitlines():
                terms = read_words(line).terms
                times.update(terms)
                for term in terms:
                    weights.setdefault(term, weight)
        total = {term: repeated(weight, times[term]) for term, weight in weights.items()}
        return dict(sorted(total.items(), key=lambda each: -each[1])[:_MOST_TERMS])


def read_report(text: str) -> Report | None:
    """The report that a text is; None for a question."""
    lines = _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(lines) < _FEWEST_CHARS:
        return None
    if "\n" not in lines:
        return None
    trace = read_trace(lines) or Trace(message=lines)
    parts = read_parts(trace.message)
    if not (parts.prose or parts.output or trace.frames):
        return None  # a piece of code, to be found as it is written
    return Report(
        parts,
        trace.frames,
        tuple(dict.fromkeys(reversed(read_messages(lines))))[:_MOST_MESSAGES],
        read_names(parts, trace.frames),
        read_options(f"{parts.title}\n{lines}"),
        read_places(lines, trace.message),
    )


_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
