"""Parse reports that users paste as queries: issues, bug reports and outputs of failing tests. In a long
report, the place of a word shows its importance: the title names the fault best, the text explains it, and
code that reproduces it contains the names involved."""

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
"""The minimum length of a report in characters. A shorter text, or a single line, is a question."""
_MOST_TERMS = 96
_MOST_MESSAGES = 2
_MEANT_PROSE, _MEANT_CODE = 1_500, 500

_WEIGHTS = {"title": 3.0, "prose": 1.0, "code": 0.5, "output": 0.5}
"""The weight of a word by the part in which it is (docs/ranking.md)."""


@frozen
class Report:
    parts: Parts
    frames: tuple[Frame, ...]
    """The frames of the stack traces, innermost first."""
    messages: tuple[str, ...]
    """Error messages, the last first, because earlier messages led to it."""
    names: tuple[Name, ...]
    options: tuple[str, ...]
    places: Mapping[str, float]
    """Paths and globs, each with the likelihood that the report means it."""

    @property
    def title(self) -> str:
        """The title without a label such as "[Bug]"."""
        return self.parts.title

    @property
    def text(self) -> str:
        parts = self.parts
        return "\n".join(filter(None, (parts.title, parts.prose, parts.code, parts.output)))

    @property
    def meant(self) -> str:
        """The text to embed, in which the title counts twice."""
        return "\n".join(
            (self.title, self.title, self.parts.prose[:_MEANT_PROSE], self.parts.code[:_MEANT_CODE])
        )

    def terms(self) -> dict[str, float]:
        """Return the content words and their weights, highest weight first."""
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
    """Return the report in `text`; None if `text` is a question."""
    lines = _BLANK_LINES.sub("\n\n", text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(lines) < _FEWEST_CHARS:
        return None
    if "\n" not in lines:
        return None
    trace = read_trace(lines) or Trace(message=lines)
    parts = read_parts(trace.message)
    if not (parts.prose or parts.output or trace.frames):
        return None  # This is a piece of code, which is searched verbatim.
    return Report(
        parts,
        trace.frames,
        tuple(dict.fromkeys(reversed(read_messages(lines))))[:_MOST_MESSAGES],
        read_names(parts, trace.frames),
        read_options(f"{parts.title}\n{lines}"),
        read_places(lines, trace.message),
    )


_BLANK_LINES = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
