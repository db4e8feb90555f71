#!/usr/bin/env python3
"""How well the verdict tells what can be answered, on question sets with answerable and unanswerable questions.

    python benchmarks/retrieval/verdicts.py --sets DIR [DIR ...] --checkouts DIR [--data DIR] [--fit]

Whole checkouts are indexed, as users have them. `--fit` chooses the two calibrated thresholds on one half of the
repositories and shows what they give on the other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import frozen
from engine.daemon import Daemon, has_static_vectors, settled
from engine.place import make_data_folder

from cairn.settings.tree import VerdictSettings
from retrieval.asking import span
from retrieval.checkouts import CheckoutError, checkout
from retrieval.measurement import CHECKOUT, by_repository, workspace_of
from retrieval.metrics import covers
from retrieval.sets import Question, Repository, SetError, read_sets

SHIPPED = VerdictSettings()
_PATIENCE = 12 * 3600.0
_OPEN = {"search": {"verdict": {"minLead": 0.0, "minCoverage": 0.0}}}
"""The daemon then decides by S2's rules alone, and says what the two others would be judged by."""

_COVERAGES = [step / 100 for step in range(0, 61, 5)]
_LEADS = [step / 100 for step in range(0, 51, 1)]
WANTED_PRECISION = 0.85
"""Of answers to answerable questions; the fit looks for the thresholds that answer most with no less."""
MOST_WRONGLY_ANSWERED = 0.15
"""Of the unanswerable questions."""
_DENIAL_COST = 2.0
"""To say that nothing matches is worse where something does than to ask back where nothing does."""


@frozen
class Judged:
    """What the daemon said to one question, with the two calibrated thresholds at 0."""

    question: Question
    action: str
    lead: float
    coverage: float
    leads: bool
    """Whether the answer needs a lead: two answers, or one by its whole title, need none."""
    right: bool
    """Whether the first result covers a relevant or secondary target."""
    right_in_3: bool

    def action_at(self, min_coverage: float, min_lead: float) -> str:
        """What would be said with other thresholds."""
        if self.action == "noMatch" or self.coverage < min_coverage:
            return "noMatch"
        if self.action == "answer" and self.leads and self.lead < min_lead:
            return "clarify"
        return self.action


@frozen
class Thresholds:
    """The two of `VerdictSettings` that are calibrated."""

    coverage: float = SHIPPED.min_coverage
    lead: float = SHIPPED.min_lead


# --- asking -----------------------------------------------------------------------------------------


def judge_all(
    questions: Sequence[Question], checkouts: Path, data: Path, *, with_model: bool
) -> list[Judged]:
    """Ask every question of the daemon on its repository's checkout."""
    judged: list[Judged] = []
    for repository, asked in by_repository(questions):
        print(f"{repository.name}: {len(asked)} questions", file=sys.stderr, flush=True)
        judged += _judge(repository, asked, checkout(repository, checkouts), data, with_model)
    return judged


def _judge(
    repository: Repository, asked: Sequence[Question], place: Path, data: Path, with_model: bool
) -> list[Judged]:
    workspace, kept = workspace_of(repository, place, CHECKOUT, data)
    if not kept.exists():
        make_data_folder(kept)
    with Daemon(workspace, kept, _OPEN) as daemon:
        if with_model:
            daemon.until(settled, _PATIENCE)
        elif has_static_vectors(daemon, _PATIENCE):
            daemon.pause(True)  # the model's vectors take minutes, and hardly change what is said
        return [_ask(daemon, question) for question in asked]


def _ask(daemon: Daemon, question: Question) -> Judged:
    answer = daemon.search(question.query, limit=10, context=0)
    verdict: dict[str, Any] = answer["verdict"]
    targets = (*question.relevant, *question.secondary)
    right = [any(covers(span(result), target) for target in targets) for result in answer["results"][:3]]
    offered = [candidate["path"] for candidate in verdict["candidates"]]
    first = [result["path"] for result in answer["results"][:1]]
    return Judged(
        question=question,
        action=verdict["action"],
        lead=verdict["confidence"],
        coverage=verdict["coverage"],
        leads=offered == first,
        right=any(right[:1]),
        right_in_3=any(right),
    )


# --- figures ----------------------------------------------------------------------------------------


@frozen
class Row:
    """Figures of some questions."""

    questions: int
    answered: float
    clarified: float
    unmatched: float
    precision: float | None
    """Share of the answers whose first result is right; None where nothing was answered, or nothing could be."""
    precision_in_3: float | None


def row(judged: Sequence[Judged], at: Thresholds) -> Row:
    """The figures with the thresholds."""
    said = [each.action_at(at.coverage, at.lead) for each in judged]
    answers = [each for each, action in zip(judged, said, strict=True) if action == "answer"]
    scored = [each for each in answers if each.question.answerable]
    count = len(judged) or 1
    return Row(
        questions=len(judged),
        answered=len(answers) / count,
        clarified=said.count("clarify") / count,
        unmatched=said.count("noMatch") / count,
        precision=_share(scored, lambda each: each.right),
        precision_in_3=_share(scored, lambda each: each.right_in_3),
    )


