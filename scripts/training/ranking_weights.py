#!/usr/bin/env python3
"""What weights of the ranking signals weak labels would choose, and whether other questions agree.

    python scripts/training/ranking_weights.py --set NAME=SETS,CHECKOUTS,MODE ... --data DIR [--output FILE]

The first set is fitted on half of its repositories and checked on the other half and on the other sets. A file's score
is a sum of signals times weights; the fit minimises the listwise softmax loss of the files that answer among all
candidates, keeps every sign, and holds on to the present weights where the questions say nothing. Nothing is written to
`signals.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import models
from retrieval.in_process import copied_index, use_table
from retrieval.measurement import by_repository
from retrieval.metrics import DEPTH, Span, covers, score
from retrieval.sets import Question, read_sets

from cairn.embedding.packaged import load_packaged
from cairn.embedding.static import StaticTable
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.index_reader import IndexReader
from cairn.retrieval.meaning import StaticMeaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.signals import SIGNALS
from cairn.settings.tree import SearchSettings

Floats = NDArray[np.float64]

NAMES = tuple(signal.name for signal in SIGNALS)
PRESENT: Floats = np.array([signal.weight for signal in SIGNALS])
_HOLD = (0.003, 0.03, 0.3)
"""How strongly present weights are held on to, tried by splitting the half that is fitted once more."""
_STEPS = 150
"""Of descent."""


@frozen(eq=False)
class Candidate:
    """The files that were found for one question."""

    question: Question
    values: Floats
    """float64[files, signals], of `NAMES`."""
    shown: tuple[Span, ...]
    """The passage of each file that would be shown."""
    answers: NDArray[np.bool_]
    """bool[files]: whether that passage covers a target."""


def main() -> None:
    options = _arguments()
    table = load_packaged(options.table) if options.table else load_packaged()
    found = {each.name: list(_candidates(each, options.data, table)) for each in options.sets}
    first = options.sets[0].name
    halves = {
        half: [each for each in found[first] if each.question.half_of_repositories == half] for half in "ab"
    }
    report = {}
    for fitted, other in ("ab", "ba"):
        hold = _best_hold(halves[fitted])
        weights = fit(halves[fitted], hold)
        checked = {
            f"{first}, fitted half {fitted}": halves[fitted],
            f"{first}, other half {other}": halves[other],
        }
        checked |= {name: each for name, each in found.items() if name != first}
        report[fitted] = {
            "hold": hold,
            "weights": dict(zip(NAMES, weights.round(2).tolist(), strict=True)),
            "sets": {name: compared(each, weights) for name, each in checked.items()},
        }
    report["present"] = dict(zip(NAMES, PRESENT.tolist(), strict=True))
    print(_markdown(report))
    if options.output:
        options.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


# --- candidates -------------------------------------------------------------------------------------


def _candidates(each: models.Set, data: Path, table: StaticTable) -> Iterator[Candidate]:
    """What the engine finds for every question of a set, with the table's vectors."""
    questions = [question for question in read_sets([each.questions]) if question.answerable]
    for repository, asked in by_repository(questions):
        print(f"{each.name}, {repository.name}: {len(asked)} questions", file=sys.stderr, flush=True)
        kept = models.index_of(each, repository, data, with_model=False)
        with tempfile.TemporaryDirectory(prefix="cairn-weights-") as temporary:
            folder = copied_index(kept, Path(temporary))
            use_table(folder, table)
            reader = IndexReader(folder)
            for question in asked:
                yield _found(reader, question, StaticMeaning(table))


def _found(reader: IndexReader, question: Question, meaning: StaticMeaning) -> Candidate:
    """The candidates of a search with the values of the signals."""
    settings = SearchSettings(leg_deadline_ms=60_000.0)
    query = understand(question.query, None, IndexVocabulary([reader]), settings)
    ranking = rank([reader], [query], meaning, settings)
    candidates, scores = ranking.candidates, ranking.scores
    values = np.zeros((len(candidates.files), len(NAMES)))
    for file in range(len(candidates.files)):
        for reason in scores.reasons(file):
            if reason.signal in NAMES:
                values[file, NAMES.index(reason.signal)] = reason.value
    # In the order of files and, within one, of what chunks are worth: the first of each is shown.
    ordered = candidates.ordered(ranking.values[0])
    best = ordered[candidates.places() == 0]
    first = {int(candidates.file_of[chunk]): candidates.outlines[chunk].id for chunk in best}
    stored = reader.chunks(first.values())
    shown = tuple(_span(stored[first[file]]) for file in range(len(candidates.files)))
    targets = (*question.relevant, *question.secondary)
    answers = np.array([any(covers(span, target) for target in targets) for span in shown], np.bool_)
    return Candidate(question, values, shown, answers)


def _span(stored: object) -> Span:
    chunk = stored.chunk  # type: ignore[attr-defined]
    return Span(stored.path, chunk.start_line + 1, chunk.end_line)  # type: ignore[attr-defined]


# --- fit --------------------------------------------------------------------------------------------


