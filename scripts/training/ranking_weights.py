#!/usr/bin/env python3
"""Fit the weights of the ranking signals to many kinds of questions together, and evaluate them on
repositories left out.

    python scripts/training/ranking_weights.py --set NAME=SETS,CHECKOUTS,MODE ... --data DIR [--output FILE]
        python scripts/training/ranking_weights.py --issues FILE.jsonl.gz --clones DIR --data DIR [--every N]
            [--output FILE]

The repositories of all sets are dealt into five parts; weights are fitted on four of them and evaluated on
the fifth, each set with the same weight. With `--issues` the weights for reports are fitted this way, by
project. A file's score is a sum of signals times weights; the fit minimises the listwise softmax loss of the
files that answer among all candidates, keeps every sign, and stays near the present weights where the
questions give no evidence. It does not change `signals.py`.
"""

from __future__ import annotations

import argparse
import hashlib
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
from issues.indexes import Indexes
from issues.sets import Issue, is_code, read_issues
from retrieval.in_process import copied_index, use_table
from retrieval.measurement import by_repository
from retrieval.metrics import DEPTH, Span, covers, score
from retrieval.sets import Question, Repository, read_sets

from cairn.embedding.packaged import load_packaged
from cairn.embedding.static import StaticTable
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.signals import SIGNALS
from cairn.settings.tree import SearchSettings

Floats = NDArray[np.float64]

NAMES = tuple(signal.title for signal in SIGNALS)
FOR_QUESTIONS: Floats = np.array([signal.weight for signal in SIGNALS])
FOR_REPORTS: Floats = np.array(
    [signal.weight if signal.in_reports is None else signal.in_reports for signal in SIGNALS]
)
_HOLD = (0.003, 0.03, 0.3)
"""The strengths of the pull towards the present weights; each is tried and reported."""
_PARTS = 5
_ISSUES = "issues"
_STEPS = 150
"""The steps of gradient descent."""


@frozen(eq=False)
class Candidate:
    """The files found for one question."""

    set: str
    question: Question
    values: Floats
    """The values of `NAMES`, float64[files, signals]."""
    shown: tuple[Span, ...]
    """The passage of each file that would be shown."""
    answers: NDArray[np.bool_]
    """Whether that passage covers a target, bool[files]."""


def main() -> None:
    options = _arguments()
    table = load_packaged(options.table) if options.table else load_packaged()
    if options.issues:
        present = FOR_REPORTS
        found = list(_of_issues(options, table))
    else:
        present = FOR_QUESTIONS
        found = [
            candidate for each in options.sets for candidate in _of_set(each, options.data.resolve(), table)
        ]
    report = {
        str(hold): {
            "left_out": left_out(found, present, hold),
            "weights": dict(zip(NAMES, fit(found, present, hold).round(2).tolist(), strict=True)),
        }
        for hold in _HOLD
    }
    print(_markdown(report, present))
    if options.output:
        data_folder = {"present": dict(zip(NAMES, present.tolist(), strict=True)), "by_hold": report}
        options.output.write_text(json.dumps(data_folder, indent=2) + "\n", encoding="utf-8")


# --- candidates -----------------------------------------------------------------------------------


def _of_set(each: models.Set, data: Path, table: StaticTable) -> Iterator[Candidate]:
    """Return the engine's candidates for every question of a set, with the table's vectors."""
    questions = [question for question in read_sets([each.questions]) if question.answerable]
    for repository, set_questions in by_repository(questions):
        print(f"{each.name}, {repository.name}: {len(set_questions)} questions", file=sys.stderr, flush=True)
        data_folder = models.index_of(each, repository, data)
        with tempfile.TemporaryDirectory(prefix="cairn-weights-") as temporary:
            folder = copied_index(data_folder, Path(temporary))
            use_table(folder, table)
            reader = SqliteReader(folder)
            for question in set_questions:
                yield _found(reader, each.name, question, Meaning(table))


