"""Scores answers: the rank of the first right result, and shares of the questions by kind, half and tree."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen
from engine.figures import Figures, percentile
from engine.markdown import table

from large.sets import Question, Target

SHOWN = 10
"""The number of results that count."""
DEPTHS = (1, 5, SHOWN)
SYMBOL_KINDS = frozenset({"symbol", "type", "known"})
"""The kinds of questions by a name; for these the definition must be first."""


@frozen
class Result:
    """One result, with 1-based inclusive lines."""

    path: str
    start_line: int
    end_line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.start_line}-{self.end_line}"


@frozen
class Answer:
    """The answer to one question."""

    question: Question
    results: tuple[Result, ...]
    """The first SHOWN results count; further ones only show how far down the right one is."""
    ms: float

    @property
    def place(self) -> int | None:
        """Return the rank, from 1, of the first result that covers a relevant target, at any depth."""
        return place_of(self.question.relevant, self.results)

    @property
    def place_with_secondary(self) -> int | None:
        """Return the same rank, with secondary targets counted, too."""
        return place_of((*self.question.relevant, *self.question.secondary), self.results)


def place_of(targets: Sequence[Target], results: Sequence[Result]) -> int | None:
    """Return the rank, from 1, of the first result that covers one of the targets."""
    return next(
        (
            place
            for place, result in enumerate(results, 1)
            if any(each.covered_by(result.path, result.start_line, result.end_line) for each in targets)
        ),
        None,
    )


def share_at(places: Sequence[int | None], depth: int) -> float:
    """Return the share of the ranks among the first `depth`; `places` must not be empty."""
    return sum(place is not None and place <= depth for place in places) / len(places)


def reciprocal(places: Sequence[int | None]) -> float:
    """Return the mean of 1 ÷ rank, 0 beyond the first SHOWN."""
    return sum(1 / place for place in places if place and place <= SHOWN) / len(places)


def figures_of(answers: Sequence[Answer]) -> Figures:
    """Return shares, mean reciprocal rank and times of at least one answer."""
    places = [answer.place for answer in answers]
    loose = [answer.place_with_secondary for answer in answers]
    ms = [answer.ms for answer in answers]
    return {
        "questions": len(answers),
        **{f"at_{depth}": round(share_at(places, depth), 4) for depth in DEPTHS},
        "mrr": round(reciprocal(places), 4),
        "at_5_with_secondary": round(share_at(loose, 5), 4),
        "p50_ms": round(percentile(ms, 50), 1),
        "p95_ms": round(percentile(ms, 95), 1),
    }


def grouped(answers: Iterable[Answer]) -> dict[str, Figures]:
    """Return figures by `tree half kind`, and by `tree half` of written questions, symbols and sentences."""
    by: dict[str, list[Answer]] = {}
    for answer in answers:
        about = answer.question
        for kind in dict.fromkeys((about.kind, _group(about))):
            by.setdefault(f"{about.tree} {about.half} {kind}", []).append(answer)
    return {name: figures_of(group) for name, group in sorted(by.items(), key=_order)}


def _group(question: Question) -> str:
    if question.kind in SYMBOL_KINDS:
        return "ALL symbols"
    return "sentence" if question.kind == "sentence" else "ALL questions"


def _order(named: tuple[str, Any]) -> tuple[str, ...]:
    return tuple(named[0].split(" ", 2))


_COLUMNS = ("questions", "at_1", "at_5", "at_10", "mrr", "at_5_with_secondary", "p50_ms", "p95_ms")


def markdown(groups: dict[str, Figures]) -> str:
    """Return a table of groups. For symbols `@1` is the share whose definition is first."""
    headings = ("", "n", "@1", "@5", "@10", "MRR", "@5 with secondary", "p50 ms", "p95 ms")
    return table(
        headings, [(name, *(str(figures[each]) for each in _COLUMNS)) for name, figures in groups.items()]
    )


# --- one line per question ------------------------------------------------------------------------


def line_of(answer: Answer) -> dict[str, Any]:
    """Return the stored line of one answer: the rank of the right result, and the results before it."""
    question, place = answer.question, answer.place
    before = answer.results[: min(SHOWN, place - 1 if place else SHOWN)]
    return {
        "id": question.id,
        "tree": question.tree,
        "half": question.half,
        "kind": question.kind,
        "query": question.query,
        "place": place,
        "place_with_secondary": answer.place_with_secondary,
        "relevant": [each.path for each in question.relevant],
        "before": [str(result) for result in before],
        "right": str(answer.results[place - 1]) if place else None,
        "ms": round(answer.ms, 1),
    }


def write_lines(answers: Iterable[Answer], file: Path) -> None:
    """Write one JSON object a line."""
    lines = [json.dumps(line_of(answer), ensure_ascii=False) for answer in answers]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def compared(answers: Sequence[Answer], earlier: Path) -> str:
    """Compare with `earlier`, which `write_lines` made: shares of the questions in both, and each change."""
    lines = [json.loads(line) for line in earlier.read_text(encoding="utf-8").splitlines()]
    before: dict[str, dict[str, Any]] = {line["id"]: line for line in lines}
    both = [answer for answer in answers if answer.question.id in before]
    if not both:
        return f"{earlier} has none of these questions"

    def was(answer: Answer) -> int | None:
        place: int | None = before[answer.question.id]["place"]
        return place

    shares = ", ".join(
        f"@{depth} {share_at([was(each) for each in both], depth):.3f} -> "
        f"{share_at([each.place for each in both], depth):.3f}"
        for depth in DEPTHS
    )
    shown = [f"{len(both)} questions in both: {shares}"]
    for name, sign in (("better", 1), ("worse", -1)):
        changed = [each for each in both if sign * (_worth(each.place) - _worth(was(each))) > 0]
        shown.append(f"{name}: {len(changed)}")
        shown += [
            f"  {was(each) or '-'} -> {each.place or '-'}  {each.question.id}  {each.question.query}"
            for each in changed
        ]
    return "\n".join(shown)


def _worth(place: int | None) -> float:
    """Return a value that is higher for better ranks, at any depth."""
    return 1 / place if place else 0.0