def fit(candidates: Sequence[Candidate], hold: float) -> Floats:
    """Weights with the signs of the present ones: the least loss, plus `hold` times their squared relative change.

    Projected gradient descent with momentum over sizes relative to the present weights, none below 0; shown on the scale
    of the present ones, for a ranking has no scale.
    """
    loss = _Loss([each for each in candidates if each.answers.any() and not each.answers.all()], hold)
    sizes = ahead = np.ones(len(PRESENT))
    step, momentum = 1.0, 1.0
    for _ in range(_STEPS):
        value, gradient = loss.at(ahead)
        while True:
            moved = np.maximum(ahead - step * gradient, 0.0)
            change = moved - ahead
            if loss.at(moved)[0] <= value + float(gradient @ change) + float(change @ change) / (2 * step):
                break
            step /= 2
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - sizes)
        sizes, momentum = moved, following
    weights = PRESENT * sizes
    return np.asarray(weights * (np.abs(PRESENT).sum() / np.abs(weights).sum()))


class _Loss:
    """The mean over questions of −log of the share, by softmax, that the files that answer have; and what holds."""

    def __init__(self, told: Sequence[Candidate], hold: float) -> None:
        self._values = np.concatenate([each.values * PRESENT for each in told])
        self._answers = np.concatenate([each.answers for each in told])
        self._lengths = np.array([len(each.answers) for each in told])
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._hold = hold

    def at(self, sizes: Floats) -> tuple[float, Floats]:
        """The loss with these sizes and its gradient, float64[signals]."""
        sums = self._values @ sizes
        among, log_among = self._softmax(sums)
        right, log_right = self._softmax(np.where(self._answers, sums, -np.inf))
        count = len(self._lengths)
        change = sizes - sizes.mean()  # the whole may grow
        value = float((log_among - log_right).sum()) / count + self._hold * float(change @ change)
        gradient = (among - right) @ self._values / count + 2 * self._hold * change
        return value, np.asarray(gradient)

    def _softmax(self, sums: Floats) -> tuple[Floats, Floats]:
        """Of each question: the shares of its files, and the logarithm of the sum that they are shares of."""
        highest = np.maximum.reduceat(sums, self._starts)
        powers = np.exp(sums - np.repeat(highest, self._lengths))
        whole = np.add.reduceat(powers, self._starts)
        return powers / np.repeat(whole, self._lengths), highest + np.log(whole)


def _best_hold(candidates: Sequence[Candidate]) -> float:
    """The hold with which weights fitted on one part of the repositories rank the other part best."""
    names = sorted({each.question.repository.name for each in candidates})
    one = [each for each in candidates if names.index(each.question.repository.name) % 2]
    other = [each for each in candidates if not names.index(each.question.repository.name) % 2]
    reached = {
        hold: sum(ndcg(b, fit(a, hold)).mean() for a, b in ((one, other), (other, one))) for hold in _HOLD
    }
    return max(reached, key=lambda hold: reached[hold])


# --- figures ----------------------------------------------------------------------------------------


def ndcg(candidates: Sequence[Candidate], weights: Floats) -> Floats:
    """float64[questions]: NDCG@10 with one result a file, before near-duplicates make room for others."""
    reached = []
    for each in candidates:
        best = np.argsort(-(each.values @ weights), kind="stable")[:DEPTH]
        shown = [each.shown[file] for file in best.tolist()]
        reached.append(score(shown, each.question.relevant, each.question.secondary).ndcg_at_10)
    return np.array(reached)


def compared(candidates: Sequence[Candidate], weights: Floats) -> dict[str, float]:
    """NDCG@10 with the present weights and with others, and the standard error of the difference."""
    present, fitted = ndcg(candidates, PRESENT), ndcg(candidates, weights)
    difference = fitted - present
    return {
        "questions": len(candidates),
        "present": round(float(present.mean()), 4),
        "fitted": round(float(fitted.mean()), 4),
        "difference": round(float(difference.mean()), 4),
        "standard_error": round(float(difference.std(ddof=1) / np.sqrt(len(difference))), 4),
    }


def _markdown(report: dict[str, dict[str, object]]) -> str:
    lines = ["| signal | present | fitted on a | fitted on b |", "|---|---|---|---|"]
    for name in NAMES:
        cells = [report["present"][name], *(report[half]["weights"][name] for half in "ab")]  # type: ignore[index]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    lines += [
        "",
        "| fitted on | checked on | questions | present | fitted | difference |",
        "|---|---|---|---|---|---|",
    ]
    for half in "ab":
        for name, row in report[half]["sets"].items():  # type: ignore[attr-defined]
            lines.append(
                f"| {half} | {name} | {row['questions']} | {row['present']} | {row['fitted']}"
                f" | {row['difference']:+} ± {row['standard_error']} |"
            )
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--set", dest="sets", type=models.question_set, action="append", required=True,
        metavar="NAME=SETS,CHECKOUTS,MODE",
    )  # fmt: skip
    parser.add_argument("--data", type=Path, required=True, help="where the indexes are, or go")
    parser.add_argument("--table", type=Path, help="a static table instead of the one that comes with Cairn")
    parser.add_argument("--output", type=Path, help="write JSON here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
