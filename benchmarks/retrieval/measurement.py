"""Indexes every repository in every mode, and asks every system every question."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from attrs import field, frozen
from engine.daemon import Daemon
from engine.figures import Figures
from engine.index_file import UnavailableError, index_path, opened
from engine.ready import indexed

from cairn.embedding.packaged import load_packaged
from cairn.retrieval.meaning import Meaning
from retrieval import ablation
from retrieval.ablation import FULL, IN_PROCESS, Variant
from retrieval.asking import Answer, ask
from retrieval.baselines import BM25, BM25_NAME, RIPGREP_NAME, Ripgrep, ask_baseline
from retrieval.in_process import OpenIndex
from retrieval.metrics import DEPTH
from retrieval.sets import Question, Repository

FOLDER, CHECKOUT = "folder", "checkout"
MODES = (FOLDER, CHECKOUT)
"""Index the folder that repos.tsv names, or the whole checkout, where tests and documents compete."""


@frozen
class Answers:
    """The answers of the systems in one mode, by the system's name, and the reasons of failures."""

    by_system: dict[str, list[Answer]] = field(factory=lambda: defaultdict(list))
    unavailable: dict[str, str] = field(factory=dict)

    def add(self, other: Answers) -> None:
        """Add another repository's answers; a system that failed in one has no figures."""
        for name, answers in other.by_system.items():
            self.by_system[name].extend(answers)
        self.unavailable.update(other.unavailable)


@frozen
class Measured:
    """All answers by mode, and figures of the indexes by repository and mode."""

    modes: dict[str, Answers]
    indexes: dict[str, dict[str, Figures]]


def measure(
    questions: Sequence[Question],
    checkouts: dict[str, Path],
    data: Path,
    modes: Sequence[str],
    variants: Sequence[Variant],
) -> Measured:
    """Ask all questions. `checkouts` is by repository name; `data` keeps an index for each workspace."""
    measured = Measured({mode: Answers() for mode in modes}, defaultdict(dict))
    for repository, own in by_repository(questions):
        known: dict[Path, tuple[Answers, Figures]] = {}
        for mode in modes:
            workspace, data_folder = workspace_of(repository, checkouts[repository.name], mode, data)
            if workspace not in known:
                print(f"{repository.name}, {mode}: {len(own)} questions", file=sys.stderr, flush=True)
                known[workspace] = _measure(workspace, data_folder, own, variants)
            answers, figures = known[workspace]
            measured.modes[mode].add(answers)
            measured.indexes[repository.name][mode] = figures
    return measured


def workspace_of(repository: Repository, checkout: Path, mode: str, data: Path) -> tuple[Path, Path]:
    """Return the folder to open and that of its index; the two modes may share both."""
    workspace = checkout / repository.folder if mode == FOLDER else checkout
    return workspace, data / f"{repository.name}-{CHECKOUT if workspace == checkout else FOLDER}"


def _measure(
    workspace: Path, data: Path, questions: Sequence[Question], variants: Sequence[Variant]
) -> tuple[Answers, Figures]:
    answers = Answers()
    of_daemon = [variant for variant in variants if not variant.is_of_a_signal]
    of_signals = [IN_PROCESS, *(variant for variant in variants if variant.is_of_a_signal)]
    with indexed(workspace, data) as (daemon, figures):
        if of_daemon:
            # The first, unmeasured requests read the index from disk. They want one result more, so that
            # their answers are not cached.
            ask(daemon, questions, FULL, limit=DEPTH + 1)
        for variant in of_daemon:
            _ask_variant(daemon, questions, variant, answers)
        ranked = OpenIndex.at(index_path(data).parent).ranked_by(
            [variant.weights for variant in of_signals], questions, Meaning(load_packaged())
        )
        answers.by_system.update({each.name: own for each, own in zip(of_signals, ranked, strict=True)})
        if of_daemon:
            _ask_baselines(workspace, data, questions, answers)
    return answers, figures


def _ask_baselines(workspace: Path, data: Path, questions: Sequence[Question], answers: Answers) -> None:
    with opened(data) as index:
        answers.by_system[BM25_NAME] = ask_baseline(BM25(index), questions)
        try:
            answers.by_system[RIPGREP_NAME] = ask_baseline(Ripgrep(index, workspace), questions)
        except UnavailableError as reason:
            answers.unavailable[RIPGREP_NAME] = str(reason)


def _ask_variant(daemon: Daemon, questions: Sequence[Question], variant: Variant, answers: Answers) -> None:
    try:
        ablation.configure(daemon, variant)
        answers.by_system[variant.name] = ask(daemon, questions, variant)
    except UnavailableError as reason:
        answers.unavailable[variant.name] = str(reason)


def by_repository(questions: Iterable[Question]) -> list[tuple[Repository, list[Question]]]:
    groups: dict[Repository, list[Question]] = defaultdict(list)
    for question in questions:
        groups[question.repository].append(question)
    return list(groups.items())


def questions_of(measured: Measured) -> list[dict[str, Any]]:
    """Return one record for each question and mode: NDCG@10 by system, and Cairn's results."""
    records = []
    for mode, answers in measured.modes.items():
        for place, shown in enumerate(answers.by_system[FULL.name]):
            records.append(
                {
                    "repository": shown.question.repository.name,
                    "mode": mode,
                    "category": shown.question.category,
                    "query": shown.question.query,
                    "ndcg_at_10": {
                        name: round(its_answers[place].scores.ndcg_at_10, 4)
                        for name, its_answers in answers.by_system.items()
                        if name not in answers.unavailable
                    },
                    "results": [f"{span.path}:{span.start_line}-{span.end_line}" for span in shown.results],
                }
            )
    return records