def _share(judged: Sequence[Judged], holds: Callable[[Judged], bool]) -> float | None:
    return sum(map(holds, judged)) / len(judged) if judged else None


def fit(judged: Sequence[Judged]) -> Thresholds:
    """The coverage that tells best what cannot be answered, then the least lead that keeps the two limits.

    Where none keeps them, that which comes nearest to them.
    """
    answerable, others = _split(judged)

    def told(coverage: float) -> float:
        at = Thresholds(coverage, 0.0)
        return row(others, at).unmatched - _DENIAL_COST * row(answerable, at).unmatched

    coverage = max(_COVERAGES, key=told)

    def missed(lead: float) -> float:
        at = Thresholds(coverage, lead)
        precision = row(answerable, at).precision
        too_wrong = 0.0 if precision is None else max(0.0, WANTED_PRECISION - precision)
        return too_wrong + max(0.0, row(others, at).answered - MOST_WRONGLY_ANSWERED)

    return Thresholds(coverage, min(_LEADS, key=missed))


def _split(judged: Iterable[Judged]) -> tuple[list[Judged], list[Judged]]:
    kept = list(judged)
    return [j for j in kept if j.question.answerable], [j for j in kept if not j.question.answerable]


def table(judged: Sequence[Judged], at: Thresholds, title: str, *, by_name: bool = True) -> str:
    """A Markdown table: answerable and unanswerable questions, in all and (`by_name`) by repository."""
    lines = [
        f"{title}: at least {at.coverage:.2f} of the question held, a lead of at least {at.lead:.2f}",
        "",
        "| questions | | answer | clarify | noMatch | first right | right in 3 |",
        "|---|---|---|---|---|---|---|",
    ]
    answerable, others = _split(judged)
    groups = [("all answerable", answerable), ("all unanswerable", others)]
    for repository, _ in by_repository([each.question for each in judged]) if by_name else ():
        own = [each for each in judged if each.question.repository == repository]
        groups += zip((repository.name, f"{repository.name}, unanswerable"), _split(own), strict=True)
    lines += [_line(name, row(group, at)) for name, group in groups if group]
    return "\n".join(lines) + "\n"


def _line(name: str, figures: Row) -> str:
    shares = (figures.answered, figures.clarified, figures.unmatched)
    precisions = (figures.precision, figures.precision_in_3)
    cells = [f"{share:.0%}" for share in shares] + ["" if p is None else f"{p:.2f}" for p in precisions]
    return f"| {name} | {figures.questions} | {' | '.join(cells)} |"


def curve(judged: Sequence[Judged], coverage: float) -> str:
    """A Markdown table of what is answered, and how well, by the lead that is asked for."""
    lines = [
        "| lead | answerable answered | first right | right in 3 | unanswerable answered |",
        "|---|---|---|---|---|",
    ]
    answerable, others = _split(judged)
    for lead in _LEADS[::5]:
        at = Thresholds(coverage, lead)
        right, wrong = row(answerable, at), row(others, at)
        cells = [
            f"{right.answered:.0%}",
            *("" if p is None else f"{p:.2f}" for p in (right.precision, right.precision_in_3)),
            f"{wrong.answered:.0%}",
        ]
        lines.append(f"| {lead:.2f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _print_fit(judged: Sequence[Judged]) -> None:
    halves = [[each for each in judged if each.question.half_of_repositories == half] for half in "ab"]
    for name, chosen_on, shown_on in (("a", halves[0], halves[1]), ("b", halves[1], halves[0])):
        chosen = fit(chosen_on)
        print(table(chosen_on, chosen, f"Half {name} of the repositories, fitted on it", by_name=False))
        print(table(shown_on, chosen, "The other half with the same thresholds", by_name=False))
    best = fit(judged)
    print(table(judged, best, "Fitted on all", by_name=False))
    print(curve(judged, best.coverage))


# --- the command ------------------------------------------------------------------------------------


def main() -> None:
    options = _arguments()
    kept = (
        nullcontext(str(options.data))
        if options.data
        else tempfile.TemporaryDirectory(prefix="cairn-verdicts-")
    )
    try:
        questions = [(folder, _questions(folder, options.only)) for folder in options.sets]
        with kept as data:
            everything = judge_all(
                [question for _, own in questions for question in own],
                options.checkouts,
                Path(data).resolve(),
                with_model=options.with_model,
            )
    except (SetError, CheckoutError) as problem:
        sys.exit(str(problem))
    for folder, own in questions:
        asked = set(own)
        print(table([each for each in everything if each.question in asked], Thresholds(), folder.name))
    if options.fit:
        _print_fit(everything)


def _questions(folder: Path, only: Sequence[str]) -> list[Question]:
    """Those about the repositories named; not every set need have some about each."""
    return [each for each in read_sets([folder]) if not only or each.repository.name in only]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders of question sets")
    parser.add_argument("--checkouts", type=Path, required=True, help="where the repositories are, or go")
    parser.add_argument("--data", type=Path, help="keep the indexes here, and use them again")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="these repositories alone")
    parser.add_argument("--with-model", action="store_true", help="wait for the model's vectors, too")
    parser.add_argument("--fit", action="store_true", help="choose thresholds on halves of the repositories")
    return parser.parse_args()


if __name__ == "__main__":
    main()
