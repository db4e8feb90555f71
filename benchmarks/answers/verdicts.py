#!/usr/bin/env python3
"""Measure whether the verdict refuses questions about absent topics and answers the others, and fit its rule.

    python benchmarks/answers/verdicts.py --sets DIR [DIR ...] --checkouts DIR [DIR ...] --data DIR
        [--absent FILE] [--projects DIR] [--relevance DIR] [--fit]

It works in process, over indexes that the daemon makes in `--data` if they are missing. It asks the questions
of sets of facts, those of `--absent` (topics that are absent from real repositories, and present ones in the
same words), with `--projects` those for discovery, and with `--relevance` searches, which all have an answer.
`--fit` fits the rule's weights: on all, on each half of the repositories to be evaluated on the other, and on
all but an eighth at a time.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from attrs import frozen
from discovery.projects import Project, read_projects, tree_of
from engine.index_file import index_path
from numpy.typing import NDArray
from retrieval.checkouts import CheckoutError, add_checkouts_option, checkout
from retrieval.sets import Repository, SetError, repositories_of

from answers.facts import read_fact_sets
from answers.workplaces import Workplace
from cairn.embedding.packaged import load_packaged
from cairn.index.queries.known_words import IndexVocabulary
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.protocol import Verdict
from cairn.retrieval.matching import term_shares
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.query import Query, understand
from cairn.retrieval.ranking import rank
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import JUDGED, WEAK, Action, features, judge
from cairn.retrieval.window_ranking import Strength, passages_of_results, rank_passages
from cairn.settings.tree import SearchSettings

_ABSENT = Path(__file__).parent / "sets/absent/questions.json"
_DISCOVERY = Path(__file__).parents[1] / "discovery/questions"
_SETTINGS = SearchSettings(leg_deadline_ms=60_000.0)
_WORTH = {"relevance": 0.3, "present": 0.6}
"""The weights of questions of these sets in the fit; other questions have 1. Answerable and other questions
then have the same total weight."""
WANTED_ANSWERED = 0.95
"""The share of the answerable questions, other than searches, that the rule should answer."""
_SMOOTHING = 1.0
_FOLDS = 8
_STEPS = 30


@frozen
class TopicQuestion:
    """A question, and whether the repository has an answer."""

    set: str
    repository: str
    text: str
    answerable: bool


@frozen(eq=False)
class Judged:
    """The passages that search and discovery found for a question."""

    entry: TopicQuestion
    query: Query
    shares: tuple[float, ...]
    found: Sequence[Ranked]
    search: Strength | None
    discover: Strength | None

    def said(self, strength: Strength | None) -> Verdict:
        return judge(self.query, self.found, _SETTINGS.verdict, self.shares, strength)


# --- questions ------------------------------------------------------------------------------------


def places(options: argparse.Namespace) -> Iterator[tuple[Workplace, list[TopicQuestion]]]:
    """Return every place with its questions."""
    questions_of: dict[str, list[TopicQuestion]] = {}
    repositories: dict[str, Repository] = {}
    for question in read_fact_sets(options.sets):
        repositories[question.repository.name] = question.repository
        questions_of.setdefault(question.repository.name, []).append(
            TopicQuestion(question.set, question.repository.name, question.text, question.answerable)
        )
    repositories |= repositories_of(options.absent.parent)
    for item in json.loads(options.absent.read_text(encoding="utf-8")):
        for name, answerable in (("absent", False), ("present", True)):
            questions_of.setdefault(item["repo"], []).extend(
                TopicQuestion(name, item["repo"], text, answerable) for text in item[name]
            )
    if options.relevance:
        for name in repositories.keys() & {path.stem for path in options.relevance.glob("*.json")}:
            searches = json.loads((options.relevance / f"{name}.json").read_text(encoding="utf-8"))
            questions_of[name] += [TopicQuestion("relevance", name, each["query"], True) for each in searches]
    projects = {
        each.name: each for half in ("tuned", "held_out") for each in read_projects(_DISCOVERY / half)
    }
    for name, of_place in questions_of.items():
        if name in repositories:
            (place,) = _workplaces([repositories[name]], options)
            yield place, of_place
        elif options.projects:
            project = projects[name]
            own = [TopicQuestion("discovery", name, question.text, True) for question in project.questions]
            yield _place_of(project, options), [*of_place, *own]


def _workplaces(repositories: Sequence[Repository], options: argparse.Namespace) -> Iterator[Workplace]:
    for each in repositories:
        folders = [folder for folder in options.checkouts if (folder / each.name).exists()]
        tree = checkout(each, (folders or options.checkouts)[0])
        yield Workplace(each, tree, options.data / each.name, ())


def _place_of(project: Project, options: argparse.Namespace) -> Workplace:
    tree = tree_of(project, options.projects)
    return Workplace(
        Repository(project.name, "", "", "", "."),
        tree,
        options.data / f"{project.name}-{project.version}",
        (),
    )


# --- requests -------------------------------------------------------------------------------------


def judge_all(place: Workplace, questions: Iterable[TopicQuestion]) -> list[Judged]:
    """Ask the place's index all questions."""
    if not list(place.data.glob("workspaces/*")):
        print(f"{place.repository.name}: making its index", file=sys.stderr, flush=True)
        with place.served():
            pass
    reader = SqliteReader(index_path(place.data).parent)
    vocabulary, table = IndexVocabulary([reader]), load_packaged()
    judged = []
    for each in questions:
        query = understand(each.text, vocabulary=vocabulary)
        ranking = rank([reader], [query], Meaning(table), _SETTINGS)
        found = ranking.results(JUDGED, _SETTINGS.diversity)
        _, search = passages_of_results(ranking, found, table)
        _, discover = rank_passages(ranking, table)
        shares = term_shares(query, vocabulary) if query.terms else ()
        judged.append(Judged(each, query, shares, found, search, discover))
    return judged