def _of_issues(options: argparse.Namespace, table: StaticTable) -> Iterator[Candidate]:
    """Return the engine's candidates for the text of every issue: code files without tests."""
    issues = read_issues(options.issues, every=options.every)
    indexes = Indexes(options.clones.resolve(), options.data.resolve())
    for issue in indexes.make_all(issues):
        reader = SqliteReader(indexes.folder(issue))
        found = _found(reader, _ISSUES, _query_of(issue), Meaning(table))
        code = np.array([is_code(span.path) for span in found.shown], np.bool_)
        shown = tuple(span for span in found.shown if is_code(span.path))
        yield Candidate(_ISSUES, found.question, found.values[code], shown, found.answers[code])


def _query_of(issue: Issue) -> Question:
    owner = Repository(issue.repository, "", "", issue.revision, ".")
    changed = tuple(Span(path) for path in sorted(issue.changed) if is_code(path))
    return Question(owner, issue.text, changed, (), "")


def _found(reader: IndexReader, name: str, question: Question, meaning: Meaning) -> Candidate:
    """Return the candidates of a search with the values of the signals."""
    settings = SearchSettings(leg_deadline_ms=60_000.0)
    query = understand(question.query, None, IndexVocabulary([reader]), settings)
    ranking = rank([reader], [query], meaning, settings)
    candidates, scores = ranking.candidates, ranking.scores
    values = np.zeros((len(candidates.files), len(NAMES)))
    for file in range(len(candidates.files)):
        for reason in scores.reasons(file):
            if reason.signal in NAMES:
                values[file, NAMES.index(reason.signal)] = reason.value
    # The order is by file and, within one, by score of chunks: the first of each is shown.
    ordered = candidates.ordered(ranking.values[0])
    best = ordered[candidates.places() == 0]
    first = {int(candidates.file_of[chunk]): candidates.outlines[chunk].id for chunk in best}
    stored = reader.chunks(first.values())
    shown = tuple(_span(stored[first[file]]) for file in range(len(candidates.files)))
    targets = (*question.relevant, *question.secondary)
    answers = np.array([any(covers(span, target) for target in targets) for span in shown], np.bool_)
    return Candidate(name, question, values, shown, answers)


def _span(stored: object) -> Span:
    chunk = stored.chunk  # type: ignore[attr-defined]
    return Span(stored.path, chunk.start_line + 1, chunk.end_line)  # type: ignore[attr-defined]


# --- fit ------------------------------------------------------------------------------------------


def fit(candidates: Sequence[Candidate], present: Floats, hold: float) -> Floats:
    """Return weights with the signs of `present`: the least loss, plus `hold` times their squared relative
    change.

    This is projected gradient descent with momentum over sizes relative to the present weights, none below 0.
    The result has the scale of the present ones, since a ranking has no scale.
    """
    informative = [each for each in candidates if each.answers.any() and not each.answers.all()]
    loss = _Loss(informative, present, hold)
    sizes = ahead = np.ones(len(present))
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
    weights = present * sizes
    return np.asarray(weights * (np.abs(present).sum() / np.abs(weights).sum()))