# --- figures --------------------------------------------------------------------------------------


def table(judged: Sequence[Judged]) -> str:
    """Return a Markdown table of the verdicts, by set."""
    lines = ["| questions | | answer | … weakly | clarify | noMatch |", "|---|---|---|---|---|---|"]
    groups = sorted({(each.entry.set, not each.entry.answerable) for each in judged})
    for name, is_absent in groups:
        group = [j for j in judged if (j.entry.set, not j.entry.answerable) == (name, is_absent)]
        for front in ("search", "discover"):
            said = [each.said(getattr(each, front)) for each in group]
            shares = [
                sum(verdict.action == action for verdict in said) / len(said)
                for action in (Action.ANSWER, Action.CLARIFY, Action.NO_MATCH)
            ]
            weak = sum(verdict.message == WEAK for verdict in said) / len(said)
            kind = "absent" if is_absent else "answerable"
            cells = [f"{share:.0%}" for share in (shares[0], weak, *shares[1:])]
            lines.append(f"| {name}, {kind}, {front} | {len(said)} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


# --- the fit --------------------------------------------------------------------------------------


@frozen(eq=False)
class Rule:
    """The weights of the features, the bias, and the log odds from which a question is answered."""

    weights: NDArray[np.float64]
    bias: float
    least: float

    def odds(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log odds, by row."""
        return rows @ self.weights + self.bias


def fit(
    rows: NDArray[np.float64],
    answerable: NDArray[np.bool_],
    worth: NDArray[np.float64],
    own: NDArray[np.bool_],
) -> Rule:
    """Fit a logistic regression by Newton's method; of `own`, WANTED_ANSWERED should be answered."""
    worth = worth.copy()
    for side in (answerable, ~answerable):
        worth[side] *= len(rows) / 2 / worth[side].sum()
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
    scaled = np.column_stack([(rows - mean) / spread, np.ones(len(rows))])
    smoothing = np.diag([_SMOOTHING] * rows.shape[1] + [0.0])
    found = np.zeros(scaled.shape[1])
    for _ in range(_STEPS):
        likely = 1 / (1 + np.exp(-scaled @ found))
        slope = scaled.T @ (worth * (likely - answerable)) + smoothing @ found
        curve = (scaled * (worth * likely * (1 - likely))[:, None]).T @ scaled + smoothing
        found -= np.linalg.solve(curve, slope)
    weights = found[:-1] / spread
    bias = float(found[-1] - weights @ mean)
    least = float(np.quantile((rows @ weights + bias)[own & answerable], 1 - WANTED_ANSWERED, method="lower"))
    return Rule(weights, bias, least)


def show_fit(judged: Sequence[Judged], halves: dict[str, str]) -> None:
    """Print the rule fitted on all questions, and how rules judge repositories outside their fit."""
    judged_rows = [
        (each, s) for each in judged if len(each.query.terms) > 2 and (s := each.discover) and each.search
    ]
    rows = np.array([features(each.query, each.shares, strength) for each, strength in judged_rows])
    answerable = np.array([each.entry.answerable for each, _ in judged_rows])
    sets = np.array([each.entry.set for each, _ in judged_rows])
    repositories = np.array([each.entry.repository for each, _ in judged_rows])
    worth = np.array([_WORTH.get(name, 1.0) for name in sets])
    own = ~np.isin(sets, list(_WORTH))

    def fitted(these: NDArray[np.bool_]) -> Rule:
        return fit(rows[these], answerable[these], worth[these], own[these])

    def show(title: str, is_answered: NDArray[np.bool_], these: NDArray[np.bool_]) -> None:
        groups = {
            "answerable": own & answerable,
            "present": sets == "present",
            "searches": sets == "relevance",
        }
        parts = [
            f"{name} {is_answered[these & which].mean():.0%}"
            for name, which in groups.items()
            if (these & which).any()
        ]
        print(
            f"{title}: answered: {', '.join(parts)}; absent refused: "
            f"{1 - is_answered[these & ~answerable].mean():.0%}"
        )

    everything = np.ones(len(rows), np.bool_)
    rule = fitted(everything)
    print(
        f"weights {rule.weights.round(2)}, bias {rule.bias:.2f}, answered from "
        f"{1 / (1 + np.exp(-rule.least)):.2f}"
    )
    show("Fitted on all", rule.odds(rows) >= rule.least, everything)
    for half in "ab":
        those = np.array([halves.get(name, "a") == half for name in repositories])
        rule = fitted(~those)
        show(f"Half {half}, fitted on the other", rule.odds(rows) >= rule.least, those)
    names, left_out = sorted(set(repositories)), np.empty(len(rows), np.bool_)
    for fold in range(_FOLDS):
        those = np.isin(repositories, names[fold::_FOLDS])
        rule = fitted(~those)
        left_out[those] = rule.odds(rows[those]) >= rule.least
    show("Each fitted on other repositories", left_out, everything)


# --- the command ----------------------------------------------------------------------------------


def main() -> None:
    options = _arguments()
    try:
        judged = [each for place, questions in places(options) for each in judge_all(place, questions)]
    except (SetError, CheckoutError) as problem:
        sys.exit(str(problem))
    print(table(judged))
    if options.fit:
        items = json.loads(options.absent.read_text(encoding="utf-8"))
        show_fit(judged, {item["repo"]: item["half"] for item in items})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", default=[], help="folders with facts.json")
    add_checkouts_option(parser)
    parser.add_argument(
        "--data", type=Path, required=True, help="folder of the indexes; missing ones are made"
    )
    parser.add_argument("--absent", type=Path, default=_ABSENT, help="JSON file of absent and present topics")
    parser.add_argument("--projects", type=Path, help="folder of the projects; missing ones are downloaded")
    parser.add_argument("--relevance", type=Path, help="a folder of searches by repository")
    parser.add_argument("--fit", action="store_true", help="fit the rule")
    options = parser.parse_args()
    options.data = options.data.resolve()
    return options


if __name__ == "__main__":
    main()