class _Loss:
    """The mean of −log of the softmax share of the files that answer, plus the pull towards the present
    weights. Each set counts the same."""

    def __init__(self, informative: Sequence[Candidate], present: Floats, hold: float) -> None:
        self._values = np.concatenate([each.values * present for each in informative])
        self._answers = np.concatenate([each.answers for each in informative])
        self._lengths = np.array([len(each.answers) for each in informative])
        self._starts = np.cumsum(self._lengths) - self._lengths
        sets = [each.set for each in informative]
        counts = np.array([1 / sets.count(name) for name in sets])
        self._counts = counts / counts.sum()
        self._hold = hold

    def at(self, sizes: Floats) -> tuple[float, Floats]:
        """Return the loss with these sizes and its gradient, float64[signals]."""
        sums = self._values @ sizes
        among, log_among = self._softmax(sums)
        right, log_right = self._softmax(np.where(self._answers, sums, -np.inf))
        change = sizes - sizes.mean()  # The overall scale may grow freely.
        value = float((log_among - log_right) @ self._counts) + self._hold * float(change @ change)
        counts = np.repeat(self._counts, self._lengths)
        gradient = ((among - right) * counts) @ self._values + 2 * self._hold * change
        return value, np.asarray(gradient)

    def _softmax(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the shares of each question's files, and the logarithm of their sum before the division."""
        highest = np.maximum.reduceat(sums, self._starts)
        powers = np.exp(sums - np.repeat(highest, self._lengths))
        whole = np.add.reduceat(powers, self._starts)
        return powers / np.repeat(whole, self._lengths), highest + np.log(whole)


# --- figures --------------------------------------------------------------------------------------


def left_out(found: Sequence[Candidate], present: Floats, hold: float) -> dict[str, dict[str, float]]:
    """Compare by set the present weights with those fitted without the evaluated repositories."""
    before, after = np.zeros((len(found), 2)), np.zeros((len(found), 2))
    parts = [_part(each.question.repository) for each in found]
    for part in sorted(set(parts)):
        judged = [place for place, own in enumerate(parts) if own == part]
        weights = fit([each for each, own in zip(found, parts, strict=True) if own != part], present, hold)
        for place in judged:
            before[place], after[place] = (reached(found[place], each) for each in (present, weights))
    figures = {}
    for name in dict.fromkeys(each.set for each in found):
        rows = [place for place, each in enumerate(found) if each.set == name]
        difference = after[rows, 0] - before[rows, 0]
        figures[name] = {
            "questions": len(rows),
            "present": round(float(before[rows, 0].mean()), 4),
            "fitted": round(float(after[rows, 0].mean()), 4),
            "difference": round(float(difference.mean()), 4),
            "standard_error": round(float(difference.std(ddof=1) / np.sqrt(len(rows))), 4),
            "all_first_present": round(float(before[rows, 1].mean()), 4),
            "all_first_fitted": round(float(after[rows, 1].mean()), 4),
        }
    return figures


def _part(repository: Repository) -> str:
    """Return the part of a repository; a project of the issues is a part of its own."""
    if "/" in repository.name:
        return repository.name
    return str(hashlib.sha256(repository.name.encode()).digest()[1] % _PARTS)


def reached(candidate: Candidate, weights: Floats) -> tuple[float, float]:
    """Return NDCG@10 with one result a file, before near-duplicates make room for others, and whether all
    answers come first."""
    best = np.argsort(-(candidate.values @ weights), kind="stable")[:DEPTH]
    shown = [candidate.shown[file] for file in best.tolist()]
    question = candidate.question
    targets = question.relevant
    first = all(any(covers(span, target) for span in shown[: len(targets)]) for target in targets)
    if len(targets) > 1 and candidate.set == _ISSUES:
        first = False  # All must be among the first, as `benchmarks/issues` counts.
    return score(shown, targets, question.secondary).ndcg_at_10, float(first)


def _markdown(report: dict[str, dict[str, dict[str, object]]], present: Floats) -> str:
    lines = [f"| signal | present | held by {' | '.join(report)} |", f"|{'---|' * (len(report) + 2)}"]
    for name, weight in zip(NAMES, present.tolist(), strict=True):
        cells = [weight, *(each["weights"][name] for each in report.values())]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    lines += [
        "",
        "| held by | set | questions | present | fitted without its repository | difference | all first, "
        "present | fitted |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for hold, each in report.items():
        for name, row in each["left_out"].items():
            lines.append(
                f"| {hold} | {name} | {row['questions']} | {row['present']} | {row['fitted']}"  # type: ignore[index]
                f" | {row['difference']:+} ± {row['standard_error']}"  # type: ignore[index]
                f" | {row['all_first_present']} | {row['all_first_fitted']} |"  # type: ignore[index]
            )
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--set", dest="sets", type=models.question_set, action="append", default=[],
        metavar="NAME=SETS,CHECKOUTS,MODE",
    )  # fmt: skip
    parser.add_argument("--issues", type=Path, help="a set of issues, instead of --set")
    parser.add_argument("--clones", type=Path, help="a folder with a clone of each of their repositories")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="only every Nth issue of each repository"
    )
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the indexes; missing ones are made"
    )
    parser.add_argument("--table", type=Path, help="a static table instead of the one that comes with Cairn")
    parser.add_argument("--output", type=Path, help="write JSON here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
